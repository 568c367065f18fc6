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


class Curves(NamedTuple):
    """Functions of some columns, all of it whole numbers of at most 2^19.

    Functions ``first[i]`` to ``first[i + 1]`` are those of ``columns[i]``, constant beyond its
    outer knots.
    """

    columns: NDArray[np.int64]  # shape (curved,)
    first: NDArray[np.int64]  # shape (curved + 1,)
    knots: Array  # increasing, then infinite, shape (curved, most knots)
    values: Array  # at the knots, shape (functions, most knots)


@compiled
def add_curves(rows, shift, columns, first, knots, values):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Set the last rows of `rows` to functions of the first ones; all are less a shift.

    Arguments after `shift`, shape (rows of `rows`,), are those of :class:`Curves`.
    """
    lines = rows.shape[0] - values.shape[0]
    for place in range(columns.size):
        column, marks = rows[columns[place]], knots[place]
        least, less = marks[0], shift[columns[place]]
        for i in range(rows.shape[1]):
            at = max(column[i] + less, least)
            cell = 0
            for k in range(1, marks.size):
                cell += at >= marks[k]
            last = cell + 1 == marks.size or marks[cell + 1] == np.inf
            left = 0.0 if last else at - marks[cell]
            width = 1.0 if last else marks[cell + 1] - marks[cell]
            for f in range(first[place], first[place + 1]):
                low, high = values[f, cell], values[f, cell if last else cell + 1]
                found = np.trunc((low * (width - left) + high * left) / width)
                rows[lines + f, i] = found - shift[lines + f]
