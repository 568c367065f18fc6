"""Tables that differ by a unit, however many rows it has, differ by what one row may change.

All in whole numbers. A statistic that takes weights has a row in `STATISTICS`.
"""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nolook.statistics
from nolook._unit import WHOLE
from nolook.algorithms.whitening import Spread
from nolook.kernels.histogram import linear_counts, magnitude_counts, row_counts
from nolook.kernels.moments import UNIT
from nolook.kernels.weighted_rows import Standard, bounded_targets, weighted_rows
from nolook.statistics.block_moments import BlockMoments
from nolook.statistics.cell_counts import (
    CellCounts,
    ClassCells,
    ColumnCells,
    cell_counts_sensitivity,
)
from nolook.statistics.centred_products import PRODUCTS_SENSITIVITY, CentredProducts
from nolook.statistics.class_counts import ClassBalance, ScoreCounts, balance_sensitivity
from nolook.statistics.design_moments import (
    DesignMoments,
    eigenvalue_sensitivity,
    gram_sensitivity,
    product_sensitivity,
    smallest_eigenvalue,
)
from nolook.statistics.grid_models import ClassModel, CountModel, GridModel, RowBlock, grid_model
from nolook.statistics.group_sums import (
    GROUP_COUNTS_SENSITIVITY,
    GroupSums,
    excess_sensitivities,
)
from nolook.statistics.held_out import HeldOutErrors, held_out_sensitivity
from nolook.statistics.histograms import Histograms, histograms_sensitivity
from nolook.statistics.weighted_rows import (
    ClippedProducts,
    ErrorSides,
    ErrorSizes,
    ModelCurvature,
    ModelDeviances,
    ModelErrors,
    ProductSizes,
    UnitProducts,
    clipped_products_sensitivity,
    curvature_sensitivity,
    deviances_sensitivity,
    errors_sensitivity,
    unit_products_sensitivity,
)

# --- tables of two features and a target ---------------------------------------------------------

#: Rows that reach the bounds: of the norm, of the target, of the clips, of the errors.
EXTREME = np.array(
    [
        *([0.5, 0.0, 50.0], [0.5, 0.0, -50.0], [0.0, 0.0, 50.0], [0.0, 0.0, -50.0]),
        *([20.0, 20.0, 50.0], [20.0, -20.0, -50.0], [-20.0, 20.0, 1e300], [5.0, 5.0, 0.0]),
        [4.7, 5.0, 50.0],  # as long as a row may be without losing weight
        *([1e308, -1e308, 1e308], [5e-324, 0.0, -5e-324], [np.inf, np.nan, 0.0]),
    ]
).T


def typical(random, rows):
    return random.normal(size=(3, rows))


def equal(random, rows):
    return np.repeat(EXTREME[:, [random.integers(EXTREME.shape[1])]], rows, axis=1)


def different(random, rows):
    return random.normal(0.0, 9.0, size=(3, rows))


def corners(random, rows):
    return EXTREME[:, random.integers(0, EXTREME.shape[1], rows)]


def one_far_row(random, rows):
    table = np.zeros((3, rows))
    table[:, random.integers(rows)] = EXTREME[:, 0]
    return table


UNITS = [equal, different, corners, one_far_row]


# --- the statistics ------------------------------------------------------------------------------

_UNIT = 2**10
_NORM = 7.0
_RADIUS = int((_NORM * _UNIT) ** 2)
_CLIP, _TARGET = 2**22, 2**14
_MOMENTS = int((7.0 * UNIT) ** 2)
_BORDERS = np.array([0.0, 0.25, 0.5, 1.0])
_MODEL = GridModel(*grid_model(np.array([0.3, -2.0, 1e-3]), _RADIUS), _UNIT)


def as_rows(table):
    """Return numbers as weighted rows, targets and factors; a class is positive or not."""
    table = np.nan_to_num(table, posinf=1e308, neginf=-1e308)
    ones = np.ones(2)
    standard, whitening = (
        Standard(0 * ones, ones, -20 * ones, 20 * ones),
        Spread.standard(2).whitening,
    )
    rows, squares, factors = weighted_rows(
        np.ascontiguousarray(table[:2]), standard, whitening, _RADIUS, _UNIT
    )
    return RowBlock(rows, squares, bounded_targets(table[2], 0.0, 1.0, 50.0), factors)


def as_moments(table):
    return (as_rows(table)[0].astype(np.float64),)


def as_bounded(table):
    rows, _, targets, factors, *_ = as_rows(table)
    return rows.astype(np.float64), factors * targets


def as_grid(table):
    return (np.trunc(np.nan_to_num(table).clip(-20.0, 20.0) * UNIT),)


def as_finite(table):
    return (np.nan_to_num(table),)


def as_scores(table):
    return (np.stack([np.abs(table[0]) / 4.0, table[1] > 0.0]),)


def first_column(table):
    return (table[0],)


def whole_table(table):
    return (table,)


# Models by which a row is of either class, and surely of the other.
_FLAT = ClassModel(*grid_model(np.zeros(3), _RADIUS), _UNIT)
_STEEP = ClassModel(*grid_model(np.array([-40.0, 0.0, -40.0]), _RADIUS), _UNIT)
# And by which rows have counts from next to none to the largest.
_COUNTS = CountModel(*grid_model(np.array([0.3, -2.0, 1e-3]), _RADIUS), _UNIT)


def counts_cut_at(steepest):
    """Return a model by which every row's slope is the steepest, or almost."""
    model = grid_model(np.array([math.log(steepest) + 1e-9, 0.0, 0.0]), _RADIUS)
    return CountModel(*model, _UNIT, steepest)


def as_exposed_rows(table):
    """Return weighted rows with exposures from a 64th to a million times the usual."""
    exposures = np.exp(np.nan_to_num(table[0]).clip(-1.0, 1.0) * np.log(64.0)).clip(1.0 / 64.0)
    exposures *= np.where(np.abs(table[1]) > 4.0, 1e6, 1.0)
    return as_rows(table)._replace(exposures=exposures)


@dataclass(frozen=True)
class Weighted:
    """A statistic of rows with weights.

    Parameters
    ----------
    make : callable
        Takes what a unit weighs at most.
    see : callable
        Takes a table; returns the arguments of `update` but for the weights.
    tell : callable
        Returns the values, each of which has a sensitivity.
    sensitivities : callable
        Takes the same number; in units of a row for sums that are rounded to these, and in units of
        a weight for counts.
    rounds : bool
        Whether sums are rounded to units of a row.
    norm : 0, 1 or 2
        0 if each entry has the sensitivity by itself.
    adds : bool
        Whether a value is the sum over rows of what each adds, times its weight.
    """

    make: Callable[[int], Any]
    see: Callable[[np.ndarray], tuple[np.ndarray, ...]]
    tell: Callable[[Any], list[Any]]
    sensitivities: Callable[[int], list[Any]]
    rounds: bool = False
    norm: int = 2
    adds: bool = True


def in_widths(excess):
    widths = excess_sensitivities(_BORDERS).tolist()
    return [Fraction(int(one), width) for one, width in zip(excess, widths, strict=True)]


def counts_of(columns):
    return lambda whole: [whole * Fraction(histograms_sensitivity(columns, "add-remove"))]


equal_bins = partial(linear_counts, low=np.full(3, -2.0), width=np.full(3, 0.5), bins=8)


STATISTICS = {
    "CellCounts": Weighted(
        lambda _: CellCounts(np.linspace(-1.0, 1.0, 9)),
        first_column,
        lambda s: [s.value],
        lambda whole: [whole * cell_counts_sensitivity("add-remove")],
        norm=1,
    ),
    "ClassCells": Weighted(
        lambda _: ClassCells(np.linspace(0.0, 1.0, 9)),
        as_scores,
        lambda s: [np.concatenate(s.value)],
        lambda whole: [whole * cell_counts_sensitivity("add-remove")],
        norm=1,
    ),
    "ColumnCells": Weighted(
        lambda _: ColumnCells([np.linspace(-1.0, 1.0, 3 + i) for i in range(3)]),
        whole_table,
        lambda s: s.value,
        lambda whole: 3 * [whole * cell_counts_sensitivity("add-remove")],
        norm=1,
    ),
    "CentredProducts": Weighted(
        lambda whole: CentredProducts(np.full(3, -2.0), np.full(3, 3.0), whole),
        as_finite,
        lambda s: [s.value],
        lambda _: [PRODUCTS_SENSITIVITY],
        norm=0,
        adds=False,
    ),
    "ClassBalance": Weighted(
        lambda _: ClassBalance(),
        as_rows,
        lambda s: [s.value],
        lambda whole: [whole * balance_sensitivity()],
    ),
    "ModelCurvature": Weighted(
        lambda whole: ModelCurvature(_FLAT, whole),
        as_rows,
        lambda s: [s.value],
        lambda whole: [curvature_sensitivity(_RADIUS, 3, whole)],
        rounds=True,
    ),
    "UnitProducts": Weighted(
        lambda whole: UnitProducts(_STEEP, whole),
        as_rows,
        lambda s: [s.value],
        lambda whole: [unit_products_sensitivity(_RADIUS, 3, whole)],
        rounds=True,
    ),
    "ClippedProducts": Weighted(
        lambda whole: ClippedProducts(_MODEL, _CLIP, whole),
        as_rows,
        lambda s: [s.value],
        lambda whole: [clipped_products_sensitivity(_CLIP, 3, whole)],
        rounds=True,
    ),
    **{
        f"ModelCurvature, of counts cut at {steepest}": Weighted(
            lambda whole, steepest=steepest: ModelCurvature(counts_cut_at(steepest), whole),
            as_rows,
            lambda s: [s.value],
            lambda whole: [curvature_sensitivity(_RADIUS, 3, whole)],
            rounds=True,
        )
        for steepest in (50.0, 1.0, 1e-3)
    },
    "ModelCurvature, of counts with exposures": Weighted(
        lambda whole: ModelCurvature(_COUNTS, whole),
        as_exposed_rows,
        lambda s: [s.value],
        lambda whole: [curvature_sensitivity(_RADIUS, 3, whole)],
        rounds=True,
    ),
    "ClippedProducts, of counts with exposures": Weighted(
        lambda whole: ClippedProducts(_COUNTS, _CLIP, whole),
        as_exposed_rows,
        lambda s: [s.value],
        lambda whole: [clipped_products_sensitivity(_CLIP, 3, whole)],
        rounds=True,
    ),
    "ModelDeviances": Weighted(
        lambda whole: ModelDeviances(_COUNTS, 0.25, whole),
        as_rows,
        lambda s: [s.value],
        lambda whole: [deviances_sensitivity(whole)],
        rounds=True,
    ),
    "ModelDeviances, with exposures": Weighted(
        lambda whole: ModelDeviances(_COUNTS, 0.25, whole),
        as_exposed_rows,
        lambda s: [s.value],
        lambda whole: [deviances_sensitivity(whole)],
        rounds=True,
    ),
    "DesignMoments": Weighted(
        lambda whole: DesignMoments(3, _RADIUS, whole),
        as_moments,
        lambda s: [s.value],
        lambda whole: [gram_sensitivity(_RADIUS, 3, whole)],
        rounds=True,
    ),
    "GroupSums": Weighted(
        lambda whole: GroupSums(_BORDERS, whole),
        as_scores,
        lambda s: [s.value[:2], in_widths(s.value[2])],
        lambda whole: [whole * GROUP_COUNTS_SENSITIVITY, 1],
        norm=1,
        adds=False,
    ),
    "Histograms, of magnitudes": Weighted(
        lambda _: Histograms(magnitude_counts), whole_table, lambda s: [s.value(3)], counts_of(3)
    ),
    "Histograms, of rows": Weighted(
        lambda _: Histograms(row_counts), whole_table, lambda s: [s.value(3)], counts_of(1)
    ),
    "Histograms": Weighted(
        lambda _: Histograms(equal_bins), whole_table, lambda s: [s.value(3)], counts_of(3)
    ),
    "HeldOutErrors": Weighted(
        lambda whole: HeldOutErrors(0.25, 2.0, whole),
        lambda table: (table[1:],),
        lambda s: [s.value],
        lambda whole: [held_out_sensitivity(whole)],
        rounds=True,
    ),
    "ModelErrors": Weighted(
        lambda whole: ModelErrors(_MODEL, 0.25, whole),
        as_rows,
        lambda s: [s.value],
        lambda whole: [errors_sensitivity(whole)],
        rounds=True,
    ),
    "ErrorSides": Weighted(
        lambda _: ErrorSides(_MODEL, 0.5), as_rows, lambda s: [s.value], counts_of(1)
    ),
    "ErrorSizes": Weighted(
        lambda _: ErrorSizes(_MODEL, np.array([0.5, 4.0, 1e6])),
        as_rows,
        lambda s: [s.value],
        counts_of(1),
    ),
    "ProductSizes": Weighted(
        lambda _: ProductSizes(_MODEL, np.array([0.5, 4.0, 1e6])),
        as_rows,
        lambda s: [s.value],
        counts_of(1),
    ),
    "ScoreCounts": Weighted(
        lambda _: ScoreCounts(_STEEP, np.array([-1.0, 0.0, 1e3])),
        as_rows,
        lambda s: [s.value],
        counts_of(1),
    ),
    "UnitProducts, clipped": Weighted(
        lambda whole: UnitProducts(_MODEL, whole, _TARGET),
        as_rows,
        lambda s: [s.value],
        lambda whole: [product_sensitivity(_RADIUS, _TARGET, 3, whole)],
        rounds=True,
    ),
}
# Those of blocks are tested below, those by group in test_group_totals.py.
OTHERS = {"BlockMoments", "KendallRows", "GroupCounts", "GroupMoments", "GroupedCells"}
SUMS = pytest.mark.parametrize(
    "row",
    [row for row in STATISTICS.values() if row.adds],
    ids=[name for name, row in STATISTICS.items() if row.adds],
)


def plain(row, statistic):
    return [np.asarray(value, dtype=object).ravel() for value in row.tell(statistic)]


def seen(row, table, weights, whole=WHOLE):
    arguments = row.see(table)
    if isinstance(arguments, RowBlock):
        return row.make(whole).update(*arguments._replace(weights=weights))
    return row.make(whole).update(*arguments, weights=weights)


def shares(units):
    """Return what the rows of each unit weigh."""
    counts = np.bincount(units, minlength=1)
    return (WHOLE // np.maximum(counts, 1))[units]


def moved_by(row, table, units):
    """Return how far unit 0 moves each value, as shares of the sensitivities, squared if L2."""
    weights, others = shares(units), units > 0
    both = (
        plain(row, seen(row, table, weights)),
        plain(row, seen(row, table[:, others], weights[others])),
    )
    found = []
    for one, other, limit in zip(*both, row.sensitivities(WHOLE), strict=True):
        moved = [abs(entry) for entry in (one - other).tolist()]
        change = sum(entry**row.norm for entry in moved) if row.norm else max(moved)
        found.append(Fraction(change) / Fraction(limit) ** (row.norm or 1))
    return found


def with_unit(random, rows, of_unit, others):
    """Return a table and its units, of which the first has so many rows, in any order."""
    rest = typical(random, others)
    units = np.concatenate([np.zeros(of_unit.shape[1], int), random.integers(1, 9, others)])
    order = random.permutation(units.size)
    return np.concatenate([of_unit, rest], axis=1)[:, order], units[order]


@pytest.mark.parametrize("kind", UNITS)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32), rows=st.integers(1, 40), others=st.integers(0, 30))
def test_a_unit_moves_it_by_the_sensitivity_of_a_row(kind, seed, rows, others):
    random = np.random.default_rng(seed)
    table, units = with_unit(random, rows, kind(random, rows), others)
    for name, row in STATISTICS.items():
        assert max(moved_by(row, table, units)) <= 1, name


@pytest.mark.parametrize(
    ("rows", "kind", "row"),
    [
        # Every day each statistic with each kind of unit, of one of the sizes.
        pytest.param(
            rows,
            kind,
            row,
            marks=[pytest.mark.slow] * ((i + j + k) % 4 > 0),
            id=f"{rows}-{j}-{name}",
        )
        for i, rows in enumerate([1_000, 99_999, 1_023, 100_000])
        for j, kind in enumerate(UNITS)
        for k, (name, row) in enumerate(STATISTICS.items())
    ],
)
def test_so_does_a_unit_of_many_rows(row, kind, rows):
    random = np.random.default_rng(rows)
    table, units = with_unit(random, rows, kind(random, rows), 50)
    assert max(moved_by(row, table, units)) <= 1


@SUMS
@pytest.mark.parametrize("rows", [1, 3, 1_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_the_sensitivity_is_reached(row, rows):
    largest = [0.0] * len(row.sensitivities(WHOLE))
    for far in EXTREME.T:
        unit = np.repeat(far[:, np.newaxis], rows, axis=1)
        moved = moved_by(row, unit, np.zeros(rows, int))
        largest = [max(pair) for pair in zip(largest, map(float, moved), strict=True)]
    assert min(largest) > 0.95


@SUMS
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_weights_multiply_what_a_row_adds(row, data):
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    table = np.concatenate([corners(random, 6), typical(random, 9)], axis=1)
    weights = random.integers(0, WHOLE + 1, 15) >> random.integers(0, 31, 15)
    weights[random.integers(15)] = WHOLE
    total = sum(
        int(weight) * np.concatenate(plain(row, seen(row, table[:, [i]], None, 1)))
        for i, weight in enumerate(weights)
    )
    expected = total // WHOLE if row.rounds else total
    found = np.concatenate(plain(row, seen(row, table, weights)))
    assert found.tolist() == expected.tolist()


@SUMS
def test_every_row_twice_is_every_row_once(row):
    random = np.random.default_rng(0)
    table = np.concatenate([corners(random, 20), typical(random, 300)], axis=1)
    once = seen(row, table, np.full(320, WHOLE))
    twice = seen(row, np.repeat(table, 2, axis=1), np.full(640, WHOLE // 2))
    plainly = np.concatenate(plain(row, seen(row, table, None, 1)))
    for value in (once, twice):
        told = np.concatenate(plain(row, value))
        assert (told if row.rounds else told // WHOLE).tolist() == plainly.tolist()


def test_rounding_adds_to_the_sensitivity_and_is_counted():
    # Rows so short that a rounding is a good part of what they add: (3, 4) and (4, 3).
    random = np.random.default_rng(0)
    largest = 0
    for _ in range(200):
        units = np.concatenate([np.zeros(10, int), random.integers(1, 4, 9)])
        long = np.array([[3.0, 4.0], [4.0, 3.0]])[:, random.integers(0, 2, 10)]
        rows = np.concatenate([long, random.integers(0, 2, (2, 9))], axis=1)
        gram = []
        for part in (units >= 0, units > 0):
            sums = DesignMoments(2, 25, WHOLE)
            sums.update(rows[:, part], shares(units)[part])
            gram.append(sums.value)
        change = sum(int(entry) ** 2 for entry in (gram[0] - gram[1]).ravel())
        largest = max(largest, change)
    assert gram_sensitivity(25) ** 2 < largest <= gram_sensitivity(25, 2, WHOLE) ** 2


@pytest.mark.parametrize("kind", UNITS)
@pytest.mark.parametrize("rows", [1, 3, 1_000])
def test_a_unit_moves_the_smallest_eigenvalue_by_the_sensitivity_of_a_row(kind, rows):
    random = np.random.default_rng(rows)
    for others in (0, 1, 300):
        table, units = with_unit(random, rows, kind(random, rows), others)
        weights, rest = shares(units), units > 0
        row = STATISTICS["DesignMoments"]
        values = [
            smallest_eigenvalue(seen(row, table[:, kept], weights[kept]).value, _RADIUS)
            for kept in (units >= 0, rest)
        ]
        assert abs(values[0] - values[1]) <= eigenvalue_sensitivity(_RADIUS, 3, WHOLE)


@pytest.mark.parametrize("kind", UNITS)
def test_a_unit_in_one_block_changes_that_block_alone(kind):
    random = np.random.default_rng(0)
    table, units = with_unit(random, 300, kind(random, 300), 200)
    weights, others = shares(units), units > 0
    rows = np.trunc(np.nan_to_num(table).clip(-20.0, 20.0) * 2**16)
    blocks = random.integers(0, 4, 9)[units]
    values = []
    for kept in (units >= 0, others):
        sums = BlockMoments(4, 3, 2**21, WHOLE)
        values.append(sums.update(rows[:, kept], weights[kept], blocks[kept]).value)
    own = blocks[~others][0]
    assert [(a == b).all() for a, b in zip(*values, strict=True)] == [i != own for i in range(4)]


def test_every_statistic_of_weights_is_here():
    found = set()
    for module in pkgutil.iter_modules(nolook.statistics.__path__):
        inside = vars(importlib.import_module(f"nolook.statistics.{module.name}"))
        found |= {
            name
            for name, one in inside.items()
            if isinstance(one, type)
            and hasattr(one, "update")
            and {"weights", "block"} & {*inspect.signature(one.update).parameters}
        }
    found -= {"BlockTotal", "_ByGroup"}
    assert found == {name.partition(",")[0] for name in (*STATISTICS, *OTHERS)}
