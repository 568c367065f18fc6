from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nolook._unit import WHOLE
from nolook.statistics.centred_products import (
    PRODUCTS_SENSITIVITY,
    PRODUCTS_UNIT,
    CentredProducts,
)


def scores(rows, low=0.0, high=1.0):
    """Score a table of rows, the target last, all columns with the same range."""
    block = np.array(rows, dtype=float).T if len(rows) else np.empty((2, 0))
    ends = (np.full(len(block), low), np.full(len(block), high))
    return CentredProducts(*ends).update(block).value.tolist()


def by_definition(rows):
    """Score rows of numbers that are whole steps of their range."""
    n = len(rows)
    steps = [[Fraction(cell) * PRODUCTS_UNIT for cell in row] for row in rows]
    means = [sum(column) / n for column in zip(*steps, strict=True)]
    target = len(means) - 1
    products = (
        sum((row[j] - means[j]) * (row[target] - means[target]) for row in steps)
        for j in range(target)
    )
    return [math.floor(abs(product)) for product in products]


cell = st.integers(0, 8).map(lambda k: k / 8)
row = st.lists(cell, min_size=3, max_size=3)
tables = st.lists(row, min_size=1, max_size=30)


@given(tables)
def test_scores_are_those_of_the_definition(rows):
    assert scores(rows) == by_definition(rows)


@given(tables, row)
def test_a_row_moves_no_score_by_more_than_the_sensitivity(rows, more):
    before, after = scores(rows), scores([*rows, more])
    moved = max(abs(a - b) for a, b in zip(before, after, strict=True))
    assert moved <= PRODUCTS_SENSITIVITY


def test_every_small_table_keeps_the_sensitivity_and_large_ones_come_near_it():
    cells = list(itertools.product((0.0, 0.5, 1.0), repeat=2))
    for n in range(5):
        for rows in itertools.combinations_with_replacement(cells, n):
            before = scores(rows)
            for row in cells:
                assert abs(scores([*rows, row])[0] - before[0]) <= PRODUCTS_SENSITIVITY
    rows = [(0.0, 0.0)] * 1000
    assert scores([*rows, (1.0, 1.0)])[0] - scores(rows)[0] > 0.99 * PRODUCTS_SENSITIVITY


def test_numbers_are_clipped_to_their_range_whatever_its_size():
    generator = np.random.default_rng(0)
    unit = generator.integers(0, 2, (50, 3)).astype(float)
    expected = scores(unit)
    for low, high in ((-1.7e308, 1.7e308), (0.0, 5e-324), (1e300, 2e300), (-3.0, 7.0)):
        wild = np.where(unit > 0.0, 1.7976931348623157e308, -1.7976931348623157e308)
        assert scores(wild, low, high) == (expected if high / 2 > low / 2 else [0, 0])


def test_a_range_without_width_and_a_constant_column_score_nothing():
    generator = np.random.default_rng(0)
    rows = generator.uniform(size=(40, 3))
    ends = (np.array([0.5, 0.0, 0.0]), np.array([0.5, 1.0, 1.0]))
    first, second = CentredProducts(*ends).update(rows.T).value
    assert first == 0
    assert second > 0
    rows[:, 1] = 0.3
    assert scores(rows)[1] == 0
    assert scores([]) == [0]


@pytest.mark.parametrize("length", [1, 3, 1000])
def test_a_unit_reaches_the_sensitivity_of_a_row(length):
    # Many units at one end of both ranges, and one at the other.
    many = np.full((2, 2000), -1.0), np.full(2000, WHOLE)
    more = np.full((2, length), 1.0), np.full(length, WHOLE // length)
    ends = np.full(2, 1.0)
    found = CentredProducts(-ends, ends, WHOLE).update(*many)
    (low,) = found.value
    (high,) = found.update(*more).value
    assert 0.999 * PRODUCTS_SENSITIVITY < high - low <= PRODUCTS_SENSITIVITY


def test_rows_of_equal_weight_score_as_rows_do():
    rows = np.random.default_rng(0).normal(size=(3, 50))
    ends = np.full(3, -1.0), np.full(3, 1.0)
    weighted = CentredProducts(*ends, WHOLE).update(rows, np.full(50, WHOLE))
    assert np.array_equal(weighted.value, CentredProducts(*ends).update(rows).value)
