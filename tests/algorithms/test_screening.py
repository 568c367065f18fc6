from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import chisquare

import nolook
from nolook.algorithms.screening import Scores, rank_scores, screen
from nolook.audit.exact_laws import canonical_law, peeling_law
from nolook.privacy.guarantee import PureEvent
from nolook.privacy.noise import SeededSource
from nolook.tables import table_from_arrays


@pytest.mark.parametrize("top_k", ["canonical-lipschitz", "peeling"])
def test_neighbours_keep_the_guarantee_and_come_near_it(top_k):
    epsilon, k, worst = 2.0, 2, 0.0
    generator = np.random.default_rng(3)
    law = canonical_law if top_k == "canonical-lipschitz" else peeling_law

    def laws(X, y):
        scores = rank_scores(table_from_arrays(X, y))
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
    scores = Scores(np.array([9, 4, 6, 0]) * 2**32, 2.0**32)
    law = canonical_law if top_k == "canonical-lipschitz" else peeling_law
    expected = law(scores.values / scores.sensitivity, 2, 1.5)
    source, runs = SeededSource(1), 4000
    found = dict.fromkeys(expected, 0)
    for _ in range(runs):
        features = PureEvent("features", 1.5)
        found[tuple(screen(scores, 2, features, top_k, source).tolist())] += 1
    assert chisquare(list(found.values()), runs * np.array(list(expected.values()))).pvalue > 1e-4


@pytest.mark.parametrize(
    ("settings", "charged"),
    [
        ({"delta": 1e-6}, True), ({}, False), ({"delta": 0.0}, False),
        ({"delta": 1e-6, "top_k": "canonical-lipschitz"}, False),
    ],
)  # fmt: skip
def test_a_delta_is_charged_where_it_makes_choices_sharper(settings, charged):
    assert nolook.SISSelector(12, **settings).plan().guarantee.delta == 1e-6 * charged
