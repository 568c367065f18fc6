"""What a unit with many rows can change in statistics that are no weighted sums, in exact integers.

Weighted sums are in ``test_units.py``.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from nolook._unit import WHOLE
from nolook.kernels.moments import UNIT
from nolook.statistics.block_moments import BlockMoments
from nolook.statistics.centred_products import PRODUCTS_SENSITIVITY, CentredProducts
from nolook.statistics.clipped_gradients import UnitGradients, gradient_radius
from nolook.statistics.residual_products import grid_model

SIZE = 3
SQUARED = 2 * UNIT**2
GRADIENTS = gradient_radius(1.5)
MODEL = grid_model(np.array([0.3, -1.7, 12.5]), SQUARED)
LENGTHS = [1, 2, 3, 1000, 99_991]
KINDS = ["equal", "different", "opposed", "split"]
TABLES = pytest.mark.parametrize("counts", [[], [1], [1, 2, 3, 40, 7]], ids=["none", "few", "more"])


def cut(numbers):
    return np.trunc((numbers * UNIT).clip(-UNIT, UNIT))


def joined(one, other):
    return [np.concatenate(pair, axis=-1) for pair in zip(one, other, strict=True)]


def base(counts):
    """Return whole rows of units that have so many, in a random order: targets, weights, units."""
    generator = np.random.default_rng(0)
    units = generator.permutation(np.repeat(np.arange(len(counts)), counts))
    weights = (WHOLE // np.array(counts, dtype=np.int64))[units] if counts else units
    rows = cut(generator.normal(size=(SIZE, units.size)))
    return rows, 2.0 * generator.normal(size=units.size), weights, units


def unit(kind, length, number):
    """Return the rows of one more unit."""
    generator = np.random.default_rng(length)
    rows, targets = np.repeat([[1.0], [1.0], [-0.99]], length, axis=1), np.full(length, 1e9)
    if kind == "different":
        rows = generator.standard_cauchy(rows.shape)
        targets = 10.0 * generator.normal(size=length)
    elif kind == "opposed":
        rows[:, ::2] *= -1.0
        targets[::2] *= -1.0
    elif kind == "split":
        rows[:, ::2] = 0.0
    return cut(rows), targets, np.full(length, WHOLE // length), np.full(length, number)


def scores(rows, _, weights, __):
    ends = np.full(SIZE, float(UNIT))
    return CentredProducts(-ends, ends, WHOLE).update(rows, weights).value


def unit_sums(rows, targets, _, units):
    kept = UnitGradients(SIZE, UNIT, GRADIENTS).update(rows, targets, None, units)
    return kept.value(np.ones(kept.units, dtype=bool), *MODEL)


@TABLES
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", LENGTHS)
def test_a_unit_moves_each_score_as_a_row_does_at_most(counts, kind, length):
    before = base(counts)
    after = joined(before, unit(kind, length, len(counts)))
    assert np.abs(scores(*after) - scores(*before)).max() <= PRODUCTS_SENSITIVITY


@pytest.mark.parametrize("length", LENGTHS)
def test_the_scores_sensitivity_is_reached(length):
    # Many units at one end of both ranges, and one at the other.
    before = np.full((2, 2000), -float(UNIT)), None, np.full(2000, WHOLE), None
    more = np.full((2, length), float(UNIT)), np.full(length, WHOLE // length)
    ends = np.full(2, float(UNIT))
    found = CentredProducts(-ends, ends, WHOLE).update(before[0], before[2])
    (low,) = found.value
    (high,) = found.update(*more).value
    assert 0.999 * PRODUCTS_SENSITIVITY < high - low <= PRODUCTS_SENSITIVITY


def test_scores_of_rows_that_are_there_twice_are_the_same():
    rows, targets, weights, units = base([1, 2, 4, 32, 8])
    twice = [np.repeat(each, 2, axis=-1) for each in (rows, targets, weights // 2, units)]
    assert np.array_equal(scores(*twice), scores(rows, targets, weights, units))


def test_scores_of_equal_weights_are_those_of_rows():
    rows, *_ = base([50])
    ends = np.full(SIZE, float(UNIT))
    plain = CentredProducts(-ends, ends).update(rows).value
    assert np.array_equal(scores(rows, None, np.full(50, WHOLE), None), plain)


@TABLES
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", LENGTHS)
def test_a_unit_moves_the_clipped_sums_as_a_row_does_at_most(counts, kind, length):
    before = base(counts)
    after = joined(before, unit(kind, length, len(counts)))
    change = unit_sums(*after) - unit_sums(*before)
    assert sum(int(step) ** 2 for step in change) <= GRADIENTS


def test_a_units_gradient_is_the_sum_of_its_rows_cut_to_a_row():
    kept = UnitGradients(2, UNIT, GRADIENTS)
    rows = np.array([[UNIT, UNIT, UNIT], [0.0, 0.0, UNIT]])
    units = np.array([1, 0, 1])
    targets = np.array([0.25, 0.5, -0.125])
    kept.update(rows, targets, None, units)
    flat = grid_model(np.zeros(2), SQUARED)
    found = kept.value(np.array([False, True]), *flat).tolist()
    assert found == [UNIT // 8, -UNIT // 8]
    more = UnitGradients(2, UNIT, GRADIENTS)
    more.update(np.repeat(rows[:, :1], 50, axis=1), np.full(50, 0.25), None, np.zeros(50, int))
    assert more.value(np.array([True]), *flat).tolist() == [math.isqrt(GRADIENTS), 0]


def test_a_unit_changes_the_sums_of_its_block_alone():
    rows, _, weights, units = base([1, 2, 3, 40, 7, 60_000])
    blocks = np.array([2, 0, 1, 0, 2, 1])[units]
    of_all = BlockMoments(3, SIZE, UNIT * 2, WHOLE).update(rows, blocks, weights).value
    left = units != 5
    of_others = BlockMoments(3, SIZE, UNIT * 2, WHOLE).update(
        rows[:, left], blocks[left], weights[left]
    )
    assert np.array_equal(of_all[[0, 2]], of_others.value[[0, 2]])
    assert not np.array_equal(of_all[1], of_others.value[1])


def test_block_sums_carry_before_64_bits():
    rows = np.full((1, 100_000), float(2**22))
    found = BlockMoments(1, 1, 2**22, WHOLE)
    found.update(rows, np.zeros(100_000, dtype=np.int64), np.full(100_000, WHOLE))
    assert found.value[0, 1, 1] == 100_000 * 2**15 * 2**44
