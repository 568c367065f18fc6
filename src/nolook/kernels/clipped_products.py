"""Residuals of weighted rows, and their products with the rows, each clipped to a norm.

The rows are a compact copy, whole numbers of 16 bits. Sums are of whole numbers below 2^53, so they
are exact in any order; everything else depends on its own row alone, to the last bit: ``theta'u``
is exact, and a residual is one rounding.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from nolook.kernels.clipped_gradient import add_weighted_products, cached_rows, project
from nolook.kernels.weights import WEIGHTED_ROWS, joined

__all__ = ["clipped_products", "residuals"]

Vector = NDArray[np.float64]
Rows = NDArray[np.int16]

# Room for the rounding of a norm and of a quotient.
_ROOM = 1.0 - 2.0**-40


@njit(nogil=True, cache=True)
def _residuals(rows, targets, theta, shrink, block, out):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    for start in range(0, targets.size, block):
        stop = min(start + block, targets.size)
        project(rows, theta, start, out[start:stop])
        for i in range(start, stop):
            out[i] = targets[i] - out[i] * shrink


@njit(nogil=True, cache=True)
def _clip(targets, first, squares, products, shrink, grid, most, whole, constant):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202, PLR0913, PLR0917
    """Set `whole` and `constant` to the residuals as clipped for the slopes and the constant."""
    for i in range(targets.size):
        residual = (targets[i] - products[i] * shrink) * grid
        bound = np.floor(_ROOM * most / np.sqrt(np.float64(squares[i]))) if squares[i] else 0.0
        whole[i] = np.trunc(min(max(residual, -bound), bound))
        bound = np.floor(most / (2.0 * np.float64(first[i]))) if first[i] else 0.0
        constant[i] = np.trunc(min(max(residual, -bound), bound))


@njit(nogil=True, cache=True)
def _products(rows, squares, targets, theta, shrink, grid, most, weights, block, low, high):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202, PLR0913, PLR0917
    buffers = np.empty((3, block))
    for start in range(0, targets.size, block):
        stop = min(start + block, targets.size)
        products, whole, constant = buffers[:, : stop - start]
        project(rows, theta, start, products)
        _clip(
            targets[start:stop],
            rows[0, start:stop],
            squares[start:stop],
            products,
            shrink,
            grid,
            most,
            whole,
            constant,
        )
        add_weighted_products(rows[:1], constant, weights, start, low[:1], high[:1])
        add_weighted_products(rows[1:], whole, weights, start, low[1:], high[1:])


def residuals(rows: Rows, targets: Vector, theta: Vector, shrink: float) -> Vector:
    """Return ``target - shrink theta'u`` of every row u, shape (rows,).

    Targets are finite. `rows` is C-contiguous; columns after the last target hold no rows. `theta`
    holds whole numbers, its norm times any row's at most 2^52; `shrink` is a power of two.
    """
    out = np.empty(targets.size)
    _residuals(rows, targets, theta, shrink, cached_rows(rows), out)
    return out


def clipped_products(
    rows: Rows,
    squares: NDArray[np.int32],
    targets: Vector,
    theta: Vector,
    shrink: float,
    grid: float,
    most: float,
    weights: NDArray[np.int64] | None,
) -> NDArray[np.object_]:
    """Return the sum over rows (u_0, u_x) of ``w (u_0 q_0, u_x q_x)``, Python ints.

    q_0 and q_x are a row's residual (see :func:`residuals`) in units of 1/`grid`, a power of two,
    clipped and truncated toward zero such that ``|u_x q_x| <= most`` and ``|u_0 q_0| <= most / 2``,
    with 0 where the row is; `squares` holds ``|u_x|^2``, and u_0 is not negative. `most` is a whole
    number up to 2^36; w, the row's weight, is at most 2^30, or 1 without weights. There are
    at most 2^17 rows.
    """
    low: NDArray[np.int64] = np.zeros(len(rows), dtype=np.int64)
    high: NDArray[np.int64] = np.zeros(len(rows), dtype=np.int64)
    block = cached_rows(rows) if weights is None else min(cached_rows(rows), WEIGHTED_ROWS)
    _products(rows, squares, targets, theta, shrink, grid, most, weights, block, low, high)
    return joined(low, high)
