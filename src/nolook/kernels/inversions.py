"""Concordant less discordant pairs of one column with many others, as exact integers.

Columns are ranked once. The discordant pairs of two columns are the inversions of one column's
ranks in the other's order. They are counted eight bits at a time: each rank in turn goes to the
256th of the range it belongs to, and adds the number of those before it that went to a higher one.
Parts of 4096 ranks are finished with one bit a rank.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["RankedColumn", "pair_differences", "rank_columns"]

Ranks = NDArray[np.uint32]
Vector = NDArray[np.float64]

# Ranks of a part that is finished with bits, as a power of 2.
_BITS = 12
# Cells; below, a second thread costs more than it saves.
_WORTH_THREADS = 50_000
# Bits of a digit by which keys are sorted.
_DIGIT = 8
# Words of four counters each, for 64 parts; no counter may exceed 16 bits.
_COUNTS = 20
_STRETCH = 2**15


@dataclass(frozen=True, slots=True)
class RankedColumn:
    """A column's ranks, kept instead of its numbers.

    A rank is how many rows have a smaller number; `tied` is the number of pairs with equal ones.
    """

    ranks: Ranks
    tied: int


@njit(nogil=True, cache=True)
def _pack(values: Vector, bits: int, out: NDArray[np.int64]) -> None:
    """Write the leading bits of each number, in the order of numbers, before its row."""
    patterns = values.view(np.int64)
    for i in range(values.size):
        pattern = patterns[i]
        key = pattern ^ ((pattern >> 63) & 0x7FFFFFFFFFFFFFFF)
        out[i] = ((key >> bits) << bits) | i


@njit(nogil=True, cache=True)
def _sort(keys: NDArray[np.int64], bits: int, spare: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sort keys, in which those alike above some bits are in order; return whichever holds them.

    Digit by digit, each an orderly move to the other array; one that all keys share is left out.
    """
    top = 1 << (_DIGIT - 1)
    for shift in range(bits, 64, _DIGIT):
        # The last digit has the sign.
        low = min(shift, 64 - _DIGIT)
        flipped = top if low == 64 - _DIGIT else 0
        places = np.zeros((1 << _DIGIT) + 1, dtype=np.int64)
        for i in range(keys.size):
            places[(((keys[i] >> low) & (2 * top - 1)) ^ flipped) + 1] += 1
        if places.max() == keys.size:
            continue
        for digit in range(1 << _DIGIT):
            places[digit + 1] += places[digit]
        for i in range(keys.size):
            digit = ((keys[i] >> low) & (2 * top - 1)) ^ flipped
            spare[places[digit]] = keys[i]
            places[digit] += 1
        keys, spare = spare, keys
    return keys


@njit(nogil=True, cache=True)
def _repair(values: Vector, order: Ranks) -> bool:
    """Sort an order that is nearly right by insertion; give up after as many moves as rows."""
    left = order.size
    last = values[order[0]]
    for i in range(1, order.size):
        row = order[i]
        value = values[row]
        place = i
        if value < last:
            while place > 0 and value < values[order[place - 1]]:
                order[place] = order[place - 1]
                place -= 1
                left -= 1
                if left < 0:
                    return False
            order[place] = row
        else:
            last = value
    return True


@njit(nogil=True, cache=True)
def _rank(values: Vector, order: Ranks, ranks: Ranks) -> int:
    """Write each row's rank; return the number of tied pairs."""
    tied = 0
    first = 0
    last = values[order[0]]
    for i in range(order.size):
        value = values[order[i]]
        # Not by bits: -0 and 0 are equal.
        if value != last:
            first = i
            last = value
        tied += i - first
        ranks[order[i]] = first
    return tied


@njit(nogil=True, cache=True)
def _unpack(packed: NDArray[np.int64], bits: int, out: Ranks) -> None:
    """Write the rows; `out` may be the beginning of the same memory."""
    for i in range(packed.size):
        out[i] = packed[i] & ((1 << bits) - 1)


def _rank_column(
    values: Vector, packed: NDArray[np.int64], spare: NDArray[np.int64]
) -> RankedColumn:
    """Rank a column: sort the numbers' leading bits, then what those leave in disorder.

    `packed` and `spare` are scratch space of the same size.
    """
    ranks = np.empty(values.size, dtype=np.uint32)
    if values.size == 0:
        return RankedColumn(ranks, 0)
    bits = (values.size - 1).bit_length()
    _pack(values, bits, packed)
    packed = _sort(packed, bits, spare)
    order = packed.view(np.uint32)[: values.size]
    _unpack(packed, bits, order)
    if not _repair(values, order):
        order[:] = np.argsort(values)
    return RankedColumn(ranks, int(_rank(values, order, ranks)))


def rank_columns(batches: Sequence[Vector]) -> list[RankedColumn]:
    """Rank every column of a table, given as finite batches of shape (columns, rows).

    There is at least one, and fewer than 2^32 rows together: ranks have 32 bits.
    """
    columns = len(batches[0])
    rows = sum(batch.shape[1] for batch in batches)
    ranked = [RankedColumn(np.empty(0, dtype=np.uint32), 0)] * columns

    def job(own: Iterator[int]) -> None:
        # Fresh memory is slow: a thread uses this again and again.
        values, packed, spare = np.empty(rows), *np.empty((2, rows), dtype=np.int64)
        for j in own:
            np.concatenate([batch[j] for batch in batches], out=values)
            ranked[j] = _rank_column(values, packed, spare)

    _share(job, columns, rows)
    return ranked


def _share(job: Callable[[Iterator[int]], None], columns: int, rows: int) -> None:
    """Let as many threads as there are processors take one column after the other."""
    left = iter(range(columns))  # its next number goes to one thread only
    threads = min(os.cpu_count() or 1, columns)
    if threads < 2 or columns * rows < _WORTH_THREADS:
        job(left)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(job, [left] * threads))


@njit(nogil=True, cache=True)
def _set_bits(word: np.uint64) -> np.uint64:
    """Count the bits set; the compiler knows this form and takes one instruction for it."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    pairs = np.uint64(0x3333333333333333)
    word = (word & pairs) + ((word >> np.uint64(2)) & pairs)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@njit(nogil=True, cache=True)
def _count_quarter(quarter: np.uint64, group: np.uint64) -> tuple[np.int64, np.uint64]:
    """Count the earlier entries of higher quarters of a group, and enter this one.

    A number holds four counters of 16 bits: the entries above quarter 0, 1, 2 and 3.
    """
    one = np.uint64(1)
    shift = quarter << np.uint64(4)
    above = (group >> shift) & np.uint64(0xFFFF)
    return np.int64(above), group + (np.uint64(0x0001000100010001) & ((one << shift) - one))


@njit(nogil=True, cache=True)
def _count_above(
    part: np.uint64, top: np.uint64, counts: NDArray[np.uint64]
) -> tuple[np.int64, np.uint64]:
    """Count the earlier entries of higher parts, 0..63, and enter this one.

    `top` counts for all parts, `counts` for 4 groups of sixteen and 16 of four. Returns the new
    `top` too, which thereby stays in a register.
    """
    place = part >> np.uint64(4)
    above, top = _count_quarter(place, top)
    more, counts[place] = _count_quarter((part >> np.uint64(2)) & np.uint64(3), counts[place])
    place = np.uint64(4) + (part >> np.uint64(2))
    most, counts[place] = _count_quarter(part & np.uint64(3), counts[place])
    return above + more + most, top


@njit(nogil=True, cache=True)
def _between(place: NDArray[np.int64], start: int, shift: int, before: NDArray[np.int64]) -> int:
    """Count the inversions of a stretch with all before it, and add it to what was before.

    `place` tells where the next rank of each 256th goes, `before` how many had gone there.
    """
    total = 0
    higher = 0
    for c in range(255, -1, -1):
        entered = place[c] - start - (c << shift)
        total += (entered - before[c]) * higher
        higher += before[c]
        before[c] = entered
    return total


@njit(nogil=True, cache=True)
def _split(ranks: Ranks, out: Ranks, shift: int) -> np.int64:
    """Count the inversions between 256ths of blocks of 256 * 2^shift ranks, sort by 256th.

    Each block of positions holds exactly the ranks of that block, as do the 256ths afterwards.
    """
    counts = np.empty((4, _COUNTS), dtype=np.uint64)
    tops = np.empty(4, dtype=np.uint64)
    place = np.empty(256, dtype=np.int64)
    before = np.empty(256, dtype=np.int64)
    total = np.int64(0)
    for start in range(0, ranks.size, 256 << shift):
        end = min(start + (256 << shift), ranks.size)
        for c in range(256):
            place[c] = start + (c << shift)
        before[:] = 0
        for first in range(start, end, _STRETCH):
            counts[:] = 0
            tops[:] = 0
            all_parts = np.uint64(0)
            for i in range(first, min(first + _STRETCH, end)):
                rank = ranks[i]
                part = np.uint64((rank >> shift) & 255)
                quarter = part >> np.uint64(6)
                above, all_parts = _count_quarter(quarter, all_parts)
                total += above
                above, top = _count_above(part & np.uint64(63), tops[quarter], counts[quarter])
                total += above
                tops[quarter] = top
                out[place[part]] = rank
                place[part] += 1
            total += _between(place, start, shift, before)
    return total


@njit(nogil=True, cache=True)
def _finish(ranks: Ranks) -> np.int64:
    """Count the inversions within blocks of 4096 ranks."""
    counts = np.empty(_COUNTS, dtype=np.uint64)
    words = np.empty(64, dtype=np.uint64)
    total = np.int64(0)
    for start in range(0, ranks.size, 1 << _BITS):
        counts[:] = 0
        words[:] = 0
        top = np.uint64(0)
        for i in range(start, min(start + (1 << _BITS), ranks.size)):
            rank = np.uint64(ranks[i])
            part = (rank >> np.uint64(6)) & np.uint64(63)
            bit = rank & np.uint64(63)
            word = words[part]
            above, top = _count_above(part, top, counts)
            total += above + np.int64(_set_bits(word >> bit))
            words[part] = word | (np.uint64(1) << bit)
    return total


@njit(nogil=True, cache=True)
def _inversions(ranks: Ranks, other: Ranks) -> np.int64:
    """Count the pairs in falling order; `ranks` holds 0..n-1, each once, and is destroyed."""
    shift = _BITS
    while ranks.size > 256 << shift:
        shift += 8
    total = np.int64(0)
    while shift >= _BITS and ranks.size > 1 << _BITS:
        total += _split(ranks, other, shift)
        ranks, other = other, ranks
        shift -= 8
    return total + _finish(ranks)


@njit(nogil=True, cache=True)
def _part_ties(ranks: Ranks, used: Ranks) -> None:
    """Give equal ranks different ones, rising in their order, so that they are no inversions."""
    used[:] = 0
    for i in range(ranks.size):
        rank = ranks[i]
        ranks[i] = rank + used[rank]
        used[rank] += np.uint32(1)


@njit(nogil=True, cache=True)
def _by_both(ranks: Ranks, other: Ranks, order: Ranks, used: Ranks, out: Ranks) -> int:
    """Write the ranks `other` in rising order of (`ranks`, `other`); return pairs tied in both."""
    used[:] = 0
    for row in range(ranks.size):
        rank = other[row]
        order[rank + used[rank]] = row
        used[rank] += np.uint32(1)
    used[:] = 0
    for i in range(ranks.size):
        row = order[i]
        rank = ranks[row]
        out[rank + used[rank]] = other[row]
        used[rank] += np.uint32(1)
    tied = 0
    start = 0
    while start < out.size:
        first = start
        end = start + int(used[start])
        for i in range(start, end):
            if out[i] != out[first]:
                first = i
            tied += i - first
        start = end
    return tied


@njit(nogil=True, cache=True)
def _in_order(ranks: Ranks, other: Ranks, out: Ranks) -> None:
    """Write the ranks `other` in rising order of `ranks`, which has no ties."""
    for row in range(ranks.size):
        out[ranks[row]] = other[row]


@njit(nogil=True, cache=True)
def _difference(ranks: Ranks, tied: int, other: Ranks, other_tied: int, work: Ranks) -> int:
    """Return the concordant less the discordant pairs of two columns; `work` is scratch space."""
    n = ranks.size
    sequence, spare, third = work[0], work[1], work[2]
    both = 0
    if tied == 0:
        _in_order(ranks, other, sequence)
    elif other_tied == 0:
        _in_order(other, ranks, sequence)
    else:
        both = _by_both(ranks, other, third, spare, sequence)
    if tied > 0 or other_tied > 0:
        _part_ties(sequence, spare)
    comparable = n * (n - 1) // 2 - tied - other_tied + both
    return comparable - 2 * int(_inversions(sequence, spare))


def pair_differences(column: RankedColumn, others: Sequence[RankedColumn]) -> NDArray[np.int64]:
    """Count the concordant less the discordant pairs of rows of a column and each of others.

    A pair is concordant if both columns order it the same way, discordant if they order it in
    opposite ways, and neither if it is tied in a column. Counts are exact.
    """
    rows = column.ranks.size
    out = np.zeros(len(others), dtype=np.int64)
    if rows < 2:
        return out

    def job(own: Iterator[int]) -> None:
        work = np.empty((3, rows), dtype=np.uint32)
        for j in own:
            other = others[j]
            out[j] = _difference(column.ranks, column.tied, other.ranks, other.tied, work)

    _share(job, len(others), rows)
    return out
