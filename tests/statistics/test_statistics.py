"""What every statistic owes, whichever it is: see `nolook.statistics.Statistic`."""

from __future__ import annotations

import importlib
import pickle
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nolook.statistics
from nolook._unit import WHOLE as WHOLE_UNIT
from nolook.kernels.histogram import linear_counts, magnitude_counts
from nolook.kernels.inversions import pair_differences
from nolook.statistics import Statistic, WeightedTotal
from nolook.statistics.block_moments import BlockMoments
from nolook.statistics.cell_counts import CellCounts, ClassCells, ColumnCells
from nolook.statistics.centred_products import CentredProducts
from nolook.statistics.class_counts import ClassBalance, ScoreCounts
from nolook.statistics.design_moments import DesignMoments
from nolook.statistics.grid_models import BlockTotal, ClassModel, CountModel, GridModel, grid_model
from nolook.statistics.group_sums import GroupSums
from nolook.statistics.group_totals import GroupCounts, GroupedCells, Grouping, GroupMoments
from nolook.statistics.held_out import HeldOutErrors
from nolook.statistics.histograms import Histograms
from nolook.statistics.kendall import KendallRows
from nolook.statistics.weighted_rows import (
    ClippedProducts,
    ErrorSides,
    ErrorSizes,
    ModelCurvature,
    ModelDeviances,
    ModelErrors,
    ProductSizes,
    UnitProducts,
)
from tests.collected import fed

COLUMNS = 3
ROWS = 40
LARGEST = 2**12  # of an entry of a row of whole numbers

_random = np.random.default_rng(0)
NUMBERS = _random.normal(size=(COLUMNS, ROWS)).round(1)  # with ties
WHOLE = _random.integers(-LARGEST, LARGEST + 1, (COLUMNS, ROWS)).astype(float)
BIG = WHOLE * 2**13 + 1  # sums of products are beyond 2^53
BLOCKS = _random.integers(0, 4, ROWS)
LABELS = 10.0 ** _random.integers(-9, 9, ROWS) * _random.normal(size=ROWS)
SCORES = _random.random(ROWS)
POSITIVE = _random.random(ROWS) < 0.3
UNITS = _random.integers(0, 9, ROWS)
WEIGHTS = WHOLE_UNIT // np.bincount(UNITS)[UNITS]

SQUARED = COLUMNS * LARGEST**2
MODEL = grid_model(np.array([0.3, -2.0, 1e-3]), SQUARED)
# Rows in few bytes, the first number of each not negative, the squares of the others, targets, and
# factors.
FEW_BYTES = np.vstack([np.abs(WHOLE[:1]), WHOLE[1:]]).astype(np.int16)
FACTORS = 1.0 - _random.random(ROWS)
WEIGHTED = FEW_BYTES, (WHOLE[1:] ** 2).sum(axis=0).astype(np.int32), LABELS, FACTORS
GRID_MODEL, CLASS_MODEL = GridModel(*MODEL, 2**10), ClassModel(*MODEL, 2**10)
COUNT_MODEL = CountModel(*MODEL, 2**10, 3.0)
CLASSES = (*WEIGHTED, WEIGHTS)
# The first column holds codes of four groups.
GROUPED, GROUPS = np.vstack([BLOCKS, NUMBERS[1:]]).astype(float), Grouping((0,), (4,))
EXPOSED = (*WEIGHTED, WEIGHTS, 0.1 + SCORES)


@dataclass(frozen=True, eq=False)
class Row:
    """A statistic: how it is made, the table it sees, and all that it tells."""

    make: Callable[[], Any]
    table: tuple[np.ndarray, ...]
    tell: Callable[[Any], list[Any]]


def plain(*values):
    return [np.asarray(value).tolist() for value in values]


def orders(ranked):
    return plain(ranked[0].ranks.size, *(pair_differences(each, ranked) for each in ranked))


in_equal_bins = partial(
    linear_counts, low=np.full(COLUMNS, -2.0), width=np.full(COLUMNS, 0.5), bins=8
)
STATISTICS = {
    "BlockMoments": Row(
        # Carries every few rows.
        partial(BlockMoments, 4, COLUMNS, 2**31 - 1),
        (BIG, np.ones(ROWS, dtype=np.int64), BLOCKS),
        lambda s: plain(s.value),
    ),
    "CellCounts": Row(
        partial(CellCounts, np.linspace(-1.0, 1.0, 9)),
        (NUMBERS[0], WEIGHTS),
        lambda s: plain(s.value),
    ),
    "ClassCells": Row(
        partial(ClassCells, np.linspace(0.0, 1.0, 9)),
        (np.stack([SCORES, POSITIVE]), WEIGHTS),
        lambda s: plain(*s.value),
    ),
    "ColumnCells": Row(
        partial(ColumnCells, [np.linspace(-i, i, 2 + i) for i in range(1, COLUMNS + 1)]),
        (NUMBERS, WEIGHTS),
        lambda s: plain(*s.value),
    ),
    "CentredProducts": Row(
        partial(CentredProducts, np.full(COLUMNS, -1.0), np.full(COLUMNS, 1.5)),
        (NUMBERS,),
        lambda s: plain(s.value),
    ),
    "CentredProducts, weighted": Row(
        partial(CentredProducts, np.full(COLUMNS, -1.0), np.full(COLUMNS, 1.5), WHOLE_UNIT),
        (NUMBERS, WEIGHTS),
        lambda s: plain(s.value),
    ),
    **{
        kind.__name__: Row(partial(kind, *arguments), CLASSES, lambda s: plain(s.value))
        for kind, *arguments in (
            (ClassBalance,),
            (ModelCurvature, CLASS_MODEL, WHOLE_UNIT),
            (UnitProducts, CLASS_MODEL, WHOLE_UNIT),
            (ScoreCounts, CLASS_MODEL, np.array([-1.0, 0.0, 2.0])),
        )
    },
    **{
        f"{kind.__name__}, exposed": Row(
            partial(kind, COUNT_MODEL, *arguments), EXPOSED, lambda s: plain(s.value)
        )
        for kind, *arguments in (
            (ClippedProducts, 2**24, WHOLE_UNIT),
            (ModelCurvature, WHOLE_UNIT),
            (ModelDeviances, 0.5, WHOLE_UNIT),
            (ModelErrors, 0.25, WHOLE_UNIT),
            (ProductSizes, np.array([0.5, 4.0, 1e6])),
        )
    },
    "ClippedProducts": Row(
        partial(ClippedProducts, GRID_MODEL, 2**24), WEIGHTED, lambda s: plain(s.value)
    ),
    "HeldOutErrors": Row(
        partial(HeldOutErrors, 0.5, 1.5), (NUMBERS[:2],), lambda s: plain(s.value)
    ),
    "HeldOutErrors, weighted": Row(
        partial(HeldOutErrors, 0.5, 1.5, WHOLE_UNIT),
        (NUMBERS[:2], WEIGHTS),
        lambda s: plain(s.value),
    ),
    # Blocks of a few rows.
    "DesignMoments": Row(partial(DesignMoments, COLUMNS, 2**52), (BIG,), lambda s: plain(s.value)),
    "DesignMoments, weighted": Row(
        partial(DesignMoments, COLUMNS, 2**52, WHOLE_UNIT),
        (BIG, WEIGHTS),
        lambda s: plain(s.value),
    ),
    "GroupSums": Row(
        partial(GroupSums, np.array([0.0, 0.25, 0.5, 1.0]), 2**30),
        (np.stack([SCORES, POSITIVE]), WEIGHTS),
        lambda s: plain(*s.value),
    ),
    "Histograms, of magnitudes": Row(
        partial(Histograms, magnitude_counts), (NUMBERS,), lambda s: plain(s.value(COLUMNS))
    ),
    "Histograms": Row(
        partial(Histograms, in_equal_bins),
        (NUMBERS, WEIGHTS),
        lambda s: plain(s.value(COLUMNS)),
    ),
    "GroupCounts": Row(
        partial(GroupCounts, [GROUPS]), (GROUPED, WEIGHTS), lambda s: plain(s.value)
    ),
    "GroupMoments": Row(
        partial(GroupMoments, [GROUPS], [1, 2], np.zeros(2), np.full(2, 1.5)),
        (GROUPED, WEIGHTS),
        lambda s: plain(s.value),
    ),
    "GroupedCells": Row(
        partial(GroupedCells, [GROUPS], [1, 2], [np.arange(-1.0, 1.0, 0.25)] * 2),
        (GROUPED, WEIGHTS),
        lambda s: plain(s.value),
    ),
    "KendallRows": Row(partial(KendallRows, COLUMNS), (NUMBERS,), lambda s: orders(s.value)),
    "ModelErrors": Row(partial(ModelErrors, GRID_MODEL, 0.25), WEIGHTED, lambda s: plain(s.value)),
    "ModelDeviances": Row(
        partial(ModelDeviances, COUNT_MODEL, 0.25), WEIGHTED, lambda s: plain(s.value)
    ),
    "ErrorSides": Row(partial(ErrorSides, GRID_MODEL, 0.5), WEIGHTED, lambda s: plain(s.value)),
    "ErrorSizes": Row(
        partial(ErrorSizes, GRID_MODEL, np.array([0.5, 4.0, 1e6])),
        WEIGHTED,
        lambda s: plain(s.value),
    ),
    "ProductSizes": Row(
        partial(ProductSizes, GRID_MODEL, np.array([0.5, 4.0, 1e6])),
        WEIGHTED,
        lambda s: plain(s.value),
    ),
    "UnitProducts, clipped": Row(
        partial(UnitProducts, GRID_MODEL, 1, 2**15), WEIGHTED, lambda s: plain(s.value)
    ),
}
ALL = pytest.mark.parametrize("row", STATISTICS.values(), ids=STATISTICS)


def seen(row, places):
    """Return a statistic that has seen some rows; what it was given is its own."""
    batch = tuple(column[..., places].copy() for column in row.table)
    return row.make().update(*batch)


@cache
def told_of_all(row):
    """Return what a statistic tells of the whole table."""
    return row.tell(seen(row, np.arange(ROWS)))


def test_every_statistic_is_here():
    found = set()
    for module in pkgutil.iter_modules(nolook.statistics.__path__):
        inside = vars(importlib.import_module(f"nolook.statistics.{module.name}")).values()
        own = [one for one in inside if isinstance(one, type) and hasattr(one, "update")]
        if module.name != "grid_models":  # what statistics are taken at
            assert any(one is not Statistic for one in own), f"{module.name} has no statistic"
        assert all(Statistic in one.__mro__ for one in own)
        found |= {one.__name__ for one in own if one not in {Statistic, WeightedTotal, BlockTotal}}
    found = {name for name in found if not name.startswith("_")}
    assert found == {name.partition(",")[0] for name in STATISTICS}


@ALL
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_parts_merged_in_any_order_are_the_whole_table(row, data):
    places = np.array(data.draw(st.permutations(range(ROWS))))
    cuts = sorted(data.draw(st.lists(st.integers(0, ROWS), max_size=6)))
    parts = [seen(row, part) for part in np.split(places, cuts)]
    whole = told_of_all(row)
    states = [pickle.dumps(part) for part in parts]
    merged = row.make()
    for i in data.draw(st.permutations(range(len(states)))):
        merged.merge(pickle.loads(states[i]))
    assert row.tell(merged) == whole
    # Two by two, and into one that has rows already.
    left = [pickle.loads(state) for state in states]
    while len(left) > 1:
        left.append(left.pop(0).merge(left.pop(0)))
    assert row.tell(left[0]) == whole


@ALL
def test_what_was_merged_stays_as_it_was(row):
    first, second, third = (seen(row, np.arange(i, ROWS, 3)) for i in range(3))
    before = row.tell(second)
    merged = row.make().merge(first).merge(second)
    told = row.tell(merged)
    merged.merge(third)
    assert row.tell(second) == before
    assert told != before
    assert row.tell(row.make().merge(first).merge(second)) == told


@ALL
def test_a_fresh_one_adds_nothing_and_takes_batches_as_they_come(row):
    whole = row.tell(seen(row, np.arange(ROWS)))
    empty = row.tell(row.make())
    assert empty != whole
    assert row.tell(row.make().merge(pickle.loads(pickle.dumps(row.make())))) == empty
    batches = [tuple(column[..., i : i + 7] for column in row.table) for i in range(0, ROWS, 7)]
    # One that shrinks rows in place is given copies.
    copies = [tuple(column.copy() for column in batch) for batch in batches]
    assert row.tell(fed(row.make(), copies).merge(row.make())) == whole
