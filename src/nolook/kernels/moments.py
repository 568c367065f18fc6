"""Rows as bounded integer vectors, and exact sums of their products.

A sum of floating-point products depends on the order of the addition, so its sensitivity is not the
one on paper. Here every row first becomes a vector of integers whose norm is bounded *in integers*;
all sums of products are then exact, whatever the batches, the BLAS or the number of threads.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "UNIT",
    "exact_block_rows",
    "integer_gram",
    "integer_rows",
    "shrink_rows",
    "squared_norms",
]

#: Grid of the standardised values: one unit of scale is 2^14 steps.
UNIT = 2**14
_EXACT = 2**53


def integer_rows(
    columns: NDArray[np.float64],
    center: NDArray[np.float64],
    scale: NDArray[np.float64],
    limit: float,
) -> NDArray[np.float64]:
    """Centre, scale, clip to ``[-limit, limit]`` and truncate toward zero to whole steps of 1/UNIT.

    Parameters
    ----------
    columns : ndarray of shape (columns, rows)
        Raw values; NaN becomes zero, infinities the limit.
    center, scale : ndarray of shape (columns,)
        Finite; scales positive.
    limit : float
        Largest standardised value, in scales.

    Returns
    -------
    ndarray of shape (columns, rows), float64
        Whole numbers of at most ``limit * UNIT`` in size.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        rows = columns - center[:, None]
        rows /= scale[:, None]
        rows *= UNIT
    bound = np.floor(limit * UNIT)
    np.clip(rows, -bound, bound, out=rows)
    np.trunc(rows, out=rows)
    np.nan_to_num(rows, copy=False, nan=0.0)
    return rows


def squared_norms(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Exact squared norm of each integer row.

    Parameters
    ----------
    rows : ndarray of shape (columns, rows)
        Whole numbers whose squares add up to less than 2^53 a row.

    Returns
    -------
    ndarray of shape (rows,)
    """
    total = np.zeros(rows.shape[1])
    square = np.empty_like(total)
    for row in rows:
        np.multiply(row, row, out=square)
        total += square
    return total


def shrink_rows(rows: NDArray[np.float64], squared_radius: int) -> None:
    """Shrink, in place, each integer row to a squared norm of at most ``squared_radius``.

    Parameters
    ----------
    rows : ndarray of shape (columns, rows)
        Whole numbers; see :func:`squared_norms`. Rows within the radius stay as they are.
    squared_radius : int
        Bound on the exact squared norm of each row, below 2^53.
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


def exact_block_rows(squared_radius: int) -> int:
    """Rows whose products may be added in float64 with every partial sum a whole number <= 2^53.

    Each product is at most ``max(UNIT**2, squared_radius)`` in size (Cauchy-Schwarz).
    """
    return max(1, _EXACT // max(UNIT**2, squared_radius))


def integer_gram(rows: NDArray[np.float64]) -> NDArray[np.int64]:
    """Exact ``Z Z'`` of integer rows with a leading constant row of ``UNIT``.

    Parameters
    ----------
    rows : ndarray of shape (columns, rows)
        At most :func:`exact_block_rows` rows, each within its squared radius.

    Returns
    -------
    ndarray of shape (columns + 1, columns + 1), int64
    """
    size = rows.shape[0] + 1
    gram = np.empty((size, size))
    gram[1:, 1:] = rows @ rows.T
    gram[0, 1:] = gram[1:, 0] = UNIT * rows.sum(axis=1)
    gram[0, 0] = UNIT**2 * rows.shape[1]
    return gram.astype(np.int64)
