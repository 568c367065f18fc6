"""Piecewise linear functions of standard columns, in whole numbers.

A value's cell is found by comparison with knots, and between two knots the function is a product of
whole numbers below 2^53, divided once and truncated: it depends on the value only, to the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nolook._arrays import Array
from nolook._compiled import compiled

__all__ = ["Curves", "add_curves"]


# A tuple: compiled functions take its parts.
class Curves(NamedTuple):
    """Functions of some columns, all of it whole numbers of at most 2^19.

    Functions ``first[i]`` to ``first[i + 1]`` are those of ``columns[i]``, constant beyond its
    outer knots.
    """

    columns: NDArray[np.int64]  # shape (curved,)
    first: NDArray[np.int64]  # shape (curved + 1,)
    knots: Array  # increasing, two or more, then infinite, shape (curved, most knots)
    values: Array  # at the knots, shape (functions, most knots)


@compiled
def add_curves(rows, shift, columns, first, knots, values):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Set the last rows of `rows` to functions of the first ones; all are less a shift.

    Arguments after `shift`, shape (rows of `rows`,), are those of :class:`Curves`.
    """
    lines, at = rows.shape[0] - values.shape[0], np.empty(rows.shape[1])
    cell = np.empty(at.size, dtype=np.int64)
    for place in range(columns.size):
        column, marks, less = rows[columns[place]], knots[place], shift[columns[place]]
        last = np.isfinite(marks).sum() - 1
        cell[:] = 0
        for i in range(at.size):
            at[i] = min(max(column[i] + less, marks[0]), marks[last])
        for k in range(1, last):
            for i in range(at.size):
                cell[i] += at[i] >= marks[k]
        for f in range(first[place], first[place + 1]):
            heights = values[f]
            for i in range(at.size):
                own = cell[i]
                left, width = at[i] - marks[own], marks[own + 1] - marks[own]
                found = heights[own] * (width - left) + heights[own + 1] * left
                rows[lines + f, i] = np.trunc(found / width) - shift[lines + f]
