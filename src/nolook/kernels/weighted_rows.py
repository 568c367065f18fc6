"""Rows (1, x) and their targets, shrunk together to a norm: the rows of weighted least squares."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from nolook.kernels.moments import UNIT, shrink_rows, squared_norms

__all__ = ["weighted_rows"]

Array = NDArray[np.float64]


def weighted_rows(
    rows: Array, targets: Array, squared_radius: int, unit: int
) -> tuple[Array, Array]:
    """Put a 1 before rows and multiply each, and its target, by ``f = min(1, B / |(1, x)|)``.

    `rows`, shape (columns, rows), are those of :func:`integer_rows`; targets are finite; B is
    ``sqrt(squared_radius) / unit``. Returns whole multiples of 1/`unit`, a power of two, truncated
    toward zero, shape (columns + 1, rows), whose squares add up to at most `squared_radius` a row,
    in integers; and the targets times f. Both depend on their own row alone.
    """
    bound = math.sqrt(squared_radius) / unit
    factor = squared_norms(rows)
    factor += float(UNIT**2)
    np.sqrt(factor, out=factor)
    np.divide(bound * UNIT, factor, out=factor)
    np.minimum(factor, 1.0, out=factor)
    weighted = np.empty((len(rows) + 1, rows.shape[1]))
    np.multiply(factor, float(unit), out=weighted[0])
    np.multiply(rows, weighted[0] / UNIT, out=weighted[1:])
    np.trunc(weighted, out=weighted)
    shrink_rows(weighted, squared_radius)
    return weighted, factor * targets
