"""Rows (1, x) as integer vectors whose norm is bounded in integers, however large the cells."""

from __future__ import annotations

import math

import numpy as np

from nolook._arrays import Array
from nolook.kernels.moments import shrink_rows, squared_norms

__all__ = ["bounded_rows"]


def bounded_rows(
    columns: Array,
    center: Array,
    scale: Array,
    low: Array,
    high: Array,
    squared_radius: int,
    unit: int,
) -> Array:
    """Standardise columns, put a 1 before them, and shrink each row as a whole to a norm.

    Centres are finite, scales finite and above 0. NaN becomes zero, and values are first clipped to
    ``[low, high]``, in scales, which may be infinite. The
    result has shape (columns + 1, rows): whole multiples of 1/`unit`, a power of two, truncated
    toward zero, whose squares add up to at most `squared_radius` a row, in integers.
    """
    rows = np.empty((columns.shape[0] + 1, columns.shape[1]))
    rows[0] = 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        np.subtract(columns, center[:, None], out=rows[1:])
        rows[1:] /= scale[:, None]
        np.clip(rows[1:], low[:, None], high[:, None], out=rows[1:])
        np.nan_to_num(rows, copy=False, nan=0.0)
        far = np.flatnonzero(~(squared_norms(rows) <= squared_radius / unit**2))
        # Relative to its largest entry first, so that no norm overflows.
        outside = rows[:, far]
        outside /= np.abs(outside).max(axis=0, initial=0.0)
        outside *= math.sqrt(squared_radius) / np.sqrt(squared_norms(outside))
        rows *= unit
    rows[:, far] = outside
    np.trunc(rows, out=rows)
    shrink_rows(rows, squared_radius)
    return rows
