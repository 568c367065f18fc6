from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import chisquare

import nolook
from nolook.algorithms.kendall_selection import kendall_selection
from nolook.algorithms.per_unit_sampling import choose_chances, sampled_rows
from nolook.algorithms.selection_plan import on_sample
from nolook.audit.exact_laws import exponential_law, flip_law
from nolook.privacy.guarantee import BoundedRangeEvent, PureEvent
from nolook.privacy.noise import SeededSource
from nolook.privacy.sampling import SAMPLING_UNIT
from nolook.tables import table_from_arrays


def draw(X, y, k, epsilon, source):
    features = PureEvent("features", epsilon)
    return kendall_selection(table_from_arrays(X, y), k, features, source)


def probabilities(X, y, k, epsilon, law=flip_law):
    """Return the probability of every sequence of features, from the definition."""
    n = len(y)

    def size(a, b):
        signs = np.sign(a[:, None] - a) * np.sign(b[:, None] - b)
        return abs(signs.sum() / 2) / (n - 1) if n > 1 else 0.0

    def score(j, chosen):
        mean = np.mean([size(X[:, j], X[:, s]) for s in chosen]) if chosen else 0.0
        return size(X[:, j], y) - mean

    def one(chosen):
        left = [j for j in range(X.shape[1]) if j not in chosen]
        scores = np.array([score(j, chosen) for j in left])
        sensitivity = 2.5 if chosen else 1.25
        return dict(zip(left, law(scores, sensitivity, epsilon / k), strict=True))

    out = {}
    for sequence in itertools.permutations(range(X.shape[1]), k):
        out[sequence] = math.prod(one(sequence[:i])[sequence[i]] for i in range(k))
    return out


def test_draws_have_the_probabilities_of_the_definition():
    generator = np.random.default_rng(0)
    X = np.rint(3 * generator.normal(size=(12, 4)))
    X[:, 3] = X[:, 0]
    y = np.rint(2 * X[:, 0] + generator.normal(size=12))
    expected = probabilities(X, y, 2, 3.0)
    source = SeededSource(1)
    table, runs = table_from_arrays(X, y), 2000
    found = dict.fromkeys(expected, 0)
    for _ in range(runs):
        found[tuple(kendall_selection(table, 2, PureEvent("features", 3.0), source))] += 1
    statistic = chisquare(list(found.values()), runs * np.array(list(expected.values())))
    assert statistic.pvalue > 1e-4
    # It would notice another split of the budget.
    other = probabilities(X, y, 2, 6.0)
    wrong = chisquare(list(found.values()), runs * np.array(list(other.values())))
    assert wrong.pvalue < 1e-9


def test_draws_with_a_delta_have_the_probabilities_of_the_definition():
    generator = np.random.default_rng(0)
    X = np.rint(3 * generator.normal(size=(12, 4)))
    y = np.rint(2 * X[:, 0] + generator.normal(size=12))
    expected = probabilities(X, y, 2, 3.0, exponential_law)
    table, source, runs = table_from_arrays(X, y), SeededSource(1), 2000
    features = BoundedRangeEvent("features", 1.5, 2)
    found = dict.fromkeys(expected, 0)
    for _ in range(runs):
        found[tuple(kendall_selection(table, 2, features, source))] += 1
    assert chisquare(list(found.values()), runs * np.array(list(expected.values()))).pvalue > 1e-4
    other = probabilities(X, y, 2, 3.0)
    assert chisquare(list(found.values()), runs * np.array(list(other.values()))).pvalue < 1e-6


@pytest.mark.parametrize(("settings", "pure"), [({}, False), ({"sample": 0.5}, True)])
def test_a_delta_is_charged_where_it_makes_choices_sharper(settings, pure):
    selector = nolook.KendallSelector(12, 1.0, delta=1e-6, **settings)
    guarantee = selector.plan().guarantee
    assert guarantee.delta == (0.0 if pure else 1e-6)
    X = np.random.default_rng(0).normal(size=(400, 20))
    fitted = selector.fit(X, X[:, 3])
    assert len(set(fitted.order_.tolist())) == 12
    assert fitted.privacy_ == guarantee


@pytest.mark.parametrize("k", [1, 2, 3])
def test_neighbours_keep_the_guarantee_and_come_near_it(k):
    epsilon = 2.0
    generator = np.random.default_rng(k)
    worst = 0.0
    for rows in (0, 1, 2, 5, 30):
        for trial in range(12 if k < 3 else 4):
            X = generator.integers(0, 4, (rows, 4)).astype(float)
            y = generator.integers(0, 4, rows).astype(float)
            row = generator.integers(-1, 5, 4)
            target = generator.integers(-1, 5)
            if trial == 0:  # one feature in the target's order loses it, another gains
                X = np.column_stack([np.arange(rows), np.zeros(rows), X[:, :2]]).astype(float)
                y, row, target = np.arange(rows) * 1.0, np.array([-1.0, 1.0, 0, 0]), rows
            before = probabilities(X, y, k, epsilon)
            after = probabilities(np.vstack([X, row]), np.append(y, target), k, epsilon)
            worst = max(worst, *(abs(math.log(before[s] / after[s])) for s in before))
    assert worst <= epsilon
    assert worst > 0.3 * epsilon / k


def test_a_large_budget_chooses_features_that_say_different_things():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(4000, 6))
    X[:, 1] = X[:, 0]  # says nothing new
    X[:, 4] = 3.0
    y = 3 * X[:, 0] + 2 * X[:, 2] - X[:, 3] + 0.1 * generator.normal(size=4000)
    first, second, third = draw(X, y, 3, 1e3, SeededSource(0))
    assert first in {0, 1}
    assert {second, third} == {2, 3}


def test_monotone_changes_of_a_column_do_not_matter():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(500, 5))
    y = X @ [3.0, 0, 2, 0, 1] + generator.normal(size=500)
    wild = np.column_stack([np.exp(50 * X[:, 0]), -X[:, 1], X[:, 2] ** 3, X[:, 3] * 1e300, X[:, 4]])
    for seed in range(5):
        same = draw(wild, np.exp(y), 2, 1.0, SeededSource(seed))
        assert same == draw(X, y, 2, 1.0, SeededSource(seed))


def test_a_sample_of_the_rows_has_the_probabilities_of_the_definition():
    generator = np.random.default_rng(0)
    X = generator.integers(0, 5, (6, 3)).astype(float)
    y = X[:, 1] = np.arange(6.0)
    epsilon, q = 6.0, 0.5
    inner = math.log(1 + math.expm1(epsilon) / q)
    expected = dict.fromkeys(range(3), 0.0)
    for kept in itertools.product([False, True], repeat=6):
        rows = np.array(kept)
        for (j,), p in probabilities(X[rows], y[rows], 1, inner).items():
            expected[j] += p * q**6
    source, runs, table = SeededSource(2), 3000, table_from_arrays(X, y)
    features = on_sample(PureEvent("features", epsilon), SAMPLING_UNIT // 2)
    found = dict.fromkeys(expected, 0)
    for _ in range(runs):
        rows = sampled_rows(table, SAMPLING_UNIT // 2, source)
        found[kendall_selection(rows, 1, features, source)[0]] += 1
    assert chisquare(list(found.values()), runs * np.array(list(expected.values()))).pvalue > 1e-4
    every = probabilities(X, y, 1, epsilon)
    assert chisquare(list(found.values()), runs * np.array(list(every.values()))).pvalue < 1e-9


def test_about_a_million_rows_are_kept():
    assert choose_chances(-50) == choose_chances(2**20) == SAMPLING_UNIT
    assert choose_chances(2**24) == SAMPLING_UNIT // 16
    assert choose_chances(2**60) >= 1


@pytest.mark.parametrize("sample", ["auto", 0.3])
def test_a_selector_can_sample_rows(sample):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(3000, 6))
    y = X[:, 2] - X[:, 5] + 0.1 * generator.normal(size=3000)
    selector = nolook.KendallSelector(2, 5.0, sample=sample, random_state=0).fit(X, y)
    assert sorted(selector.order_.tolist()) == [2, 5]
    rows = [event for event in selector.privacy_.mechanisms if event.name == "number of rows"]
    assert [event.epsilon for event in rows] == pytest.approx([0.25 if sample == "auto" else 0.05])
