"""Rows (1, x) and their targets, shrunk together to a norm: the rows of weighted least squares.

Everything depends on its own row alone, to the last bit: operations are element by element, but for
sums of whole numbers below 2^53, which are exact in any order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from nolook.kernels.moments import UNIT

__all__ = [
    "LARGEST_ROW",
    "Standard",
    "Whitening",
    "standard_squares",
    "weighted_rows",
    "whitened_rows",
    "whitened_squares",
]

Array = NDArray[np.float64]
#: Centre, scale, low and high of every column: the arguments of `integer_rows` in ``moments.py``.
Standard: TypeAlias = tuple[Array, Array, Array, Array]

#: What the sizes of a row of a whitening's matrix may add up to: times 2^20 it is below 2^53.
LARGEST_ROW = 2.0**32

# Numbers that are still in the cache when they are used for the second time.
_CACHED = 1 << 14
# Rows that are whitened at a time.
_PART_ROWS = 1 << 10


@njit(nogil=True, cache=True)
def _standardise(column, center, scale, low, high, out):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Whole units of 1/UNIT, clipped; NaN becomes 0. As in `integer_rows`."""
    for i in range(out.size):
        value = (column[i] - center) / scale * UNIT
        value = value if value == value else 0.0  # noqa: PLR0124
        out[i] = np.trunc(min(max(value, low), high))


@njit(nogil=True, cache=True)
def _standard_squares(columns, center, scale, low, high, out):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    whole = np.empty(min(_CACHED, out.size))
    for start in range(0, out.size, _CACHED):
        stop = min(start + _CACHED, out.size)
        part = whole[: stop - start]
        out[start:stop] = 0.0
        for j in range(columns.shape[0]):
            _standardise(columns[j, start:stop], center[j], scale[j], low[j], high[j], part)
            for i in range(part.size):
                out[start + i] += part[i] * part[i]


@njit(nogil=True, cache=True)
def _shrink(column, squared_radius):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Shrink one whole row that a rounding left outside; a little more each time."""
    slack = 1.0
    total = np.sum(column * column)
    start = column.copy()
    while np.sum(column * column) > squared_radius:
        column[:] = np.trunc(start * (slack * np.sqrt(squared_radius / total)))
        slack *= 1.0 - 2.0**-30


@njit(nogil=True, cache=True)
def _factors(totals, bound, out):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    for i in range(out.size):
        out[i] = min(bound / np.sqrt(totals[i]), 1.0)


@njit(nogil=True, cache=True)
def _multiply(whole, steps, totals):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Multiply each row, a column of `whole`, truncate it, and add up its squares."""
    totals[:] = 0.0
    for j in range(whole.shape[0]):
        part = whole[j]
        for i in range(totals.size):
            part[i] = np.trunc(part[i] * steps[i])
            totals[i] += part[i] * part[i]


@njit(nogil=True, cache=True)
def _standard_rows(columns, center, scale, low, high, shift, out):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    for j in range(columns.shape[0]):
        part, less = out[j], shift[j]
        _standardise(columns[j], center[j], scale[j], low[j], high[j], part)
        for i in range(part.size):
            part[i] -= less


@njit(nogil=True, cache=True)
def _settle(whole, spacing, most):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    for j in range(whole.shape[0]):
        part = whole[j]
        for i in range(part.size):
            part[i] = min(max(np.trunc(part[i] * spacing), -most), most)


@njit(nogil=True, cache=True)
def _squares(whole, totals):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    totals[:] = 0.0
    for j in range(whole.shape[0]):
        part = whole[j]
        for i in range(totals.size):
            totals[i] += part[i] * part[i]


@njit(nogil=True, cache=True)
def _bounded(whole, squared_radius, unit, rows, squares, factors):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    totals = np.empty(squares.size)
    _squares(whole, totals)
    # A row of zeros is no reason to divide by one.
    _factors(np.maximum(totals, 1.0), math.sqrt(squared_radius) / unit * UNIT, factors)
    _multiply(whole, factors * unit / UNIT, totals)
    for i in range(totals.size):
        if totals[i] > squared_radius:
            _shrink(whole[:, i], squared_radius)
            totals[i] = np.sum(whole[:, i] * whole[:, i])
        squares[i] = totals[i]
    # Numba takes seconds to compile the assignment of one array to another.
    for j in range(whole.shape[0]):
        for i in range(totals.size):
            rows[j, i] = whole[j, i]


def standard_squares(columns: Array, standard: Standard) -> Array:
    """Return ``|x|^2`` of every row x of `integer_rows` in ``moments.py``, shape (rows,)."""
    center, scale, low, high = standard
    out = np.empty(columns.shape[1])
    _standard_squares(columns, center, scale, UNIT * low, UNIT * high, out)
    return out


class Whitening(NamedTuple):
    """A linear map of standard rows: ``spacing matrix (x - center)``, each entry cut to +-`most`.

    All of it whole numbers but for `spacing`, a power of two; in units of 1/UNIT. With entries of x
    and `center` of at most 2^19 and rows of `matrix` whose sizes add up to at most
    :data:`LARGEST_ROW`, products are exact, whatever adds them up.
    """

    center: Array  # shape (columns,)
    matrix: Array  # shape (columns, columns)
    spacing: float
    most: float


def _whitened(
    columns: Array, standard: Standard, whitening: Whitening
) -> Iterator[tuple[slice, Array]]:
    """Yield rows (1, x) of whole units, few at a time and in the same memory, and their places."""
    center, scale, low, high = standard
    low, high = UNIT * low, UNIT * high
    size, count = columns.shape
    memory = np.empty((2, (size + 1) * min(_PART_ROWS, count)))
    for start in range(0, count, _PART_ROWS):
        part = slice(start, min(start + _PART_ROWS, count))
        width = part.stop - start
        standing, whole = memory[:, : (size + 1) * width].reshape(2, size + 1, width)
        _standard_rows(columns[:, part], center, scale, low, high, whitening.center, standing[1:])
        whole[0] = UNIT
        np.matmul(whitening.matrix, standing[1:], out=whole[1:])
        _settle(whole[1:], whitening.spacing, whitening.most)
        yield part, whole


def whitened_squares(columns: Array, standard: Standard, whitening: Whitening) -> Array:
    """Return ``|x|^2`` of every row of :func:`whitened_rows` before it is shortened."""
    out = np.empty(columns.shape[1])
    for part, whole in _whitened(columns, standard, whitening):
        _squares(whole[1:], out[part])
    return out


def whitened_rows(
    columns: Array, standard: Standard, whitening: Whitening, squared_radius: int, unit: int
) -> tuple[NDArray[np.int16], NDArray[np.int32]]:
    """Standardise, whiten, shorten each row to a norm, and put a 1 before it that stays as it is.

    The standard rows x, multiples of 1/UNIT, are those of `integer_rows` in ``moments.py``. R is
    ``sqrt(squared_radius) / unit``, `unit` a power of two with ``unit max(1, R) < 2^15``; rows are
    multiplied by ``min(1, R / |x|)``. Returns whole multiples of 1/`unit`, truncated toward zero,
    shape (columns + 1, rows), the squares of all but the first adding up to at most
    `squared_radius` a row, in integers; and these squares, shape (rows,).
    """
    rows, squares, factors = _empty(columns)
    rows[0] = unit
    for part, whole in _whitened(columns, standard, whitening):
        bound = float(squared_radius), float(unit)
        _bounded(whole[1:], *bound, rows[1:, part], squares[part], factors[part])
    return rows, squares


def weighted_rows(
    columns: Array, standard: Standard, whitening: Whitening, squared_radius: int, unit: int
) -> tuple[NDArray[np.int16], NDArray[np.int32], Array]:
    """Standardise, whiten, put a 1 before each row and multiply it by ``f = min(1, B / |(1, x)|)``.

    As :func:`whitened_rows`, but the squares of the 1 are among those that add up to at most
    `squared_radius`, and f is returned, too, shape (rows,).
    """
    rows, squares, factors = _empty(columns)
    for part, whole in _whitened(columns, standard, whitening):
        bound = float(squared_radius), float(unit)
        _bounded(whole, *bound, rows[:, part], squares[part], factors[part])
    squares -= rows[0].astype(np.int32) ** 2
    return rows, squares, factors


def _empty(columns: Array) -> tuple[NDArray[np.int16], NDArray[np.int32], Array]:
    size, count = columns.shape
    rows = np.empty((size + 1, count), dtype=np.int16)
    return rows, np.empty(count, dtype=np.int32), np.empty(count)
