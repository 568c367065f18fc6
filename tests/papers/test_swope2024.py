"""DP-SIS as published: its score, its classes, and why neither is private for rows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import gammaln

from nolook.algorithms.screening import covariance_scores, rank_scores
from nolook.audit.exact_laws import canonical_law
from nolook.privacy.mechanisms import top_k
from nolook.privacy.noise import SeededSource
from nolook.tables import table_from_arrays
from papers.swope2024 import PublishedSISSelector, published_law, published_scores
from papers.swope2024.classes import theorem_4_1
from tests.audit.planted import Fault, Release, check_that_the_audit_catches
from tests.privacy.exact_distributions import chi_square

pytestmark = pytest.mark.papers


def data(rows=3000, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, 6)) * [1, 1e-6, 1e9, 1, 1, 1]
    return X, X[:, 1] * 1e6 - X[:, 4] + generator.normal(size=rows)


def test_one_extreme_row_moves_the_published_score_by_far_more_than_its_sensitivity():
    # Why the data's own scaling is not private.
    n = 1000
    x = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X = np.column_stack([x, np.zeros(n)])
    before = published_scores(table_from_arrays(X, x))
    after = published_scores(table_from_arrays(np.vstack([X, [1e6, 0.0]]), np.append(x, 0.0)))
    moved = abs(before.values - after.values)[0]
    assert before.sensitivity == 1.0
    assert moved > n / 4
    # The same row moves the scores that are claimed to be safe by their sensitivity at most.
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


def test_the_published_selector_promises_nothing():
    X, y = data(60)
    selector = PublishedSISSelector(2, 50.0).fit(X, y)
    assert not selector.privacy_.private
    assert "NOT PRIVATE" in selector.privacy_.in_words()


def test_the_published_sizes_do_not_add_up():
    assert (
        1 + sum(math.comb(last - head - 1, 2 - head) for last in (4, 5, 6) for head in range(3))
        == 32
    )
    assert math.comb(6, 3) == 20


def test_the_published_classes_are_not_private():
    # Equal scores but for less than any noise could tell: the order alone changes a set's chance.
    epsilon, k, d = 0.01, 3, 6
    up = [1e-9 * i for i in range(d)]
    here, there = (published_law(scores, k, epsilon) for scores in (up, up[::-1]))
    worst = max(abs(math.log(here[y] / there[y])) for y in here)
    assert worst > 1.0 > 50 * epsilon
    right, mirrored = (canonical_law(scores, k, epsilon) for scores in (up, up[::-1]))
    assert max(abs(math.log(right[y] / mirrored[y])) for y in right) < 1e-8


# --- sets of features at once --------------------------------------------------------------------

K = 4
# Scores of two tables, one row apart: none differs by more than the sensitivity.
SENSITIVITY = 1.0 + 1e-5
NEAR_TIES = 1e-6 * np.array([4, 2, 0, 3, 1])
BEFORE = np.array([3.0, 2.0, 2.0, 4.0, 4.0]) + NEAR_TIES
AFTER = np.array([2.0, 3.0, 3.0, 3.0, 5.0]) - NEAR_TIES


def sets_of(scores, draws, source):
    """Draw sets of K features."""
    return [
        tuple(top_k.canonical_lipschitz(scores, K, SENSITIVITY, 1.0, source).tolist())
        for _ in range(draws)
    ]


def chosen_set(row, draws, source):
    """Choose K features; the scores are the exact log ratios of our law and of the paper's."""
    sets = sets_of(row[0], draws, source)
    laws = [
        [law(list(scores), K, 1.0) for scores in (BEFORE, AFTER)]
        for law in (canonical_law, published_law)
    ]
    return [
        np.array([math.log(here[chosen] / there[chosen]) for chosen in sets])
        for here, there in laws
    ]


SETS = Release(
    "set of features, at once",
    (BEFORE[None, :], AFTER[None, :]),
    chosen_set,
    1.0,
    4_400,
    0.05,
)


def largest_ratio(here, there):
    """Return the largest log ratio of two laws of sets."""
    return max(abs(math.log(here[chosen] / there[chosen])) for chosen in here)


def overlapping_classes(patch):
    """Plant the paper's classes: the rest of a set may hold the index that it should miss."""
    uniform_subset = top_k._uniform_subset

    def class_size(head, last, k):
        return 1 if last == k else math.comb(last - head - 1, k - head - 1)

    def log_sizes(self, heads, lasts):
        k = self._k
        return gammaln(lasts - heads) - gammaln(k - heads) - gammaln(lasts - k + 1)

    def subset(n, size, source):
        # Places are counted from the first one after the missing index, which is place -1.
        return {place - 1 for place in uniform_subset(n + 1, size, source)}

    patch.setattr(top_k, "class_size", class_size)
    patch.setattr(top_k.UtilityClasses, "_log_sizes", log_sizes)
    patch.setattr(top_k, "_uniform_subset", subset)


OVERLAPPING = Fault(
    "overlapping classes",
    SETS,
    overlapping_classes,
    largest_ratio(*(published_law(list(scores), K, 1.0) for scores in (BEFORE, AFTER))),
)


def test_the_audit_catches_overlapping_classes():
    check_that_the_audit_catches(OVERLAPPING)


def test_scores_of_neighbours_differ_by_no_more_than_their_sensitivity():
    assert np.abs(AFTER - BEFORE).max() <= SENSITIVITY


def test_the_planted_classes_are_those_of_the_paper(monkeypatch):
    overlapping_classes(monkeypatch)
    drawn = sets_of(BEFORE, 2_000, SeededSource(5))
    fits = {}
    for law in (published_law, canonical_law):
        chances = law(list(BEFORE), K, 1.0)
        fits[law] = chi_square([drawn.count(each) for each in chances], list(chances.values()))
    assert fits[published_law] > 1e-4
    assert fits[canonical_law] < 1e-9


@pytest.mark.parametrize("gamma", [0.25, 0.5, 0.75])
@pytest.mark.parametrize(("d", "k"), [(5, 1), (8, 3)])
def test_theorem_4_1_bounds_the_exact_chance_from_below(d, k, gamma):
    for gap in (0.0, 5.0, 20.0, 80.0):
        scores = [gap] * k + [0.0] * (d - k)
        exact = published_law(scores, k, 1.0, gamma)[tuple(range(k))]
        assert theorem_4_1(d, k, gap, 1.0, gamma) <= exact + 1e-12
    assert theorem_4_1(d, k, 80.0, 1.0, gamma) > 0.9 or gamma < 0.5
