"""Classes less their probabilities under a logistic model, and their products with the rows.

The rows are a compact copy, whole numbers of 16 bits; ``theta'u`` is exact. The probability is made
of additions, products and divisions in one fixed order: a library's exponential function may give a
row other bits in a vector than at its end. So everything depends on its own row alone, and sums are
of whole numbers below 2^53.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from nolook.kernels.clipped_gradient import add_weighted_products, cached_rows, project
from nolook.kernels.weights import WEIGHTED_ROWS, joined

__all__ = ["class_products", "probabilities", "scores"]

Vector = NDArray[np.float64]
Rows = NDArray[np.int16]

# Beyond, a probability is 0 or 1 to less than 2^-57.
_FARTHEST = 40.0
_POWERS = 2.0 ** -np.arange(64.0)
_LOG2 = math.log(2.0)
# exp(x) within half a factor of two from 1, to some 2^-42: Taylor's series.
_TERMS = tuple(1.0 / math.factorial(n) for n in range(10, -1, -1))


@njit(nogil=True, cache=True)
def _probabilities(products, shrink):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Replace products by 1 / (1 + exp(-shrink product)), always from 0 to 1."""
    for i in range(products.size):
        score = products[i] * shrink
        size = min(abs(score), _FARTHEST)
        halvings = np.floor(size / _LOG2 + 0.5)
        rest = halvings * _LOG2 - size
        value = _TERMS[0]
        for term in _TERMS[1:]:
            value = value * rest + term
        value *= _POWERS[int(halvings)]
        larger = 1.0 / (1.0 + value)
        products[i] = larger if score >= 0.0 else value * larger


@njit(nogil=True, cache=True)
def _products(rows, targets, theta, shrink, grid, weights, block, low, high):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202, PLR0913, PLR0917
    buffer = np.empty(block)
    for start in range(0, targets.size, block):
        stop = min(start + block, targets.size)
        part = buffer[: stop - start]
        project(rows, theta, start, part)
        _probabilities(part, shrink)
        for i in range(part.size):
            part[i] = np.trunc((targets[start + i] - part[i]) * grid)
        add_weighted_products(rows, part, weights, start, low, high)


@njit(nogil=True, cache=True)
def _scores(rows, theta, shrink, block, out):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    for start in range(0, out.size, block):
        part = out[start : min(start + block, out.size)]
        project(rows, theta, start, part)
        for i in range(part.size):
            part[i] *= shrink


def probabilities(log_odds: Vector) -> Vector:
    """Return the logistic function of finite numbers, to about 2^-40, from 0 to 1."""
    out = log_odds.copy()
    _probabilities(out, 1.0)
    return out


def scores(rows: Rows, theta: Vector, shrink: float) -> Vector:
    """Return ``shrink theta'u`` of every row u, shape (rows,): log-odds.

    `rows` is C-contiguous. `theta` holds whole numbers, its norm times any row's at most 2^52;
    `shrink` is a power of two.
    """
    out = np.empty(rows.shape[1])
    _scores(rows, theta, shrink, cached_rows(rows), out)
    return out


def class_products(
    rows: Rows,
    targets: Vector,
    theta: Vector,
    shrink: float,
    grid: float,
    weights: NDArray[np.int64] | None,
) -> NDArray[np.object_]:
    """Return the sum over rows u of ``w u q``, q the class less its probability: Python ints.

    q is truncated toward zero to whole units of 1/`grid`, a power of two up to 2^21, so it is at
    most `grid` in size; `targets` are 0 and 1; w, the row's weight, is at most 2^30, or 1 without
    weights. The other arguments are those of :func:`scores`. There are at most 2^17 rows.
    """
    low: NDArray[np.int64] = np.zeros(len(rows), dtype=np.int64)
    high: NDArray[np.int64] = np.zeros(len(rows), dtype=np.int64)
    block = cached_rows(rows) if weights is None else min(cached_rows(rows), WEIGHTED_ROWS)
    _products(rows, targets, theta, shrink, grid, weights, block, low, high)
    return joined(low, high)
