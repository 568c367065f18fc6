"""Exact sums of whole numbers by group. What a row adds depends on that row alone."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from nolook._arrays import Array, Integers
from nolook._compiled import compiled

__all__ = ["MOMENT_UNIT", "add_cells", "add_moments", "add_weights", "group_numbers"]

#: One row's sums are whole multiples of 1/MOMENT_UNIT.
MOMENT_UNIT = 2**30
_BITS = 30

Weights = NDArray[np.int64] | None


def group_numbers(codes: Array, sizes: tuple[int, ...]) -> Integers:
    """Return the number of each row's group, from codes of shape (columns, rows).

    A column's last code stands for NaN and for any other number.
    """
    numbers = np.zeros(codes.shape[1], dtype=np.int64)
    for column, size in zip(codes, sizes, strict=True):
        _add_digit(numbers, column, size)
    return numbers


@compiled
def _add_digit(out, codes, size):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    for i in range(codes.size):
        known = 0 <= codes[i] < size  # not so for NaN
        out[i] = out[i] * size + (np.int64(codes[i]) if known else size - 1)


@compiled
def add_weights(out, groups, weights):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Add each row's weight, 1 without weights, to its group's entry of `out`."""
    for i in range(groups.size):
        out[groups[i]] += 1 if weights is None else weights[i]


@partial(compiled, error_model="numpy")
def add_moments(out, groups, values, weights, center, clip):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Add ``w (1/4, t, (t^2 - 1/2) / 4)`` with ``t = clip((x - center) / clip, -1, 1)``.

    To `out`, shape (groups, 3), in units of 1/MOMENT_UNIT, every number toward zero; weights add up
    to MOMENT_UNIT over the rows of a unit. NaN adds nothing.
    """
    unit = 1 << _BITS
    for i in range(groups.size):
        if np.isnan(values[i]):
            continue
        weight = unit if weights is None else weights[i]
        place = min(max((values[i] - center) / clip, -1.0), 1.0)
        first = np.int64(place * unit)
        square = ((first * first) >> _BITS) - (unit >> 1)
        second = (abs(square) >> 2) * weight >> _BITS
        moved = (abs(first) * weight) >> _BITS
        own = out[groups[i]]
        own[0] += weight >> 2
        own[1] += moved if first > 0 else -moved
        own[2] += second if square > 0 else -second


@partial(compiled, error_model="numpy")
def add_cells(out, groups, values, weights, ends):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Count values, shape (groups, cells): each cell up to its end, the last one all above.

    NaN is not counted.
    """
    inner = ends[:-1]
    for i in range(groups.size):
        if not np.isnan(values[i]):
            cell = np.searchsorted(inner, values[i])
            out[groups[i], cell] += 1 if weights is None else weights[i]
