"""Sums of held-out errors, against slow ones in whole numbers."""

from __future__ import annotations

from fractions import Fraction
from math import trunc

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nolook.statistics.held_out import (
    COUNT_STEPS,
    DEVIATION_STEPS,
    HeldOutErrors,
    held_out_sensitivity,
)
from nolook.statistics.weighted_rows import ERROR_UNIT, LARGEST_ERROR

LARGEST = LARGEST_ERROR * ERROR_UNIT
#: Whole multiples of a sixteenth, so that quotients are exact; some far away.
NUMBERS = st.one_of(st.integers(-100, 100), st.integers(-(2**40), 2**40)).map(lambda n: n / 16)


def slow(predicted, targets, center, scale):
    total = [0, 0, 0, 0]
    for p, y in zip(predicted, targets, strict=True):
        steps = []
        for other in (center, p):
            away = trunc((Fraction(y) - Fraction(other)) / Fraction(scale) * ERROR_UNIT)
            steps.append(max(-LARGEST, min(LARGEST, away)))
        row = (COUNT_STEPS, DEVIATION_STEPS * steps[0], steps[0] ** 2, steps[1] ** 2)
        total = [one + more for one, more in zip(total, row, strict=True)]
    return total


@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=20), NUMBERS)
def test_sums_are_those_of_each_row(rows, center):
    numbers = np.array(rows, dtype=np.float64).reshape(-1, 2).T
    found = HeldOutErrors(center, 0.5).update(np.ascontiguousarray(numbers)).value
    assert found.tolist() == slow(*numbers, center, 0.5)


def test_no_row_moves_them_further_than_their_sensitivity_and_one_moves_them_as_far():
    ends = [-np.inf, -1e308, -1.0, 0.0, 5e-324, 1.0, 1e308, np.inf, np.nan]
    most = 0
    for scale in (5e-324, 1.0, 1e308):
        for p in ends:
            for y in ends:
                row = HeldOutErrors(0.0, scale).update(np.array([[p], [y]])).value
                most = max(most, sum(int(entry) ** 2 for entry in row))
    assert (held_out_sensitivity() - 1) ** 2 <= most <= held_out_sensitivity() ** 2
