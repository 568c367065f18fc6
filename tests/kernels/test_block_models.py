from __future__ import annotations

import numpy as np
import pytest

from nolook.kernels.block_models import add_block_moments, block_models


def whole_rows(columns, n, seed=0):
    return np.random.default_rng(seed).integers(-(2**15), 2**15, (columns, n)).astype(float)


def sums_of(rows, blocks, m, step=None):
    sums = np.zeros((m, len(rows) + 1, len(rows) + 1), dtype=np.int64)
    step = step or max(1, rows.shape[1])
    for start in range(0, rows.shape[1], step):
        add_block_moments(
            sums,
            rows[:, start : start + step],
            blocks[start : start + step],
            np.ones_like(blocks[start : start + step]),
        )
    return sums


def models_of(rows, blocks, m, basis, step=None):
    return block_models(sums_of(rows, blocks, m, step).astype(float), basis)


def by_numpy(rows, blocks, m, basis):
    """One block after the other: a row of its own for each coordinate's penalty, and the rest."""
    models = np.zeros((m, len(basis)))
    for block in range(m):
        own = rows[:, blocks == block]
        design = np.column_stack([np.ones(own.shape[1]), own[:-1].T]) @ basis
        if len(design):
            wide = np.vstack([design, np.sqrt(0.01 * len(design)) * np.eye(len(basis))])
            for _ in range(2):
                left = own[-1] - design @ models[block]
                models[block] += np.linalg.lstsq(wide, np.append(left, np.zeros(len(basis))))[0]
    return models


def in_units(rows):
    """Rows in units of about 1, and a basis that brings them there from whole steps."""
    return np.diag([1.0] + [2.0**-14] * (len(rows) - 1))


def test_sums_are_those_of_each_block():
    rows, blocks = whole_rows(3, 500), np.random.default_rng(1).integers(0, 7, 500)
    sums = sums_of(rows, blocks, 7, step=64)
    for block in range(7):
        own = np.column_stack([np.ones((blocks == block).sum()), rows[:, blocks == block].T])
        own = own.astype(np.int64)
        np.testing.assert_array_equal(np.tril(sums[block]), np.tril(own.T @ own))


def test_threads_add_the_same_sums():
    rows, blocks = whole_rows(30, 20_000), np.random.default_rng(1).integers(0, 9, 20_000)
    parts = sums_of(rows, blocks, 9, step=500)  # each part by one thread
    np.testing.assert_array_equal(sums_of(rows, blocks, 9), parts)


def test_numbers_of_31_bits_are_added_exactly():
    rows = np.array([[2.0**31 - 1, -(2.0**31 - 1)], [-(2.0**31 - 1), 1.0]])
    (sums,) = sums_of(rows, np.zeros(2, dtype=np.int64), 1).astype(object)
    whole = np.array([[1, 1], [2**31 - 1, -(2**31) + 1], [-(2**31) + 1, 1]], dtype=object)
    np.testing.assert_array_equal(sums[np.tril_indices(3)], (whole @ whole.T)[np.tril_indices(3)])


@pytest.mark.parametrize("columns", [1, 2, 5, 12])
@pytest.mark.parametrize("per_block", [1, 3, 8, 60])
def test_models_agree_with_singular_values(columns, per_block):
    generator = np.random.default_rng(columns * 100 + per_block)
    m, rows = 40, whole_rows(columns, 40 * per_block, seed=per_block)
    rows[-1] += 3 * rows[0] + 2**14 * (len(rows) > 1)
    blocks = generator.integers(0, m, rows.shape[1])
    basis = in_units(rows) @ (np.eye(columns) + 0.3 * generator.normal(size=(columns, columns)))
    found = models_of(rows, blocks, m, basis)
    np.testing.assert_allclose(found, by_numpy(rows, blocks, m, basis), rtol=1e-6, atol=1e-3)


@pytest.mark.parametrize("columns", [2, 6])
def test_equal_and_constant_columns_share_the_coefficient(columns):
    rows = whole_rows(columns + 2, 900)
    rows[1] = rows[0]
    rows[2] = 5 * 2**14 if columns > 2 else rows[2]
    blocks = np.arange(900) % 30
    basis = in_units(rows)
    found = models_of(rows, blocks, 30, basis)
    np.testing.assert_allclose(found[:, 1], found[:, 2], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found, by_numpy(rows, blocks, 30, basis), rtol=1e-6, atol=1e-3)


def test_an_empty_block_gets_zero():
    rows = whole_rows(3, 50)
    found = models_of(rows, np.zeros(50, dtype=np.int64), 3, in_units(rows))
    assert found[0].any()
    assert not found[1:].any()


@pytest.mark.parametrize("change", ["batches", "another row elsewhere", "more blocks", "order"])
def test_a_model_depends_on_its_own_rows_to_the_last_bit(change):
    rows = whole_rows(7, 2000) * 2.0**13  # sums far beyond 2^53
    blocks = np.random.default_rng(3).integers(0, 20, 2000)
    basis = in_units(rows) + 0.01
    before = models_of(rows, blocks, 20, basis)
    if change == "batches":
        np.testing.assert_array_equal(before, models_of(rows, blocks, 20, basis, step=7))
    elif change == "order":
        after = models_of(rows[:, ::-1], blocks[::-1], 20, basis)
        np.testing.assert_array_equal(before, after)
    elif change == "more blocks":
        after = models_of(rows, blocks, 33, basis)
        np.testing.assert_array_equal(before, after[:20])
    else:
        extra = np.insert(rows, 5, rows[:, 900], axis=1)
        after = models_of(extra, np.insert(blocks, 5, 4), 20, basis, step=100)
        others = np.arange(20) != 4
        np.testing.assert_array_equal(before[others], after[others])
        assert (before[4] != after[4]).any()


@pytest.mark.parametrize("scale", [1.0, 2.0**20, 2.0**22, 2.0**26, 2.0**30, 2.0**400])
def test_a_penalty_that_vanishes_raises_nothing(scale):
    rows = np.tile(np.array([[1.0], [6.0], [6.0], [6.0]]), 3)
    found = models_of(rows, np.zeros(3, dtype=np.int64), 2, np.diag([1.0, scale, scale]))
    assert not found[1].any()


@pytest.mark.parametrize("value", [1e200, np.inf, np.nan])
def test_numbers_that_overflow_raise_nothing(value):
    rows = whole_rows(3, 40)
    sums = sums_of(rows, np.arange(40) % 4, 4).astype(float)
    sums[3, 1, :2] = value
    found = block_models(sums, in_units(rows))
    assert np.isfinite(found[[0, 1, 2]]).all()
