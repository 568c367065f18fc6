from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Lasso

from nolook.kernels.block_lasso import arrange_blocks, block_votes, lasso_models


def table(n=4000, d=8, seed=0, correlation=0.5):
    """Columns of very different units, the target last, shape (d + 1, n)."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(d, n)) + correlation * generator.normal(size=n)
    y = 3 * x[0] - 2 * x[1] + x[2] + 0.5 * x[3] + generator.normal(size=n)
    units = 10.0 ** generator.integers(-1, 2, d)
    return np.vstack([x * units[:, None] + 7, y])


def blocks_of(n, m, seed=1):
    return np.random.default_rng(seed).integers(0, m, n)


def arranged(rows, blocks, m, step=None):
    step = step or max(1, rows.shape[1])
    starts = range(0, max(1, rows.shape[1]), step)
    return arrange_blocks(
        [rows[:, i : i + step] for i in starts], [blocks[i : i + step] for i in starts], m
    )


def models(rows, blocks, m, penalty=0.2, step=None):
    return lasso_models(*arranged(rows, blocks, m, step), penalty)


def by_scikit_learn(own, penalty):
    """Fit one block's rows, shape (columns, n); coefficients in standard deviations."""
    spread = own.std(axis=1)
    if penalty < 0:
        alpha, x, y = -penalty, own[:-1].T, own[-1]
        units = spread[:-1] / spread[-1]
    else:
        standard = (own - own.mean(axis=1)[:, None]) / spread[:, None]
        x, y, units = standard[:-1].T, standard[-1], 1.0
        alpha = penalty * np.abs(x.T @ y).max() / len(y)
    return Lasso(alpha, tol=1e-12, max_iter=100_000).fit(x, y).coef_ * units


def votes_of(model, k):
    order = np.argsort(-np.abs(model), kind="stable")[:k]
    return set(order[np.abs(model[order]) > 1e-9].tolist())


def test_rows_come_together_in_their_order():
    rows, blocks = table(500, 4), blocks_of(500, 7)
    for step in (None, 64, 9):
        together, starts = arranged(rows, blocks, 7, step)
        for block in range(7):
            own = together[starts[block] : starts[block + 1]]
            np.testing.assert_array_equal(own, rows[:, blocks == block].T)


@pytest.mark.parametrize("penalty", [0.02, 0.2, 0.9, -1.0, -0.05])
@pytest.mark.parametrize("per_block", [14, 25, 200])
def test_models_and_votes_are_those_of_scikit_learn(penalty, per_block):
    m = 4000 // per_block
    rows, blocks = table(), blocks_of(4000, m)
    found = models(rows, blocks, m, penalty)
    votes = np.zeros(8, dtype=int)
    for block in np.flatnonzero(np.bincount(blocks, minlength=m) > 8)[:15]:
        expected = by_scikit_learn(rows[:, blocks == block], penalty)
        np.testing.assert_allclose(found[block], expected, atol=2e-3)
        assert votes_of(found[block], 3) == votes_of(expected, 3)
    for model in found:
        votes[list(votes_of(model, 3))] += 1
    np.testing.assert_array_equal(block_votes(*arranged(rows, blocks, m), penalty, 3), votes)
    assert votes.any()


def test_more_features_than_rows():
    rows, blocks = table(300, 500), blocks_of(300, 6)
    found = models(rows, blocks, 6, 0.1)
    for block in range(6):
        expected = by_scikit_learn(rows[:, blocks == block], 0.1)
        np.testing.assert_allclose(found[block], expected, atol=1e-3)
    assert (found != 0).any(axis=0).sum() > 64  # more than the first room for products


def test_two_threads_count_what_one_does():
    rows, blocks = table(30_000, 20), blocks_of(30_000, 301)
    votes = block_votes(*arranged(rows, blocks, 301), 0.1, 4)
    expected = np.zeros(20, dtype=int)
    for model in models(rows, blocks, 301, 0.1):
        expected[list(votes_of(model, 4))] += 1
    np.testing.assert_array_equal(votes, expected)


@pytest.mark.parametrize("penalty", [0.1, -1.0])
@pytest.mark.parametrize("change", ["batches", "another row elsewhere", "more blocks"])
def test_a_model_depends_on_its_own_rows_to_the_last_bit(change, penalty):
    rows, blocks = table(2000), blocks_of(2000, 20)
    before = models(rows, blocks, 20, penalty)
    if change == "batches":
        np.testing.assert_array_equal(before, models(rows, blocks, 20, penalty, step=7))
    elif change == "more blocks":
        np.testing.assert_array_equal(before, models(rows, blocks, 33, penalty)[:20])
    else:
        extra = np.insert(rows, 5, 1e6 * rows[:, 900], axis=1)
        after = models(extra, np.insert(blocks, 5, 4), 20, penalty, step=100)
        others = np.arange(20) != 4
        np.testing.assert_array_equal(before[others], after[others])
        assert (before[4] != after[4]).any()


def test_one_row_moves_no_count_by_more_than_one():
    rows, blocks = table(400), blocks_of(400, 12)
    before = block_votes(*arranged(rows, blocks, 12), 0.1, 3)
    moved = set()
    for i in range(400):
        kept = np.arange(400) != i
        wild = rows[:, kept].copy()
        wild[:, 7] *= -(10.0 ** (i % 5))
        for less in (rows[:, kept], wild):
            own = blocks[kept]
            after = block_votes(*arranged(less, own, 12), 0.1, 3)
            if less is wild:
                reference = block_votes(*arranged(rows[:, kept], own, 12), 0.1, 3)
                moved |= set((after - reference).tolist())
            else:
                moved |= set((after - before).tolist())
    assert moved == {-1, 0, 1}


def test_units_that_are_powers_of_two_change_nothing():
    rows, blocks = table(1000), blocks_of(1000, 30)
    scaled = rows * (2.0 ** np.array([300, -300, 0, 1, -1, 10, 900, -900, 500]))[:, None]
    np.testing.assert_array_equal(models(rows, blocks, 30), models(scaled, blocks, 30))


def test_a_far_origin_does_not_cost_the_model_its_digits():
    rows, blocks = np.rint(1000 * table(1000)), blocks_of(1000, 30)
    np.testing.assert_allclose(
        models(rows + 2.0**40, blocks, 30), models(rows, blocks, 30), atol=1e-6
    )


@pytest.mark.parametrize("penalty", [0.1, -1.0])
@pytest.mark.parametrize("value", [0.0, 5.0, 1e300, 1.7976931348623157e308, 5e-324])
def test_constant_columns_are_never_voted_for(value, penalty):
    rows, blocks = table(1000), blocks_of(1000, 30)
    rows[0] = value
    found = models(rows, blocks, 30, penalty)
    assert not found[:, 0].any()
    assert found.any()
    rows[-1] = value
    assert not models(rows, blocks, 30, penalty).any()


@pytest.mark.parametrize("penalty", [0.1, -1.0])
@pytest.mark.parametrize("value", [1.7976931348623157e308, -1e300, 5e-324, 1e-310])
def test_numbers_of_any_size_give_finite_models(value, penalty):
    for column in (0, -1):
        rows, blocks = table(1000), blocks_of(1000, 30)
        rows[column, ::3] = value
        rows[column, 1::3] = -value
        assert np.isfinite(models(rows, blocks, 30, penalty)).all()
        rows[column] = value * (np.arange(1000) % 2)
        assert np.isfinite(models(rows, blocks, 30, penalty)).all()


def test_equal_columns_count_once_and_the_first_of_them():
    rows, blocks = table(1000), blocks_of(1000, 30)
    rows[5] = rows[0]
    votes = block_votes(*arranged(rows, blocks, 30), 0.1, 3)
    assert votes[0] == 30
    assert votes[5] == 0


def test_of_equal_coefficients_the_first_counts():
    # Two orthogonal features of the same weight, and one vote.
    pattern = np.array([[1.0, 1, -1, -1], [1, -1, 1, -1], [2, 0, 0, -2]])
    rows, blocks = np.tile(pattern, 50), np.repeat(np.arange(50), 4)
    np.testing.assert_array_equal(block_votes(*arranged(rows, blocks, 50), 0.1, 1), [50, 0])
    np.testing.assert_array_equal(block_votes(*arranged(rows, blocks, 50), 0.1, 2), [50, 50])


@pytest.mark.parametrize("n", [0, 1])
def test_blocks_with_fewer_than_two_rows_do_not_vote(n):
    rows = table(10)[:, :n]
    assert not block_votes(*arranged(rows, np.zeros(n, dtype=np.int64), 3), 0.1, 2).any()
