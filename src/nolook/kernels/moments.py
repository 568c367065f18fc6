"""Rows as bounded integer vectors.

A sum of floating-point products depends on the order of addition, so its sensitivity is not the one
on paper. Here every row first becomes a vector of integers whose norm is bounded *in integers*; all
sums of products are then exact, whatever the batches, the BLAS or the number of threads.
"""

from __future__ import annotations

import numpy as np

from nolook._arrays import Array
from nolook._compiled import compiled

__all__ = ["UNIT", "integer_rows", "shrink_rows", "squared_norms", "standard_rows"]


#: Standardised values are whole multiples of 1/UNIT.
UNIT = 2**14


@compiled
def standard_rows(columns, start, center, scale, low, high, shift, out):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Whole units of 1/UNIT, clipped, less a shift; NaN is 0 before."""
    for j in range(columns.shape[0]):
        part = out[j]
        column = columns[j, start : start + part.size]
        middle, width, least, most, less = center[j], scale[j], low[j], high[j], shift[j]
        for i in range(part.size):
            value = (column[i] - middle) / width * UNIT
            value = value if value == value else 0.0  # noqa: PLR0124
            part[i] = np.trunc(min(max(value, least), most)) - less


def integer_rows(columns: Array, center: Array, scale: Array, low: Array, high: Array) -> Array:
    """Centre, scale, clip to ``[low, high]`` and truncate toward zero to whole units of 1/UNIT.

    All of shape (columns,): centres finite, scales finite and above 0, ``low <= 0 <= high`` finite,
    in scales. NaN becomes zero, infinities an end.
    """
    rows = np.empty(columns.shape)
    standard_rows(columns, 0, center, scale, UNIT * low, UNIT * high, np.zeros(len(low)), rows)
    return rows


def squared_norms(rows: Array) -> Array:
    """Return the exact squared norm, below 2^53, of each integer row of ``(columns, rows)``."""
    total = np.zeros(rows.shape[1])
    square = np.empty_like(total)
    for row in rows:
        np.multiply(row, row, out=square)
        total += square
    return total


def shrink_rows(rows: Array, squared_radius: int) -> None:
    """Shrink, in place, each integer row to an exact squared norm of at most ``squared_radius``.

    The radius is below 2^53, as are the norms; rows within it stay as they are.
    """
    norms = squared_norms(rows)
    far = np.flatnonzero(norms > squared_radius)
    slack = 1.0
    while far.size:
        shrunk = rows[:, far] * (slack * np.sqrt(squared_radius / norms[far]))
        np.trunc(shrunk, out=shrunk)
        after = squared_norms(shrunk)
        done = after <= squared_radius
        rows[:, far[done]] = shrunk[:, done]
        far = far[~done]
        # Only a rounding of the factor can leave a row outside; a slightly smaller factor ends it.
        slack *= 1.0 - 2.0**-30
