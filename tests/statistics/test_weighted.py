"""What a unit with many rows can change in sums of rows with weights, in exact integers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from nolook._unit import WHOLE
from nolook.kernels.moments import UNIT
from nolook.statistics.block_moments import BlockMoments
from nolook.statistics.centred_products import PRODUCTS_SENSITIVITY, CentredProducts
from nolook.statistics.clipped_gradients import (
    ClippedGradients,
    UnitGradients,
    gradient_radius,
    gradient_sensitivity,
)
from nolook.statistics.design_moments import DesignMoments, gram_sensitivity, product_sensitivity
from nolook.statistics.moments import MomentMatrix, moment_sensitivity
from nolook.statistics.residual_products import ResidualProducts, grid_model

SIZE = 3
SQUARED = 2 * UNIT**2
LARGEST = 2**18
GRADIENTS = gradient_radius(1.5)
MODEL = grid_model(np.array([0.3, -1.7, 12.5]), SQUARED)
LOW, HIGH = np.full(SIZE, -float(UNIT)), np.full(SIZE, float(UNIT))


@dataclass(frozen=True)
class Row:
    """A statistic of rows with weights.

    Parameters
    ----------
    seen : callable
        Returns the statistic of rows, targets, weights and units, as Python ints.
    sensitivity : float
        In L2, of a row or unit.
    """

    seen: Callable[..., Any]
    sensitivity: float


def whole(rows):
    """Bound rows to the squared norm, in integers."""
    norms = np.sqrt((rows**2).sum(axis=0))
    return np.trunc(rows * np.minimum(1.0, 0.999 * math.sqrt(SQUARED) / np.maximum(norms, 1.0)))


def matrix(rows, targets, weights, units):
    return MomentMatrix(SIZE, SQUARED, WHOLE).update(rows.copy(), weights).value


def gram(rows, targets, weights, units):
    return DesignMoments(SIZE, SQUARED, 0, WHOLE).update(rows, weights=weights).gram


def products(rows, targets, weights, units):
    cut = np.trunc(targets.clip(-1.0, 1.0) * LARGEST)
    return DesignMoments(SIZE, SQUARED, LARGEST, WHOLE).update(rows, cut, weights).products


def residuals(rows, targets, weights, units):
    kept = ResidualProducts(SIZE, SQUARED, UNIT, LARGEST, WHOLE)
    return kept.update(rows, targets, weights).value(*MODEL)


def gradients(rows, targets, weights, units):
    kept = ClippedGradients(SIZE, UNIT, GRADIENTS, WHOLE).update(rows, targets, weights, units)
    return kept.value(np.ones(kept.units, dtype=bool), *MODEL)


def sums(rows, targets, weights, units):
    kept = UnitGradients(SIZE, UNIT, GRADIENTS).update(rows, targets, None, units)
    return kept.value(np.ones(kept.units, dtype=bool), *MODEL)


def centred(j, rows, targets, weights, units):
    return CentredProducts(LOW, HIGH, WHOLE).update(rows, weights).value[j].astype(object)


STATISTICS = {
    "MomentMatrix": Row(matrix, moment_sensitivity(SQUARED, "add-remove", SIZE, WHOLE)),
    "gram": Row(gram, gram_sensitivity(SQUARED, SIZE, WHOLE)),
    "products": Row(products, product_sensitivity(SQUARED, LARGEST, SIZE, WHOLE)),
    "ResidualProducts": Row(residuals, product_sensitivity(SQUARED, LARGEST, SIZE, WHOLE)),
    "ClippedGradients": Row(gradients, gradient_sensitivity(GRADIENTS, SIZE, WHOLE)),
    "UnitGradients": Row(sums, gradient_sensitivity(GRADIENTS)),
    "CentredProducts": Row(partial(centred, 0), PRODUCTS_SENSITIVITY),
    "CentredProducts of another": Row(partial(centred, 1), PRODUCTS_SENSITIVITY),
}
every_statistic = pytest.mark.parametrize("row", STATISTICS.values(), ids=STATISTICS)
LENGTHS = [1, 2, 3, 1000, 99_991]
EXTREME = np.array([UNIT, UNIT, -UNIT / 1.01]), 1e9


def base(counts, seed=0):
    """Return rows of units with so many, in a random order."""
    generator = np.random.default_rng(seed)
    units = generator.permutation(np.repeat(np.arange(len(counts)), counts))
    rows = whole(generator.normal(size=(SIZE, units.size)) * UNIT)
    return rows, 2.0 * generator.normal(size=units.size), WHOLE // np.array(counts)[units], units


def extra(kind, length, unit):
    """Return the rows of one more unit."""
    generator = np.random.default_rng(length)
    row, target = EXTREME
    rows = np.repeat(row[:, np.newaxis], length, axis=1)
    targets = np.full(length, target)
    if kind == "different":
        rows, targets = (
            UNIT * generator.standard_cauchy(rows.shape),
            10 * generator.normal(size=length),
        )
    elif kind == "opposed":
        rows[:, ::2] *= -1.0
        targets[::2] *= -1.0
    elif kind == "split":
        rows[:, ::2] = 0.0
    return whole(rows), targets, np.full(length, WHOLE // length), np.full(length, unit)


def joined(one, other):
    return [np.concatenate(pair, axis=-1) for pair in zip(one, other, strict=True)]


def change(row, counts, kind, length):
    before = base(counts)
    after = row.seen(*joined(before, extra(kind, length, len(counts))))
    return sum(int(step) ** 2 for step in np.ravel(after - row.seen(*before)))


@every_statistic
@pytest.mark.parametrize("kind", ["equal", "different", "opposed", "split"])
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("counts", [[1], [1, 2, 3, 40, 7]], ids=["few", "more"])
def test_a_unit_changes_a_sum_as_a_row_does_at_most(row, counts, kind, length):
    assert change(row, counts, kind, length) <= Fraction(row.sensitivity) ** 2


@every_statistic
@pytest.mark.parametrize("length", LENGTHS)
def test_equal_rows_change_it_as_one_of_them_does(row, length):
    one, many = (change(row, [1, 2, 3, 40, 7], "equal", n) for n in (1, length))
    # Rounded down, the weights fall short by less than a part in 10^4, and sums by less than 1.
    assert math.sqrt(many) == pytest.approx(math.sqrt(one), rel=2e-4, abs=2.0)


@every_statistic
def test_rows_that_are_there_twice_change_nothing(row):
    rows, targets, weights, units = base([1, 2, 4, 32, 8])
    once = row.seen(rows, targets, weights, units)
    if row.seen is sums:  # without weights rows count each
        return
    twice = [np.repeat(each, 2, axis=-1) for each in (rows, targets, weights // 2, units)]
    assert np.array_equal(row.seen(*twice), once)
    thrice = [np.repeat(each, 3, axis=-1) for each in (rows, targets, weights // 3, units)]
    off = np.abs(np.asarray(row.seen(*thrice) - once, dtype=float))
    assert np.max(off) <= 1.0 + 3 * targets.size / WHOLE * row.sensitivity


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
