"""Which cell of a public grid each value falls into.

A value's cell is found in two steps. A nondecreasing function maps it to one of about as many slots
as there are borders; borders in earlier slots are below it and those in later slots above it,
whatever the rounding. The borders of its own slot are searched.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["Cells", "count_into", "index_cells"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# How a value is mapped to a number before slots of equal width are laid: by itself, or by its
# place in the order of doubles.
_MAPS = (False, True)


class Cells(NamedTuple):
    """Borders of cells, indexed for search.

    Slots have equal width, ``1 / slots_per_unit`` from `low` on, on the line or, if `by_order`, in
    the order of doubles; `first` says how many borders are in slots before each.
    """

    borders: Floats
    by_order: bool
    low: float
    slots_per_unit: float
    first: Integers


@njit(nogil=True, cache=True)
def _place(values: Floats, i: int, by_order: bool) -> float:
    """Return a number that never falls as value i grows."""
    if by_order:
        bits = values.view(np.int64)[i]
        return float(bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFF))
    value: float = values[i]
    return value


@njit(nogil=True, cache=True)
def _slot(place: float, low: float, slots_per_unit: float, slots: int) -> int:
    """Return a slot that never falls as the place grows; NaN has the first."""
    offset = (place - low) * slots_per_unit
    if offset >= slots:
        return slots - 1
    return int(offset) if offset > 0.0 else 0


@njit(nogil=True, cache=True)
def _slots_of(
    values: Floats, by_order: bool, low: float, slots_per_unit: float, slots: int
) -> Integers:
    out = np.empty(values.size, dtype=np.int64)
    for i in range(values.size):
        out[i] = _slot(_place(values, i, by_order), low, slots_per_unit, slots)
    return out


@njit(nogil=True, cache=True)
def _count(values: Floats, cells: Cells, counts: Integers, weights: Integers | None) -> None:
    borders, by_order, low, slots_per_unit, first = cells
    for i in range(values.size):
        value, weight = values[i], 1 if weights is None else weights[i]
        if np.isnan(value):
            counts[-1] += weight
            continue
        place = _place(values, i, by_order)
        slot = _slot(place, low, slots_per_unit, first.size - 1)
        left, right = first[slot], first[slot + 1]
        while left < right:
            middle = (left + right) >> 1
            if borders[middle] < value:
                left = middle + 1
            else:
                right = middle
        counts[left] += weight


def index_cells(borders: Floats) -> Cells:
    """Index borders by the map that leaves fewer of them in the fullest slot.

    They never fall, and none is NaN.
    """
    # Adding 0.0 gives both zeros one pattern.
    borders = np.ascontiguousarray(borders, dtype=np.float64) + 0.0
    indexed = [_indexed(borders, by_order) for by_order in _MAPS]
    return min(indexed, key=lambda cells: int(np.diff(cells.first).max()))


def _indexed(borders: Floats, by_order: bool) -> Cells:
    slots = max(2 * len(borders), 1)
    ends = borders[[0, -1]] if len(borders) else np.zeros(2)
    low, high = (_place(ends, i, by_order) for i in range(2))
    with np.errstate(over="ignore", divide="ignore"):
        slots_per_unit = float(np.float64(slots) / np.float64(high - low))
    if not 0.0 < slots_per_unit < np.inf:
        slots_per_unit = 0.0
    held = np.bincount(_slots_of(borders, by_order, low, slots_per_unit, slots), minlength=slots)
    first = np.concatenate([[0], np.cumsum(held)]).astype(np.int64)
    return Cells(borders, by_order, low, slots_per_unit, first)


def count_into(
    counts: Integers, values: Floats, cells: Cells, weights: Integers | None = None
) -> None:
    """Count every value into its cell, in place, as often as its weight says: once without.

    Value x counts in cell i if ``borders[i-1] < x <= borders[i]``, with minus infinity before the
    borders and plus infinity after them; NaN counts in the last cell.
    """
    values = np.ascontiguousarray(values, dtype=np.float64)
    if len(values):
        _count(values, cells, counts, weights)
