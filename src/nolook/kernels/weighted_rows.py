"""Rows (1, x) and their targets, shrunk together to a norm: the rows of weighted least squares.

Everything depends on its own row alone, to the last bit: operations are element by element, except
for sums of whole numbers below 2^53, which are exact in any order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nolook._arrays import Array
from nolook._compiled import compiled
from nolook.kernels.curves import Curves, add_curves
from nolook.kernels.moments import UNIT, shrink_rows, standard_rows

__all__ = [
    "LARGEST_ROW",
    "Standard",
    "Whitening",
    "bounded_targets",
    "squared_lengths",
    "weighted_rows",
]

#: What the sizes of a row of a whitening's matrix may add up to: times 2^20 it is below 2^53.
LARGEST_ROW = 2.0**32

# Numbers that are whitened at a time.
_PART = 1 << 16
_LARGEST = float(np.finfo(np.float64).max)


@compiled
def _settle(whole, spacing, most):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    for j in range(whole.shape[0]):
        part = whole[j]
        for i in range(part.size):
            part[i] = min(max(np.trunc(part[i] * spacing), -most), most)


@compiled
def _squares(whole, totals):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    totals[:] = 0.0
    for j in range(whole.shape[0]):
        part = whole[j]
        for i in range(totals.size):
            totals[i] += part[i] * part[i]


@compiled
def _multiply(whole, bound, scale, factors, totals):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Multiply each row, a column of `whole`, down to a bound and by a scale, and truncate it."""
    _squares(whole, totals)
    for i in range(totals.size):
        # A row of zeros is no reason to divide by one.
        factors[i] = min(bound / np.sqrt(max(totals[i], 1.0)), 1.0)
    steps = factors * scale
    for j in range(whole.shape[0]):
        part = whole[j]
        for i in range(part.size):
            part[i] = np.trunc(part[i] * steps[i])
    _squares(whole, totals)


def _shorten(whole: Array, squared_radius: int, unit: int) -> tuple[Array, Array]:
    """Shorten rows to a norm, as whole multiples of 1/unit; return their squares and factors."""
    factors, totals = np.empty((2, whole.shape[1]))
    _multiply(whole, math.sqrt(squared_radius) / unit * UNIT, unit / UNIT, factors, totals)
    if totals.max(initial=0.0) > squared_radius:
        shrink_rows(whole, squared_radius)
        _squares(whole, totals)
    return totals, factors


# A tuple: compiled functions take its parts.
class Standard(NamedTuple):
    """Standardisation of columns: the arguments of `integer_rows` in ``moments.py``.

    Functions of the columns, if any, follow after them.
    """

    center: Array  # shape (columns,)
    scale: Array
    low: Array
    high: Array
    curves: Curves | None = None

    @property
    def size(self) -> int:
        """Length of a standard row."""
        return self.center.size + (0 if self.curves is None else len(self.curves.values))


# A tuple: compiled functions take its parts.
class Whitening(NamedTuple):
    """A linear map of standard rows: ``spacing matrix (x - center)``, each entry cut to +-`most`.

    All are whole numbers except `spacing`, a power of two; in units of 1/UNIT. With entries of x
    and `center` of at most 2^19 and rows of `matrix` whose sizes add up to at most
    :data:`LARGEST_ROW`, products are exact, whatever adds them up. Functions of columns stay as
    they are: their part of `matrix` is 1 / `spacing` on its diagonal, their part of `center` 0.
    """

    center: Array  # shape (columns,)
    matrix: Array  # shape (columns, columns)
    spacing: float
    most: float


def _whitened(
    columns: Array, standard: Standard, whitening: Whitening | None
) -> Iterator[tuple[slice, Array]]:
    """Yield rows (1, x) of whole units, few at a time and in the same memory, and their places."""
    center, scale = standard.center, standard.scale
    low, high = UNIT * standard.low, UNIT * standard.high
    size, count, lines = standard.size, columns.shape[1], center.size
    shift = np.zeros(size) if whitening is None else whitening.center
    most = min(count, max(1, _PART // (size + 1)))
    memory = np.empty((2, (size + 1) * most))
    for start in range(0, count, max(most, 1)):
        part = slice(start, min(start + most, count))
        width = part.stop - start
        standing, whole = memory[:, : (size + 1) * width].reshape(2, size + 1, width)
        standing[0] = UNIT
        standard_rows(columns, start, center, scale, low, high, shift, standing[1 : lines + 1])
        if standard.curves is not None:
            add_curves(standing[1:], shift, *standard.curves)
        if whitening is None:
            yield part, standing
            continue
        whole[:] = standing
        mapped = whole[1 : lines + 1]
        np.matmul(whitening.matrix[:lines, :lines], standing[1 : lines + 1], out=mapped)
        _settle(mapped, whitening.spacing, whitening.most)
        yield part, whole


def squared_lengths(columns: Array, standard: Standard, whitening: Whitening | None) -> Array:
    """Return ``|x|^2`` of every row of :func:`weighted_rows` before it is shortened.

    Without a whitening x is the row of `integer_rows` in ``moments.py``.
    """
    out = np.empty(columns.shape[1])
    for part, whole in _whitened(columns, standard, whitening):
        _squares(whole[1:], out[part])
    return out


def weighted_rows(
    columns: Array, standard: Standard, whitening: Whitening, squared_radius: int, unit: int
) -> tuple[NDArray[np.int16], NDArray[np.int32], Array]:
    """Standardise, whiten, put a 1 before each row and multiply it by ``f = min(1, B / |(1, x)|)``.

    The standard rows, multiples of 1/UNIT, are those of `integer_rows` in ``moments.py``. B is
    ``sqrt(squared_radius) / unit``, `unit` a power of two with ``unit B < 2^15``. Returns whole
    multiples of 1/`unit`, truncated toward zero, shape (columns + 1, rows), whose squares add up to
    at most `squared_radius` a row, in integers; the squares of all but the first, shape (rows,);
    and f, above 0, shape (rows,).
    """
    size, count = standard.size, columns.shape[1]
    rows = np.empty((size + 1, count), dtype=np.int16)
    squares, factors = np.empty(count, dtype=np.int32), np.empty(count)
    for part, whole in _whitened(columns, standard, whitening):
        squares[part], factors[part] = _shorten(whole, squared_radius, unit)
        rows[:, part] = whole
    squares -= rows[0].astype(np.int32) ** 2
    return rows, squares, factors


def bounded_targets(targets: Array, center: float, scale: float, limit: float) -> Array:
    """Standardise targets and clip them to `limit` scales; NaN becomes zero, so all are finite."""
    bound = min(limit, _LARGEST)
    with np.errstate(over="ignore", invalid="ignore"):
        standard = (targets - center) / scale
    np.clip(standard, -bound, bound, out=standard)
    standard[np.isnan(standard)] = 0.0
    return standard
