from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nolook.statistics.group_sums import (
    GROUP_COUNTS_SENSITIVITY,
    GROUP_UNIT,
    GroupSums,
    excess_sensitivities,
)
from tests.collected import fed

BORDERS = np.array([0.0, 0.25, 0.25 + 2.0**-10, 0.75, 1.0])


def sums(rows, borders=BORDERS):
    numbers = np.array(rows, dtype=float).reshape(-1, 2).T
    return np.stack(GroupSums(borders).update(numbers).value)


def weighted(rows, whole):
    """Sum rows with weights."""
    numbers = np.array([row[:2] for row in rows], dtype=float).reshape(-1, 2).T
    weights = np.array([weight for *_, weight in rows], dtype=np.int64)
    return np.stack(GroupSums(BORDERS, whole).update(numbers, weights).value)


def by_definition(rows, borders=BORDERS):
    """Sum in rational numbers, one row at a time."""
    found = [[0] * (len(borders) - 1) for _ in range(3)]
    for p, positive in rows:
        inside = min(max(p, 0.0), 1.0)
        group = next(i for i, right in enumerate(borders[1:]) if inside <= right)
        found[0 if positive else 1][group] += 1
        found[2][group] += math.floor((Fraction(inside) - Fraction(borders[group])) * GROUP_UNIT)
    return found


probability = st.one_of(
    st.floats(-0.5, 1.5), st.sampled_from(BORDERS.tolist()), st.integers(0, 8).map(lambda k: k / 8)
)
table = st.lists(st.tuples(probability, st.booleans()), max_size=30)


@given(table)
def test_sums_are_those_of_the_definition(rows):
    assert sums(rows).tolist() == by_definition(rows)


@given(table, st.tuples(st.floats(allow_infinity=True, allow_nan=True), st.booleans()))
def test_any_row_changes_one_group_by_the_sensitivity_at_most(rows, row):
    change = sums([*rows, row]) - sums(rows)
    group = np.flatnonzero(change.any(axis=0))
    assert len(group) == 1
    assert change[:2].sum() == np.abs(change[:2]).sum() == GROUP_COUNTS_SENSITIVITY
    assert 0 <= change[2, group[0]] <= excess_sensitivities(BORDERS)[group[0]]


@given(
    table,
    st.lists(st.tuples(probability, st.booleans()), min_size=1, max_size=30),
    st.integers(1, 40),
)
def test_the_rows_of_a_unit_share_what_a_row_may_change(rows, unit, more):
    """Over all groups together: the noise of each is made for a row of its own."""
    whole = 2**30
    share = whole // (len(unit) * more)
    others = [(*row, whole // 3) for row in rows]
    change = weighted(others + [(*row, share) for row in unit] * more, whole)
    change -= weighted(others, whole)
    assert (change >= 0).all()
    counts, excess = (change[0] + change[1]).tolist(), change[2].tolist()
    widths = excess_sensitivities(BORDERS).tolist()
    for own, moved, width in zip(counts, excess, widths, strict=True):
        assert moved * whole <= own * width
    assert whole - len(unit) * more < sum(counts) <= whole


@given(table)
def test_a_whole_weight_is_a_row(rows):
    whole = 2**30
    counts, excess = np.split(weighted([(*row, whole) for row in rows], whole), [2])
    assert [*(counts // whole).tolist(), *excess.tolist()] == by_definition(rows)
    assert not (counts % whole).any()


def test_the_sensitivity_is_reached():
    for group, right in enumerate(BORDERS[1:]):
        change = sums([(right, True)])
        assert change[2, group] == excess_sensitivities(BORDERS)[group]


@pytest.mark.parametrize("ulps", [-1, 0, 1])
def test_groups_are_half_open(ulps):
    for border, next_one in itertools.pairwise(BORDERS[1:]):
        p = border if ulps == 0 else math.nextafter(border, ulps * math.inf)
        expected = np.searchsorted(BORDERS[1:], next_one if ulps == 1 else border)
        assert sums([(p, True)])[0, expected] == 1


def test_sums_beyond_float64_stay_exact():
    rows = 2**23 + 1  # odd, so that no double is the sum
    blocks = [
        (np.stack([np.full(part, 1.0 - 2.0**-30), np.zeros(part)]),)
        for part in (rows // 2, rows - rows // 2)
    ]
    _, negatives, excess = fed(GroupSums(np.array([0.0, 1.0])), blocks).value
    assert negatives.tolist() == [rows]
    assert excess.tolist() == [rows * (GROUP_UNIT - 1)]
    assert excess[0] != float(excess[0])
