from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from attrs import evolve
from scipy.stats import chisquare

import nolook
from nolook.algorithms.scaling import ScaleSearch
from nolook.algorithms.screening import (
    Scores,
    covariance_scores,
    rank_scores,
    screen,
)
from nolook.audit.exact_laws import canonical_law, peeling_law
from nolook.privacy.guarantee import PureEvent
from nolook.privacy.noise import SeededSource
from nolook.statistics.centred_products import PRODUCTS_SENSITIVITY
from nolook.tables import table_from_arrays
from papers.public_design import public_scaling


def data(rows=3000, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, 6)) * [1, 1e-6, 1e9, 1, 1, 1]
    return X, X[:, 1] * 1e6 - X[:, 4] + generator.normal(size=rows)


@pytest.mark.parametrize("top_k", ["canonical-lipschitz", "peeling"])
@pytest.mark.parametrize("score", ["kendall", "covariance"])
def test_neighbours_keep_the_guarantee_and_come_near_it(score, top_k):
    epsilon, k, worst = 2.0, 2, 0.0
    generator = np.random.default_rng(3)
    law = canonical_law if top_k == "canonical-lipschitz" else peeling_law

    def laws(X, y):
        table = table_from_arrays(X, y)
        if score == "kendall":
            scores = rank_scores(table)
        else:
            scores = covariance_scores(table, np.zeros(5), np.full(5, 3.0))
        return law(scores.values / scores.sensitivity, k, epsilon)

    for rows, trial in itertools.product((0, 1, 2, 5, 30), range(12)):
        X = generator.integers(0, 4, (rows, 4)).astype(float)
        y = generator.integers(0, 4, rows).astype(float)
        if trial == 0:
            X, y = np.zeros((rows, 4)), np.zeros(rows)
        row = np.array([3.0, 3.0, 0.0, 0.0]) if trial == 0 else generator.integers(0, 4, 4)
        before, after = laws(X, y), laws(np.vstack([X, row]), np.append(y, 3.0))
        worst = max(worst, *(abs(math.log(before[s] / after[s])) for s in before))
    assert worst <= epsilon * (1 + 1e-9)
    assert worst > 0.15 * epsilon


@pytest.mark.parametrize("top_k", ["canonical-lipschitz", "peeling"])
def test_draws_follow_the_law_of_the_mechanism(top_k):
    scores = Scores(np.array([9, 4, 6, 0]) * PRODUCTS_SENSITIVITY, PRODUCTS_SENSITIVITY)
    law = canonical_law if top_k == "canonical-lipschitz" else peeling_law
    expected = law(scores.values / scores.sensitivity, 2, 1.5)
    source, runs = SeededSource(1), 4000
    found = dict.fromkeys(expected, 0)
    for _ in range(runs):
        features = PureEvent("features", 1.5)
        found[tuple(screen(scores, 2, features, top_k, source).tolist())] += 1
    assert chisquare(list(found.values()), runs * np.array(list(expected.values()))).pvalue > 1e-4


def test_the_covariance_finds_what_goes_with_the_target():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(4000, 6))
    y = X[:, 1] - X[:, 4] + generator.normal(size=4000)
    selector = nolook.SISSelector(2, 5.0, 1e-6, "covariance", random_state=0)
    assert selector.fit(X, y).get_support(indices=True).tolist() == [1, 4]
    assert selector.privacy_.delta == 1e-6


class Found(ScaleSearch):
    """A search that finds the same whatever the table."""

    def run(self, table, *_):
        detected = np.array([False, True, False, True, False, True, True])
        return evolve(public_scaling(table.column_names, 1.0, 5.0), detected=detected)


@pytest.mark.parametrize("top_k", ["canonical-lipschitz", "peeling"])
@pytest.mark.parametrize(
    ("k", "chosen"),
    [
        (1, [[1], [3], [5]]),
        (2, [[1, 3], [1, 5], [3, 5]]),
        (3, [[1, 3, 5]]),
        (5, [[0, 1, 2, 3, 5], [0, 1, 3, 4, 5], [1, 2, 3, 4, 5]]),
    ],
)
def test_columns_without_evidence_come_last_whatever_goes_with_the_target(top_k, k, chosen):
    y = np.random.default_rng(0).normal(size=3000)
    X = np.ones((3000, 6))
    X[:, 0] = y  # not detected, and yet it would be chosen first
    release = nolook.SISSelector(k, 1.0, 1e-6, "covariance", top_k).plan().release
    release = evolve(release, scales=Found(1.0))
    found = [
        sorted(release.run(table_from_arrays(X, y), SeededSource(seed), lambda _: None).features)
        for seed in range(30)
    ]
    assert sorted(map(list, set(map(tuple, found)))) == chosen


def test_ranges_are_not_found_without_a_delta():
    with pytest.raises(nolook.ParameterError, match=r"^delta is 0.0; expected") as caught:
        nolook.SISSelector(2, delta=0.0, score="covariance").plan()
    assert "\n" not in str(caught.value)
    assert nolook.SISSelector(2, score="covariance").plan().guarantee.delta == 1e-6


@pytest.mark.parametrize(
    ("settings", "charged"),
    [
        ({"delta": 1e-6}, True), ({}, False), ({"delta": 0.0}, False),
        ({"delta": 1e-6, "top_k": "canonical-lipschitz"}, False),
    ],
)  # fmt: skip
def test_a_delta_is_charged_where_it_makes_choices_sharper(settings, charged):
    assert nolook.SISSelector(12, **settings).plan().guarantee.delta == 1e-6 * charged
