from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import chisquare

import nolook
from nolook.algorithms.screening import (
    Scores,
    covariance_scores,
    published_scores,
    rank_scores,
    screen,
)
from nolook.audit.laws import canonical_law, peeling_law
from nolook.privacy.noise import SeededSource
from nolook.statistics.centred_products import PRODUCTS_SENSITIVITY
from nolook.tables import table_from_arrays


def data(rows=3000, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, 6)) * [1, 1e-6, 1e9, 1, 1, 1]
    return X, X[:, 1] * 1e6 - X[:, 4] + generator.normal(size=rows)


def test_one_extreme_record_moves_the_published_score_by_far_more_than_its_sensitivity():
    # Why the data's own scaling is not private, and `ranges="oracle"` says so.
    n = 1000
    x = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X = np.column_stack([x, np.zeros(n)])
    before = published_scores(table_from_arrays(X, x))
    after = published_scores(table_from_arrays(np.vstack([X, [1e6, 0.0]]), np.append(x, 0.0)))
    moved = abs(before.values - after.values)[0]
    assert before.sensitivity == 1.0
    assert moved > n / 4
    # The same record moves the scores that are claimed to be safe by their sensitivity at most.
    for score in (rank_scores, lambda t: covariance_scores(t, np.full(3, -1.0), np.ones(3))):
        first = score(table_from_arrays(X, x))
        second = score(table_from_arrays(np.vstack([X, [1e6, 0.0]]), np.append(x, 0.0)))
        assert abs(first.values - second.values).max() <= first.sensitivity


def test_the_published_score_is_the_one_of_the_paper():
    X, y = data(50)
    centred = np.column_stack([X, y]) - np.column_stack([X, y]).mean(axis=0)
    centred /= abs(centred).max(axis=0)
    scores = published_scores(table_from_arrays(X, y)).values
    np.testing.assert_allclose(scores, abs(centred[:, :-1].T @ centred[:, -1]), rtol=1e-9)


@pytest.mark.parametrize("value", [0.0, 1e308, -1e308])
def test_the_published_score_is_finite_for_every_table(value):
    X, y = data(20)
    X[:, 0] = value
    X[3, 2] = 1.7e308
    assert np.isfinite(published_scores(table_from_arrays(X, y)).values).all()
    assert published_scores(table_from_arrays(X[:0], y[:0])).values.tolist() == [0.0] * 6


def test_the_oracle_promises_nothing():
    X, y = data(60)
    selector = nolook.SISSelector(2, 50.0, score="covariance", ranges="oracle").fit(X, y)
    assert not selector.privacy_.private
    assert "NOT PRIVATE" in selector.privacy_.in_words()


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
        record = np.array([3.0, 3.0, 0.0, 0.0]) if trial == 0 else generator.integers(0, 4, 4)
        before, after = laws(X, y), laws(np.vstack([X, record]), np.append(y, 3.0))
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
        found[tuple(screen(scores, 2, 1.5, top_k, source).tolist())] += 1
    assert chisquare(list(found.values()), runs * np.array(list(expected.values()))).pvalue > 1e-4


@pytest.mark.parametrize("ranges", [(-4.0, 4.0), ([-4e0] * 7, [4.0] * 7), None])
def test_ranges_may_be_public_or_private(ranges):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(4000, 6))
    y = X[:, 1] - X[:, 4] + generator.normal(size=4000)
    selector = nolook.SISSelector(2, 5.0, 1e-6, "covariance", ranges=ranges, random_state=0)
    assert selector.fit(X, y).get_support(indices=True).tolist() == [1, 4]
    assert selector.privacy_.delta == (0.0 if ranges is not None else 1e-6)


@pytest.mark.parametrize(
    "ranges",
    [
        (1.0, -1.0),
        (0.0, math.nan),
        (0.0, math.inf),
        (0.0,),
        3.0,
        ([0.0] * 6, 1.0),
        "auto",
        (0, "a"),
    ],
)
def test_bad_ranges_are_refused_before_anything_is_spent(ranges, tmp_path):
    X, y = data(20)
    with nolook.Ledger.create(tmp_path / "a.ledger", nolook.Budget(9.0, 1e-6), name="a") as ledger:
        with pytest.raises(nolook.ParameterError, match=r"^ranges is ") as caught:
            nolook.SISSelector(2, score="covariance", ranges=ranges).fit(X, y, ledger=ledger)
        assert "\n" not in str(caught.value)
        assert ledger.history() == ()


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("score", "tau"), ("top_k", "gumbel"), ("delta", 0.0), ("ranges", (0, 1))],
)
def test_bad_choices_are_refused(parameter, value):
    with pytest.raises(nolook.ParameterError, match=rf"^{parameter} is ") as caught:
        nolook.SISSelector(2, **{parameter: value}).fit(*data(20))
    assert "\n" not in str(caught.value)
