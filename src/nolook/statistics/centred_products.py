"""Centred products of features and a label, as exact integers one record moves little.

For u and v, a feature and the label clipped to a range each and scaled to width 1, it is
``|sum (u_i - mean u)(v_i - mean v)|`` over the rows; 0 for a range of no width.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

__all__ = ["PRODUCTS_SENSITIVITY", "PRODUCTS_UNIT", "centred_products"]

#: Numbers are whole steps of 1/PRODUCTS_UNIT of their range.
PRODUCTS_UNIT = 2**16
#: Largest change of a score when one record is added or removed, in its own steps.
PRODUCTS_SENSITIVITY = PRODUCTS_UNIT**2

# Rows whose sum of products, at most 2^32 each, stays below 2^53 and so is exact in float64.
_EXACT_ROWS = 2**20
# Scores of more than 2^32 rows may exceed it; a cut never moves more than what it cuts.
_LARGEST_SCORE = 2**63 - 1

Vector = NDArray[np.float64]


def centred_products(batches: Iterable[Vector], low: Vector, high: Vector) -> NDArray[np.int64]:
    """Score every column by its product with the last one.

    Parameters
    ----------
    batches : iterable of ndarray of shape (columns, rows)
        Finite numbers.
    low, high : ndarray of shape (columns,)
        The ranges; finite, ``low <= high``.

    Returns
    -------
    ndarray of int64, shape (columns - 1,)
        The exact score, rounded down once, in steps of 1/PRODUCTS_UNIT^2; at most 2^63 - 1.
    """
    rows = 0
    sums = [0] * len(low)
    products = [0] * (len(low) - 1)
    for batch in batches:
        for start in range(0, batch.shape[1], _EXACT_ROWS):
            steps = _whole_steps(batch[:, start : start + _EXACT_ROWS], low, high)
            rows += steps.shape[1]
            sums = _add(sums, steps.sum(axis=1))
            products = _add(products, steps[:-1] @ steps[-1])
    if rows == 0:
        return np.zeros(len(products), dtype=np.int64)
    # Python integers: these may exceed 64 bits.
    centred = [rows * p - s * sums[-1] for p, s in zip(products, sums, strict=False)]
    return np.array([min(abs(c) // rows, _LARGEST_SCORE) for c in centred], dtype=np.int64)


def _whole_steps(batch: Vector, low: Vector, high: Vector) -> Vector:
    """Return each number's place in its range, a whole number from 0 to PRODUCTS_UNIT."""
    # Halves, since the width of a range may exceed the largest double.
    width = (high / 2 - low / 2)[:, None]
    places = batch.clip(low[:, None], high[:, None]) / 2 - low[:, None] / 2
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        places = np.where(width > 0.0, places / width, 0.0)
    steps: Vector = np.floor(PRODUCTS_UNIT * places).clip(0.0, PRODUCTS_UNIT)
    return steps


def _add(totals: list[int], more: Vector) -> list[int]:
    return [total + int(part) for total, part in zip(totals, more.tolist(), strict=True)]
