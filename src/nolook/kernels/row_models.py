"""Models at rows, and the products of rows with residuals.

The rows are a compact copy, whole numbers of 16 bits; ``theta'u`` is exact. Probabilities and means
are made of additions, products and divisions in one fixed order: a library's exponential function
may give a row other bits in a vector than at its end. So a residual depends on its own row alone.
All sums are of whole numbers below 2^53, so they are exact in any order, with products fused or
not, and the compiler may choose.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from nolook._arrays import Vector
from nolook._compiled import compiled
from nolook.kernels.weights import WEIGHTED_ROWS, joined, split_products

__all__ = ["clipped_products", "exponentials", "probabilities", "residual_products", "scores"]

Rows = NDArray[np.int16]
Weights = NDArray[np.int32] | NDArray[np.int64] | None

# Bytes of rows that are still in the cache when they are read for the second time.
_CACHED_BYTES = 1 << 16

# Room for the rounding of a norm and of a quotient.
_ROOM = 1.0 - 2.0**-40
# Beyond, a probability is 0 or 1 to less than 2^-57.
_FARTHEST = 40.0
_LEAST_POWER = 64
_POWERS = 2.0 ** np.arange(-_LEAST_POWER, _LEAST_POWER + 1.0)
_LOG2 = math.log(2.0)
# exp(x) within half a factor of two from 1, to some 2^-42: Taylor's series.
_TERMS = tuple(1.0 / math.factorial(n) for n in range(10, -1, -1))

_exact_sums = partial(compiled, fastmath={"reassoc", "contract"})


@_exact_sums
def _project(rows, theta, start, out):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
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


@_exact_sums
def _add_products(rows, residuals, start, out):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
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


@compiled
def _add_weighted_products(rows, whole, weights, start, out):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Add the block's products with whole numbers and weights, if any, to ``out[0] + 2^24 out[1]``.

    Replaces the whole numbers. Sums of a block must stay within 2^53; see `split_products`.
    """
    sums = np.zeros(rows.shape[0])
    if weights is not None:
        upper = np.empty(whole.size)
        split_products(whole, weights[start : start + whole.size], upper)
        _add_products(rows, upper, start, sums)
        for j in range(sums.size):
            out[1, j] += np.int64(sums[j])
            sums[j] = 0.0
    _add_products(rows, whole, start, sums)
    for j in range(sums.size):
        out[0, j] += np.int64(sums[j])


@compiled
def _exponential(x):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Return exp(x), to about 2^-40, for x between -40 and 40."""
    doublings = np.floor(x / _LOG2 + 0.5)
    rest = x - doublings * _LOG2
    value = _TERMS[0]
    for term in _TERMS[1:]:
        value = value * rest + term
    return value * _POWERS[int(doublings) + _LEAST_POWER]


@compiled
def _probabilities(scores):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Replace log-odds by 1 / (1 + exp(-log-odds)), always from 0 to 1."""
    for i in range(scores.size):
        score = scores[i]
        value = _exponential(-min(abs(score), _FARTHEST))
        larger = 1.0 / (1.0 + value)
        scores[i] = larger if score >= 0.0 else value * larger


@compiled
def _means(scores):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    for i in range(scores.size):
        scores[i] = _exponential(min(max(scores[i], -_FARTHEST), _FARTHEST))


@compiled
def _products(rows, residuals, grid, bound, weights, block, out):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    buffer = np.empty(block)
    for start in range(0, residuals.size, block):
        part = buffer[: min(block, residuals.size - start)]
        for i in range(part.size):
            part[i] = np.trunc(min(max(residuals[start + i] * grid, -bound), bound))
        _add_weighted_products(rows, part, weights, start, out)


@compiled
def _clipped_products(rows, squares, residuals, grid, most, weights, block, out):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
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
        _add_weighted_products(rows[:1], constant, weights, start, out[:, :1])
        _add_weighted_products(rows[1:], whole, weights, start, out[:, 1:])


@compiled
def _scores(rows, theta, shrink, block, out):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    for start in range(0, out.size, block):
        part = out[start : min(start + block, out.size)]
        _project(rows, theta, start, part)
        for i in range(part.size):
            part[i] *= shrink


def probabilities(log_odds: Vector) -> Vector:
    """Return the logistic function of finite numbers, to about 2^-40, from 0 to 1."""
    out = log_odds.copy()
    _probabilities(out)
    return out


def exponentials(log_means: Vector) -> Vector:
    """Return the exponentials of finite numbers, cut at +-40, to about 2^-40."""
    out = log_means.copy()
    _means(out)
    return out


def scores(rows: Rows, theta: Vector, shrink: float) -> Vector:
    """Return ``shrink theta'u`` of every row u, shape (rows,): predictions, or log-odds.

    `rows` is C-contiguous. `theta` holds whole numbers, its norm times any row's at most 2^52;
    `shrink` is a power of two.
    """
    out = np.empty(rows.shape[1])
    _scores(rows, theta, shrink, _block_size(rows, None), out)
    return out


def residual_products(
    rows: Rows, residuals: Vector, grid: float, bound: int, weights: Weights
) -> NDArray[np.object_]:
    """Return ``sum of w u trunc(grid clip(r))`` over rows u and their residuals r, Python ints.

    Residuals are finite; columns of `rows` after the last one hold no rows. They are clipped to
    `bound` units of 1/`grid`, a power of two. w, a row's weight, is at most 2^30, or 1 without
    weights; then there are at most 2^20 rows, and the bound is at most 2^20. Otherwise sums must
    stay within 2^53.
    """
    out: NDArray[np.int64] = np.zeros((2, len(rows)), dtype=np.int64)
    _products(rows, residuals, grid, bound, weights, _block_size(rows, weights), out)
    return joined(*out)


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
    block = _block_size(rows, weights)
    _clipped_products(rows, squares, residuals, grid, most, weights, block, out)
    return joined(*out)


def _block_size(rows: Rows, weights: Weights) -> int:
    """Return the number of rows to work on at a time."""
    cached = max(256, _CACHED_BYTES // rows.itemsize // len(rows))
    return cached if weights is None else min(cached, WEIGHTED_ROWS)
