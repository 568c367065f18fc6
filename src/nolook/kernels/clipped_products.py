"""Products of weighted rows with their residuals, each clipped to a norm.

The rows are a compact copy, whole numbers of 16 bits. Sums are of whole numbers below 2^53, so they
are exact in any order; everything else depends on its own row alone, to the last bit.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from nolook.kernels.clipped_gradient import add_weighted_products, block_size
from nolook.kernels.weights import joined

__all__ = ["clipped_products"]

Vector = NDArray[np.float64]
Rows = NDArray[np.int16]

# Room for the rounding of a norm and of a quotient.
_ROOM = 1.0 - 2.0**-40


@njit(nogil=True, cache=True)
def _products(rows, squares, residuals, grid, most, weights, block, out):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    buffers = np.empty((2, block))
    for start in range(0, residuals.size, block):
        whole, constant = buffers[:, : min(block, residuals.size - start)]
        for i in range(whole.size):
            residual = residuals[start + i] * grid
            square, first = np.float64(squares[start + i]), np.float64(rows[0, start + i])
            bound = np.floor(_ROOM * most / np.sqrt(square)) if square else 0.0
            whole[i] = np.trunc(min(max(residual, -bound), bound))
            bound = np.floor(most / (2.0 * first)) if first else 0.0
            constant[i] = np.trunc(min(max(residual, -bound), bound))
        add_weighted_products(rows[:1], constant, weights, start, out[:, :1])
        add_weighted_products(rows[1:], whole, weights, start, out[:, 1:])


def clipped_products(
    rows: Rows,
    squares: NDArray[np.int32],
    residuals: Vector,
    grid: float,
    most: float,
    weights: NDArray[np.int64] | None,
) -> NDArray[np.object_]:
    """Return the sum over rows (u_0, u_x) of ``w (u_0 q_0, u_x q_x)``, Python ints.

    q_0 and q_x are a row's residual in units of 1/`grid`, a power of two, clipped and truncated
    toward zero such that ``|u_x q_x| <= most`` and ``|u_0 q_0| <= most / 2``, with 0 where the row
    is; `squares` holds ``|u_x|^2``, and u_0 is not negative. Residuals are finite; columns of
    `rows`, which is C-contiguous, after the last one hold no rows. `most` is a whole number up to
    2^36; w, the row's weight, is at most 2^30, or 1 without weights. There are at most 2^17 rows.
    """
    out: NDArray[np.int64] = np.zeros((2, len(rows)), dtype=np.int64)
    block = block_size(rows, weights)
    _products(rows, squares, residuals, grid, most, weights, block, out)
    return joined(*out)
