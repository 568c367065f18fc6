"""Clipped residuals and their products with the rows, in one pass over a compact copy of the rows.

All sums are of whole numbers below 2^53, so they are exact in any order: the compiler may add
them up in any way it likes.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["add_clipped_gradient"]

# Bytes of rows that are still in the cache when they are read for the second time.
_CACHED_BYTES = 1 << 17


@njit(nogil=True, cache=True)
def _project(rows, theta, start, out):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Add theta' rows of the block that begins at `start` to `out`."""
    for j in range(rows.shape[0]):
        weight = theta[j]
        column = rows[j, start : start + out.size]
        for i in range(out.size):
            out[i] += weight * np.float64(column[i])


@njit(nogil=True, cache=True)
def _clip_residuals(labels, products, shrink, grid, bound):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Replace products by whole clipped residuals; each depends on its own row alone."""
    for i in range(products.size):
        residual = (labels[i] - products[i] * shrink) * grid
        products[i] = np.trunc(min(max(residual, -bound), bound))


@njit(nogil=True, cache=True, fastmath={"reassoc"})
def _dot(column, residuals):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    total = 0.0
    for i in range(residuals.size):
        total += residuals[i] * np.float64(column[i])
    return total


@njit(nogil=True, cache=True)
def _gradient(rows, labels, theta, shrink, grid, bound, block, out):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    buffer = np.empty(block)
    for start in range(0, rows.shape[1], block):
        stop = min(start + block, rows.shape[1])
        residuals = buffer[: stop - start]
        residuals[:] = 0.0
        _project(rows, theta, start, residuals)
        _clip_residuals(labels[start:stop], residuals, shrink, grid, bound)
        for j in range(rows.shape[0]):
            out[j] += _dot(rows[j, start:stop], residuals)


def add_clipped_gradient(
    rows: NDArray[np.int16],
    labels: NDArray[np.float64],
    theta: NDArray[np.float64],
    shrink: float,
    grid: float,
    bound: float,
    out: NDArray[np.float64],
) -> None:
    """Add ``sum of z trunc(grid clip(y - shrink theta'z))`` over rows z to `out`.

    Parameters
    ----------
    rows : ndarray of int16, shape (p, rows)
    labels : ndarray of shape (rows,)
        Finite.
    theta : ndarray of shape (p,)
        Whole numbers; its norm times that of any row is at most 2^52.
    shrink, grid : float
        Powers of two; `shrink` takes theta'z to the labels' unit, `grid` that to steps.
    bound : float
        A whole number: residuals are clipped to so many steps.
    out : ndarray of shape (p,)
        Whole numbers; all sums must stay within 2^53.
    """
    block = max(256, _CACHED_BYTES // rows.itemsize // len(rows))
    _gradient(rows, labels, theta, shrink, grid, bound, block, out)
