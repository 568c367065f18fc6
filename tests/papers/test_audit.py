"""The audit of the published releases shows the fault in them, and none where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from attrs import evolve

from nolook.algorithms.screening import covariance_scores
from nolook.audit.exact_laws import canonical_law, exact_epsilon
from nolook.audit.findings import audit
from nolook.privacy.mechanisms.tukey_depth import TukeyRule, tukey_release
from nolook.privacy.noise import SeededSource
from papers import audit as published

pytestmark = pytest.mark.papers

CASES = {case.covers[0]: case for case in published.cases()}


@pytest.mark.parametrize("name", CASES)
def test_a_published_release_breaks_its_claim(name):
    case = CASES[name]
    found = audit(case, SeededSource(1), 4_000)
    assert found.verdict == "broken"
    if found.exact is None:
        assert found.bound > case.claim
    else:  # that is what is lost; draws show that they are of these laws
        assert found.bound <= found.exact
        assert found.exact > case.claim
        assert found.fit > 1e-4


def version_for_rows(models, epsilon, delta, lemma, source):
    return tukey_release(models, TukeyRule(12, epsilon / 2, epsilon / 2, delta), source)


def clipped(table):
    return covariance_scores(table, np.zeros(5), np.ones(5))


# How much of its claim the product's release is shown to lose at least, on the same tables.
RIGHT = [("published_tukey", version_for_rows, 0.3), ("published_scores", clipped, 0.05)]


@pytest.mark.parametrize(("name", "right", "power"), RIGHT, ids=["Tukey", "DP-SIS"])
def test_the_products_release_keeps_it_on_the_same_tables(name, right, power, monkeypatch):
    monkeypatch.setattr(published, name, right)
    published._scored.cache_clear()
    case = evolve(CASES[name], law=None)
    shown = audit(case, SeededSource(1), 4_000).bound
    published._scored.cache_clear()
    assert power * case.claim <= shown <= case.claim


def test_the_products_classes_keep_it_on_the_same_scores():
    case = CASES["published_law"]
    laws = [
        np.array(list(canonical_law(list(scores / (1.0 + 1e-5)), published._K, 1.0).values()))
        for scores in published._SCORES
    ]
    assert 0.05 * case.claim <= exact_epsilon(*laws) <= case.claim


def test_a_sum_of_clipped_gradients_keeps_its_claim_and_is_seen():
    found = audit(published.clipped_gradients(), SeededSource(1), 50_000)
    assert found.verdict == "kept"
    assert 0.6 * found.case.claim <= found.bound <= found.case.claim


def test_half_the_noise_of_clipped_gradients_is_noticed(monkeypatch):
    right = published.gradient_sensitivity
    monkeypatch.setattr(published, "gradient_sensitivity", lambda radius: right(radius) / 2)
    assert audit(published.clipped_gradients(), SeededSource(1), 50_000).verdict == "broken"
