"""The cell of a public grid that each value falls into.

A value's cell is found in two steps. A nondecreasing function maps it to one of about as many slots
as there are borders; borders in earlier slots are below it and those in later slots above it,
whatever the rounding. The borders from its own slot on are searched, by as many steps as the
fullest slot needs: each step is the same for all of some values, whichever way they go.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nolook._arrays import Array, Integers
from nolook._compiled import compiled

__all__ = ["Cells", "count_into", "index_cells"]


# How a value is mapped to a number before slots of equal width are laid: by itself, or by its
# place in the order of doubles.
_MAPS = (False, True)
# Values that take each step together.
_TOGETHER = 1024


# A tuple: compiled functions take its parts.
class Cells(NamedTuple):
    """Borders of cells, indexed for search.

    Slots have equal width, ``1 / slots_per_unit`` from `low` on, on the line or, if `by_order`, in
    the order of doubles; `first` says how many borders are in slots before each. A slot has fewer
    than 2**`steps`, and after the last of the `borders` come infinities for the search.
    """

    borders: Array
    by_order: bool
    low: float
    slots_per_unit: float
    first: NDArray[np.int32]
    steps: int


@compiled
def _place(values: Array, i: int, by_order: bool) -> float:
    """Return a number that never falls as value i grows."""
    if by_order:
        bits = values.view(np.int64)[i]
        return float(bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFF))
    value: float = values[i]
    return value


@compiled
def _slot(place: float, low: float, slots_per_unit: float, last: float) -> np.int32:
    """Return a slot that never falls as the place grows; NaN has the first."""
    offset = (place - low) * slots_per_unit
    offset = max(0.0, offset)  # of NaN, the first
    return np.int32(min(last, offset))


@compiled
def _slots_of(
    out: Integers, values: Array, by_order: bool, low: float, slots_per_unit: float, last: float
) -> None:
    for i in range(values.size):
        out[i] = _slot(_place(values, i, by_order), low, slots_per_unit, last)


@compiled
def _count(values: Array, cells: Cells, counts: Integers, weights: Integers | None) -> None:
    borders, by_order, low, slots_per_unit, first, steps = cells
    found = np.empty(_TOGETHER, dtype=np.int64)
    for start in range(0, values.size, _TOGETHER):
        some = values[start : start + _TOGETHER]
        _slots_of(found, some, by_order, low, slots_per_unit, first.size - 1.0)
        for i in range(some.size):
            found[i] = first[found[i]]
        for step in range(steps - 1, -1, -1):
            half = 1 << step
            for i in range(some.size):
                found[i] += half if borders[found[i] + half - 1] < some[i] else 0
        for i in range(some.size):
            cell = counts.size - 1 if np.isnan(some[i]) else found[i]
            counts[cell] += 1 if weights is None else weights[start + i]


def index_cells(borders: Array) -> Cells:
    """Index borders by the map that leaves fewer of them in the fullest slot.

    They never fall, and none is NaN.
    """
    # Adding 0.0 gives both zeros one pattern.
    borders = np.ascontiguousarray(borders, dtype=np.float64) + 0.0
    indexed = [_indexed(borders, by_order) for by_order in _MAPS]
    return min(indexed, key=lambda cells: cells.steps)


def _indexed(borders: Array, by_order: bool) -> Cells:
    slots = max(2 * len(borders), 1)
    ends = borders[[0, -1]] if len(borders) else np.zeros(2)
    low, high = (_place(ends, i, by_order) for i in range(2))
    with np.errstate(over="ignore", divide="ignore"):
        slots_per_unit = float(np.float64(slots) / np.float64(high - low))
    if not 0.0 < slots_per_unit < np.inf:
        slots_per_unit = 0.0
    found = np.empty(len(borders), dtype=np.int64)
    _slots_of(found, borders, by_order, low, slots_per_unit, slots - 1.0)
    held = np.bincount(found, minlength=slots)
    first = (np.cumsum(held) - held).astype(np.int32)
    steps = int(held.max()).bit_length()
    padded = np.append(borders, np.full(2**steps, np.inf))
    return Cells(padded, by_order, low, slots_per_unit, first, steps)


def count_into(
    counts: Integers, values: Array, cells: Cells, weights: Integers | None = None
) -> None:
    """Count every value into its cell, in place, as often as its weight says: once without.

    Value x counts in cell i if ``borders[i-1] < x <= borders[i]``, with minus infinity before the
    borders and plus infinity after them; NaN counts in the last cell.
    """
    values = np.ascontiguousarray(values, dtype=np.float64)
    if len(values):
        _count(values, cells, counts, weights)
