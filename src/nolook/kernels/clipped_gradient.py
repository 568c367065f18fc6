"""Clipped residuals and their products with the rows, in one pass over a compact copy of the rows.

All sums are of whole numbers below 2^53, so they are exact in any order, and the compiler may
choose one.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from nolook.kernels.weights import WEIGHTED_ROWS, joined, split_products

__all__ = [
    "add_clipped_gradient",
    "add_products",
    "add_weighted_products",
    "cached_rows",
    "project",
    "weighted_gradient",
]

Vector = NDArray[np.float64]

# Bytes of rows that are still in the cache when they are read for the second time.
_CACHED_BYTES = 1 << 16


@njit(nogil=True, cache=True)
def project(rows, theta, start, out):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Set `out` to theta' rows of the block that begins at `start`, four columns at a time."""
    stop = start + out.size
    many = rows.shape[0] // 4 * 4
    out[:] = 0.0
    for j in range(0, many, 4):
        t0, t1, t2, t3 = theta[j], theta[j + 1], theta[j + 2], theta[j + 3]
        c0, c1 = rows[j, start:stop], rows[j + 1, start:stop]
        c2, c3 = rows[j + 2, start:stop], rows[j + 3, start:stop]
        for i in range(out.size):
            left = t0 * np.float64(c0[i]) + t1 * np.float64(c1[i])
            out[i] += left + (t2 * np.float64(c2[i]) + t3 * np.float64(c3[i]))
    for j in range(many, rows.shape[0]):
        column = rows[j, start:stop]
        for i in range(out.size):
            out[i] += theta[j] * np.float64(column[i])


@njit(nogil=True, cache=True)
def _clip_residuals(targets, products, shrink, grid, bound):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Replace products by whole clipped residuals; each depends on its own row alone."""
    for i in range(products.size):
        residual = (targets[i] - products[i] * shrink) * grid
        products[i] = np.trunc(min(max(residual, -bound), bound))


@njit(nogil=True, cache=True, fastmath={"reassoc"})
def add_products(rows, residuals, start, out):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Add the products of the block's rows with its residuals to `out`."""
    stop = start + residuals.size
    many = rows.shape[0] // 4 * 4
    for j in range(0, many, 4):
        c0, c1 = rows[j, start:stop], rows[j + 1, start:stop]
        c2, c3 = rows[j + 2, start:stop], rows[j + 3, start:stop]
        s0 = s1 = s2 = s3 = 0.0
        for i in range(residuals.size):
            residual = residuals[i]
            s0 += residual * np.float64(c0[i])
            s1 += residual * np.float64(c1[i])
            s2 += residual * np.float64(c2[i])
            s3 += residual * np.float64(c3[i])
        out[j] += s0
        out[j + 1] += s1
        out[j + 2] += s2
        out[j + 3] += s3
    for j in range(many, rows.shape[0]):
        column = rows[j, start:stop]
        total = 0.0
        for i in range(residuals.size):
            total += residuals[i] * np.float64(column[i])
        out[j] += total


@njit(nogil=True, cache=True)
def add_weighted_products(rows, whole, weights, start, low, high):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Add the block's products with whole numbers and weights, if any, to ``low + 2^24 high``.

    Replaces the whole numbers. Sums of a block must stay within 2^53; see `split_products`.
    """
    sums = np.zeros(rows.shape[0])
    if weights is not None:
        upper = np.empty(whole.size)
        split_products(whole, weights[start : start + whole.size], upper)
        add_products(rows, upper, start, sums)
        for j in range(sums.size):
            high[j] += np.int64(sums[j])
            sums[j] = 0.0
    add_products(rows, whole, start, sums)
    for j in range(sums.size):
        low[j] += np.int64(sums[j])


@njit(nogil=True, cache=True)
def _gradient(rows, targets, theta, shrink, grid, bound, block, out):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    buffer = np.empty(block)
    for start in range(0, targets.size, block):
        stop = min(start + block, targets.size)
        residuals = buffer[: stop - start]
        project(rows, theta, start, residuals)
        _clip_residuals(targets[start:stop], residuals, shrink, grid, bound)
        add_products(rows, residuals, start, out)


def add_clipped_gradient(
    rows: NDArray[np.int16],
    targets: Vector,
    theta: Vector,
    shrink: float,
    grid: float,
    bound: float,
    out: Vector,
) -> None:
    """Add ``sum of z trunc(grid clip(y - shrink theta'z))`` over rows z to `out`.

    Targets are finite. Whole numbers: `rows` (C-contiguous; columns after the last target hold no
    rows), `theta`, whose norm times any row's is at most 2^52, `bound`, the clip in units of
    1/grid, and `out`, whose sums must stay within 2^53. Powers of two: `shrink`, from theta'z to
    the targets' unit, and `grid`.
    """
    _gradient(rows, targets, theta, shrink, grid, bound, cached_rows(rows), out)


@njit(nogil=True, cache=True)
def _weighted(rows, targets, theta, shrink, grid, bound, weights, block, low, high):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202, PLR0913, PLR0917
    buffer = np.empty(block)
    for start in range(0, targets.size, block):
        stop = min(start + block, targets.size)
        residuals = buffer[: stop - start]
        project(rows, theta, start, residuals)
        _clip_residuals(targets[start:stop], residuals, shrink, grid, bound)
        add_weighted_products(rows, residuals, weights, start, low, high)


def weighted_gradient(
    rows: NDArray[np.int16],
    targets: Vector,
    theta: Vector,
    shrink: float,
    grid: float,
    bound: float,
    weights: NDArray[np.int32],
) -> NDArray[np.object_]:
    """Return ``sum of w z trunc(grid clip(y - shrink theta'z))`` over rows z, Python ints.

    Arguments are those of :func:`add_clipped_gradient`; w, a row's weight, is at most 2^30. There
    are at most 2^20 rows, and the bound is at most 2^20.
    """
    low: NDArray[np.int64] = np.zeros(len(rows), dtype=np.int64)
    high: NDArray[np.int64] = np.zeros(len(rows), dtype=np.int64)
    block = min(cached_rows(rows), WEIGHTED_ROWS)
    _weighted(rows, targets, theta, shrink, grid, bound, weights, block, low, high)
    return joined(low, high)


def cached_rows(rows: NDArray[np.int16]) -> int:
    """Return how many rows to work on at a time."""
    return max(256, _CACHED_BYTES // rows.itemsize // len(rows))
