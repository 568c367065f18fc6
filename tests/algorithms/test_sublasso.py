from __future__ import annotations

import functools
import itertools
import math

import numpy as np
import pytest
from scipy.stats import chisquare
from sklearn.linear_model import Lasso

import nolook
from nolook.algorithms import sublasso
from nolook.algorithms.sublasso import MOST_MODELS, choose_blocks, lasso_selection
from nolook.audit.exact_laws import peeling_law
from nolook.privacy.guarantee import BoundedRangeEvent, PureEvent
from nolook.privacy.noise import SeededSource
from nolook.tables import table_from_arrays


def data(n=600, d=6, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, d)) * 10.0 ** np.arange(d)
    return X, 0.9 * X[:, 0] - 2 * X[:, 2] / 100 + generator.normal(size=n)


def fix_blocks(monkeypatch, blocks):
    """Have the rows draw these blocks."""

    def draw(high, size, source):
        assert size == len(blocks)  # all rows are one batch
        assert blocks.max(initial=0) < high
        return blocks

    monkeypatch.setattr("nolook.algorithms.per_unit_sampling.uniform_integers", draw)


def votes_of(monkeypatch, X, y, blocks, *, m=None, penalty=0.1, k=2):
    fix_blocks(monkeypatch, blocks)
    table = table_from_arrays(X, y)
    m = m or blocks.max() + 1
    seen = []
    monkeypatch.setattr(
        sublasso, "peel", lambda _, votes, *__: seen.append(votes) or np.zeros(k, np.int64)
    )
    lasso_selection(table, k, PureEvent("features", 1.0), m, penalty, SeededSource(0))
    return seen[0]


def by_scikit_learn(X, y, penalty, k):
    """Return the features one block's model votes for."""
    spread = X.std(axis=0)
    usable = spread > 1e-9 * np.abs(X).max(axis=0, initial=1.0)
    if len(y) < 2 or not usable.any() or np.ptp(y) == 0:
        return []
    x = (X[:, usable] - X[:, usable].mean(axis=0)) / spread[usable]
    if penalty < 0:
        model = Lasso(-penalty, tol=1e-12, max_iter=100_000).fit(X[:, usable], y)
        sizes = np.abs(model.coef_) * spread[usable]
    else:
        alpha = penalty * np.abs(x.T @ (y - y.mean())).max() / len(y)
        sizes = np.abs(Lasso(alpha, tol=1e-12, max_iter=100_000).fit(x, y).coef_)
    order = np.argsort(-sizes, kind="stable")[:k]
    return np.flatnonzero(usable)[order[sizes[order] > 1e-9]].tolist()


def counts(X, y, blocks, penalty, k):
    votes = np.zeros(X.shape[1], dtype=int)
    for block in np.unique(blocks):
        votes[by_scikit_learn(X[blocks == block], y[blocks == block], penalty, k)] += 1
    return votes


@pytest.mark.parametrize("penalty", [0.1, 0.5, -1.0, -0.01])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_votes_are_those_of_scikit_learn(monkeypatch, penalty, k):
    X, y = data()
    blocks = np.random.default_rng(1).integers(0, 25, len(y))
    votes = votes_of(monkeypatch, X, y, blocks, penalty=penalty, k=k)
    np.testing.assert_array_equal(votes, counts(X, y, blocks, penalty, k))
    assert votes.max() > 20


@pytest.mark.parametrize("penalty", [0.1, -1.0])
def test_a_row_changes_the_votes_of_its_own_block_only(monkeypatch, penalty):
    X, y = data(120, 5)
    generator = np.random.default_rng(2)
    blocks = generator.integers(0, 8, len(y))
    before = votes_of(monkeypatch, X, y, blocks, penalty=penalty)
    moved = set()
    for trial in range(80):
        row, target = X[trial % 120] * generator.normal(size=5) * 10.0 ** (trial % 4), trial - 100
        block, place = generator.integers(0, 8), generator.integers(0, 121)
        more, more_targets, drawn = (
            np.insert(old, place, new, axis=0)
            for old, new in ((X, row), (y, target), (blocks, block))
        )
        after = votes_of(monkeypatch, more, more_targets, drawn, penalty=penalty)
        own = [
            votes_of(monkeypatch, rows[at == block], targets[at == block], at[at == block] * 0,
                     penalty=penalty)
            for rows, targets, at in ((X, y, blocks), (more, more_targets, drawn))
        ]  # fmt: skip
        np.testing.assert_array_equal(after - before, own[1] - own[0])
        moved |= set((after - before).tolist())
    assert moved == {-1, 0, 1}


def test_the_intercept_is_never_voted_on(monkeypatch):
    X, y = data()
    blocks = np.random.default_rng(1).integers(0, 20, len(y))
    X[:, 1] = 1.0
    for penalty in (0.1, -1.0):
        votes = votes_of(monkeypatch, X, y, blocks, penalty=penalty, k=5)
        assert votes.shape == (6,)
        assert votes[1] == 0
        far = votes_of(monkeypatch, X, y + 2.0**20, blocks, penalty=penalty, k=5)
        np.testing.assert_array_equal(far, votes)


def test_constant_and_equal_columns(monkeypatch):
    X, y = data()
    X[:, 1], X[:, 4] = 7.0, X[:, 0]
    blocks = np.random.default_rng(1).integers(0, 20, len(y))
    votes = votes_of(monkeypatch, X, y, blocks)
    assert votes[1] == 0
    assert votes[2] == votes[0] + votes[4] == 20  # equal columns share one vote
    assert not votes_of(monkeypatch, X, np.full(600, 3.0), blocks).any()


@pytest.mark.parametrize("n", [0, 1])
def test_fewer_than_two_rows_leave_it_to_chance(n):
    X, y = data(n, 4)
    source, table = SeededSource(0), table_from_arrays(X, y)
    found = np.zeros((4, 4))
    for _ in range(600):
        first, second = lasso_selection(table, 2, PureEvent("features", 50.0), 3, 0.1, source)
        found[first, second] += 1
    assert not found.diagonal().any()
    assert chisquare(found[~np.eye(4, dtype=bool)]).pvalue > 1e-4


def mixture(X, y, k, epsilon, assignments):
    """Average the sequences' probabilities over equally likely blocks."""

    @functools.cache
    def votes(*rows):
        own = np.array(rows)
        return np.isin(range(X.shape[1]), by_scikit_learn(X[own], y[own], 0.1, k)).astype(int)

    out = dict.fromkeys(itertools.permutations(range(X.shape[1]), k), 0.0)
    for blocks in assignments:
        total = sum(votes(*(own == block for own in blocks)) for block in set(blocks))
        for chosen, p in peeling_law(total.tolist(), k, epsilon).items():
            out[chosen] += p / len(assignments)
    return out


def partitions(n):
    return list(itertools.product(range(2), repeat=n))


def test_draws_have_the_probabilities_of_the_definition():
    X, y = data(5, 3)
    k, epsilon, runs = 2, 4.0, 2500
    source, table = SeededSource(3), table_from_arrays(X, y)
    found = dict.fromkeys(itertools.permutations(range(3), k), 0)
    for _ in range(runs):
        found[tuple(lasso_selection(table, k, PureEvent("features", epsilon), 2, 0.1, source))] += 1

    def fit(epsilon, assignments):
        expected = mixture(X, y, k, epsilon, assignments)
        return chisquare(list(found.values()), runs * np.array(list(expected.values()))).pvalue

    assert fit(epsilon, partitions(5)) > 1e-4
    # It would notice the noise of monotone counts, and parts of equal size.
    assert fit(2 * epsilon, partitions(5)) < 1e-4
    assert fit(epsilon, [blocks for blocks in partitions(5) if sum(blocks) in {2, 3}]) < 1e-4


def test_neighbours_keep_the_guarantee():
    epsilon, k = 3.0, 2
    generator = np.random.default_rng(0)
    worst = 0.0
    for _ in range(10):
        X, y = generator.integers(-2, 3, (5, 3)) * 1.0, generator.integers(-2, 3, 5) * 1.0
        after = mixture(X, y, k, epsilon, partitions(5))
        before = mixture(X[:4], y[:4], k, epsilon, partitions(4))
        worst = max(worst, *(abs(math.log(before[s] / after[s])) for s in before))
    assert 0.1 * epsilon < worst <= epsilon


def test_the_number_of_blocks():
    assert choose_blocks(-100, 0.25) == choose_blocks(49, 0.25) == 1
    assert choose_blocks(1000, 0.25) == 40
    assert choose_blocks(10**9, 0.25) == 128  # 16 times the noise of a count
    assert choose_blocks(10**9, 1 / 64) == 2048
    assert choose_blocks(10**9, 20.0) == 100
    assert choose_blocks(10**15, 1e-11) == MOST_MODELS


def test_counts_are_drawn_as_planned(monkeypatch):
    given = []

    def peel(features, votes, k, sensitivity, source):
        given.append((features, k, sensitivity))
        return np.arange(k)

    monkeypatch.setattr(sublasso, "peel", peel)
    for features in (PureEvent("features", 1e300), BoundedRangeEvent("features", 0.1, 2)):
        lasso_selection(table_from_arrays(*data(50)), 2, features, 3, 0.1, SeededSource(0))
        assert given.pop() == (features, 2, 1)


def test_sharper_choices_need_fewer_blocks():
    X, y = data(60_000, 25)
    pure = nolook.LassoSelector(20, 0.5).fit(X, y)
    sharper = nolook.LassoSelector(20, 0.5, delta=1e-3).fit(X, y)
    assert sharper.privacy_.budget == nolook.Budget(0.5, 1e-3)
    assert sharper.n_models_ < 0.6 * pure.n_models_


@pytest.mark.parametrize(("n_models", "k"), [(30, 2), ("auto", 2), (30, "auto")])
def test_what_is_spent_is_what_was_asked_for(n_models, k):
    selector = nolook.LassoSelector(k, 4.0, n_models).fit(*data(3000))
    spent = {event.name: event.epsilon for event in selector.privacy_.mechanisms}
    rows = n_models == "auto" or k == "auto"
    assert list(spent) == ["number of rows", "features"]
    assert spent["number of rows"] == pytest.approx(0.2 if rows else 0.04)
    assert 4.0 * (1 - 1e-10) < sum(spent.values()) <= 4.0
    assert selector.privacy_.epsilon == 4.0
    assert selector.privacy_.delta == 0


def test_the_number_of_models_comes_from_the_budget_and_the_rows():
    X, y = data(20_000)
    assert nolook.LassoSelector(2, 3.0, 17).fit(X, y).n_models_ == 17
    assert nolook.LassoSelector(2, 30.0, random_state=0).fit(X, y).n_models_ == 100
    few = nolook.LassoSelector(2, 3.0, random_state=0).fit(X[:1500], y[:1500]).n_models_
    assert 30 <= few <= 60


def test_a_large_budget_chooses_the_features_voted_for():
    selector = nolook.LassoSelector(2, 50.0, 50, random_state=0).fit(*data(5000))
    assert set(selector.order_) == {0, 2}
    np.testing.assert_array_equal(np.flatnonzero(selector.support_), np.sort(selector.order_))
