"""Sums by group: exact, whatever the batches, and no row or unit moves them more than is said."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from nolook.kernels.group_totals import MOMENT_UNIT
from nolook.statistics.group_totals import (
    BLOCK_WEIGHT,
    GroupCounts,
    GroupedCells,
    Grouping,
    GroupMoments,
    blocks_and_cells_sensitivities,
    moments_l1_sensitivity,
    moments_l2_sensitivity,
)

GROUPINGS = [Grouping((0, 1), (3, 4)), Grouping((), ()), Grouping((1,), (4,))]


def _batch(rows, seed=0):
    generator = np.random.default_rng(seed)
    first, second = generator.integers(0, 3, rows), generator.integers(0, 4, rows)
    values = generator.normal(5.0, 3.0, rows)
    values[::7] = np.nan
    batch = np.array([first, second, values], dtype=np.float64)
    batch[0, ::5] = np.nan  # the last code
    return batch


def _statistics():
    center, clip = np.array([4.0]), np.array([2.5])
    yield lambda: GroupCounts(GROUPINGS)
    yield lambda: GroupMoments(GROUPINGS, [2], center, clip)
    yield lambda: GroupedCells(GROUPINGS, [2], [1.0 + 1.5 * np.arange(6.0)])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("make", [*_statistics()])
def test_totals_do_not_depend_on_batches_or_order(make, weighted):
    batch = _batch(500)
    weights = np.random.default_rng(1).integers(0, 2**20, 500) if weighted else None
    whole = make().update(batch, weights).value
    order = np.random.default_rng(2).permutation(500)
    halves = [make(), make()]
    for half, places in zip(halves, (order[:211], order[211:]), strict=True):
        half.update(batch[:, places], None if weights is None else weights[places])
    np.testing.assert_array_equal(halves[0].merge(halves[1]).value, whole)


def test_totals_are_those_counted_one_by_one():
    batch = _batch(400)
    codes = np.where(np.isnan(batch[0]), 2, batch[0]).astype(int), batch[1].astype(int)
    known = ~np.isnan(batch[2])
    place = ((batch[2] - 4.0) / 2.5).clip(-1.0, 1.0)
    counts, moments, cells = (make().update(batch).value for make in _statistics())
    counted = np.zeros((3, 4))
    np.add.at(counted, codes, 1)
    np.testing.assert_array_equal(counts[:12].reshape(3, 4), counted)
    assert counts[12] == 400
    sums = np.zeros((3, 4, 3))
    terms = np.stack([np.full(400, 0.25), place, (place**2 - 0.5) / 4], axis=1)
    np.add.at(sums, (codes[0][known], codes[1][known]), terms[known])
    np.testing.assert_allclose(
        moments[:36].reshape(3, 4, 3) / MOMENT_UNIT, sums, atol=400 / MOMENT_UNIT
    )
    edges = 1.0 + 1.5 * np.arange(6)
    expected = np.searchsorted(edges[:-1], batch[2][known])
    np.testing.assert_array_equal(cells[72:78], np.bincount(expected, minlength=6))


def test_values_at_ends_count_below_them():
    ends = np.round(np.arange(0.1, 40.0, 0.1), 1)
    cells = GroupedCells([Grouping((), ())], [0], [ends]).update(ends[np.newaxis]).value
    assert (cells == 1).all()


def _unit(rows, generator):
    """A unit of some rows anywhere, with extreme values among them, and its weights."""
    batch = np.array([
        generator.integers(0, 3, rows),
        generator.integers(0, 4, rows),
        generator.choice([-1e300, 1e300, 4.0, 6.5, 1.5, 5.0, np.nan], rows),
    ], dtype=np.float64)  # fmt: skip
    return batch, np.full(rows, MOMENT_UNIT // rows)


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_no_unit_moves_moments_by_more_than_their_sensitivity(relation):
    generator = np.random.default_rng(3)
    largest = [Fraction(0), Fraction(0)]
    for rows in [1] * 200 + [2, 3, 5, 1000]:
        change = [0]
        for sign in (1, -1)[: 1 + (relation == "replace")]:
            batch, weights = _unit(rows, generator)
            own = GroupMoments(GROUPINGS, [2], np.array([4.0]), np.array([2.5]))
            change = change + sign * own.update(batch, weights).value.astype(object)
        largest[0] = max(largest[0], Fraction(int(abs(change).sum()), MOMENT_UNIT))
        largest[1] = max(largest[1], Fraction(int((change**2).sum()), MOMENT_UNIT**2))
    l1, l2 = (each(3, relation) for each in (moments_l1_sensitivity, moments_l2_sensitivity))
    assert largest[0] <= Fraction(l1)
    assert largest[1] <= Fraction(l2) ** 2
    if relation == "add-remove":  # and some row attains both
        assert largest[0] > 0.999 * l1
        assert largest[1] > 0.999 * l2**2


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_no_row_moves_blocks_and_cells_by_more_than_their_sensitivity(relation):
    generator, largest, ends = np.random.default_rng(4), [0, 0], np.arange(1.0, 65.0)
    for _ in range(100):
        change = 0
        for sign in (1, -1)[: 1 + (relation == "replace")]:
            row = generator.integers(0, [[3], [4], [70]], (3, 1)).astype(float)
            own = GroupedCells(GROUPINGS, [2], [ends]).update(row).value.reshape(-1, 2, 32)
            change = change + sign * np.append(BLOCK_WEIGHT * own.sum(axis=2), own)
        largest = np.maximum(largest, [abs(change).sum(), (change**2).sum()])
    l1, l2 = blocks_and_cells_sensitivities(len(GROUPINGS), relation)
    assert largest[0] == l1
    assert 0.999 * l2**2 < largest[1] <= Fraction(l2) ** 2
