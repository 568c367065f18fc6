"""Concordant less discordant pairs of one column with many others, as exact integers.

Columns are ranked once. The discordant pairs of two columns are the inversions of one column's
ranks in the other's order. They are counted six bits at a time: ranks go to their 64th part of the
range in their order, each adding the number of those that went to a higher part before. Parts of
4096 ranks are finished with one bit a rank.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["RankedColumn", "pair_differences", "rank_columns"]

# Ranks of a part that is finished with bits, as a power of 2.
_BITS = 12
# Cells; below, a second thread costs more than it saves.
_WORTH_THREADS = 50_000
# Room for the counters of 64 parts: eight coarse ones, 64 fine ones and 64 places.
_COUNTS = 136


@dataclass(frozen=True, slots=True)
class RankedColumn:
    """A column's order, kept instead of its numbers.

    Parameters
    ----------
    order : ndarray of uint32, shape (n,)
        The rows from the smallest number to the largest, those of equal numbers in any order.
    ranks : ndarray of uint32, shape (n,)
        For each row, how many rows have a smaller number.
    tied : int
        Number of pairs of rows with equal numbers.
    """

    order: NDArray[np.uint32]
    ranks: NDArray[np.uint32]
    tied: int


@njit(nogil=True, cache=True)
def _pack(values: NDArray[np.float64], bits: int, out: NDArray[np.int64]) -> None:
    """Write the leading bits of each number, in the order of numbers, before its row."""
    patterns = values.view(np.int64)
    for i in range(values.size):
        pattern = patterns[i]
        key = pattern ^ ((pattern >> 63) & 0x7FFFFFFFFFFFFFFF)
        out[i] = ((key >> bits) << bits) | i


@njit(nogil=True, cache=True)
def _repair(values: NDArray[np.float64], order: NDArray[np.uint32]) -> bool:
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
def _rank(values: NDArray[np.float64], order: NDArray[np.uint32], ranks: NDArray[np.uint32]) -> int:
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
def _unpack(packed: NDArray[np.int64], bits: int, out: NDArray[np.uint32]) -> None:
    """Write the rows; `out` may be the beginning of the same memory."""
    for i in range(packed.size):
        out[i] = packed[i] & ((1 << bits) - 1)


def _rank_column(values: NDArray[np.float64]) -> RankedColumn:
    """Rank a column: sort the numbers' leading bits, then what those leave in disorder."""
    n = values.size
    packed = np.empty(n, dtype=np.int64)
    # Fresh memory is slow: the result takes the place of what was sorted.
    halves = packed.view(np.uint32)
    order, ranks = halves[:n], halves[n:]
    if n == 0:
        return RankedColumn(order, ranks, 0)
    bits = (n - 1).bit_length()
    _pack(values, bits, packed)
    packed.sort()
    _unpack(packed, bits, order)
    if not _repair(values, order):
        order[:] = np.argsort(values)
    return RankedColumn(order, ranks, int(_rank(values, order, ranks)))


def rank_columns(batches: Sequence[NDArray[np.float64]]) -> list[RankedColumn]:
    """Rank every column of a table.

    Parameters
    ----------
    batches : sequence of ndarray of shape (columns, rows)
        At least one; finite; fewer than 2^32 rows together.

    Returns
    -------
    list of RankedColumn
    """
    columns = len(batches[0])
    rows = sum(batch.shape[1] for batch in batches)
    none = np.empty(0, dtype=np.uint32)
    ranked = [RankedColumn(none, none, 0)] * columns

    def job(own: Iterator[int]) -> None:
        values = np.empty(rows)
        for j in own:
            np.concatenate([batch[j] for batch in batches], out=values)
            ranked[j] = _rank_column(values)

    _share(job, columns, rows)
    return ranked


def _share(job: Callable[[Iterator[int]], None], columns: int, rows: int) -> None:
    """Let as many threads as there are processors take one column after the other."""
    left = deque(range(columns))

    def own() -> Iterator[int]:
        while True:
            try:
                yield left.popleft()
            except IndexError:
                return

    threads = min(os.cpu_count() or 1, columns)
    if threads < 2 or columns * rows < _WORTH_THREADS:
        job(own())
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(job, [own() for _ in range(threads)]))


@njit(nogil=True, cache=True)
def _set_bits(word: np.uint64) -> np.uint64:
    """Count the bits set; the compiler knows this form and takes one instruction for it."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    pairs = np.uint64(0x3333333333333333)
    word = (word & pairs) + ((word >> np.uint64(2)) & pairs)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@njit(nogil=True, cache=True)
def _count_above(part: np.uint32, coarse: NDArray[np.uint32], fine: NDArray[np.uint32]) -> np.int64:
    """Count the earlier entries of higher parts, 0..63, and enter this one."""
    eighth = part >> np.uint32(3)
    within = part & np.uint32(7)
    above = np.int64(coarse[eighth]) + np.int64(fine[part])
    start = eighth << np.uint32(3)
    for c in range(8):
        coarse[c] += np.uint32(c < eighth)
    for c in range(8):
        fine[start + c] += np.uint32(c < within)
    return above


@njit(nogil=True, cache=True)
def _split(
    ranks: NDArray[np.uint32], out: NDArray[np.uint32], shift: int, counts: NDArray[np.uint32]
) -> np.int64:
    """Count the inversions between 64ths of blocks of 64 * 2^shift ranks and sort by 64th.

    Each block of positions holds exactly the ranks of that block, as do the 64ths afterwards.
    """
    coarse, fine, place = counts[:8], counts[8:72], counts[72:136]
    total = np.int64(0)
    bits = np.uint32(shift)
    for start in range(0, ranks.size, 64 << shift):
        coarse[:] = 0
        fine[:] = 0
        for c in range(64):
            place[c] = start + (c << shift)
        for i in range(start, min(start + (64 << shift), ranks.size)):
            rank = ranks[i]
            part = (rank >> bits) & np.uint32(63)
            total += _count_above(part, coarse, fine)
            out[place[part]] = rank
            place[part] += np.uint32(1)
    return total


@njit(nogil=True, cache=True)
def _finish(ranks: NDArray[np.uint32], counts: NDArray[np.uint32]) -> np.int64:
    """Count the inversions within blocks of 4096 ranks."""
    coarse, fine = counts[:8], counts[8:72]
    words = np.empty(64, dtype=np.uint64)
    total = np.int64(0)
    for start in range(0, ranks.size, 1 << _BITS):
        coarse[:] = 0
        fine[:] = 0
        words[:] = 0
        for i in range(start, min(start + (1 << _BITS), ranks.size)):
            rank = ranks[i]
            part = (rank >> np.uint32(6)) & np.uint32(63)
            bit = np.uint64(rank & np.uint32(63))
            word = words[part]
            total += _count_above(part, coarse, fine) + np.int64(_set_bits(word >> bit))
            words[part] = word | (np.uint64(1) << bit)
    return total


@njit(nogil=True, cache=True)
def _inversions(
    ranks: NDArray[np.uint32], other: NDArray[np.uint32], counts: NDArray[np.uint32]
) -> np.int64:
    """Count the pairs in falling order; `ranks` holds 0..n-1, each once, and is destroyed."""
    shift = _BITS
    while ranks.size > 64 << shift:
        shift += 6
    total = np.int64(0)
    while shift >= _BITS and ranks.size > 1 << _BITS:
        total += _split(ranks, other, shift, counts)
        ranks, other = other, ranks
        shift -= 6
    return total + _finish(ranks, counts)


@njit(nogil=True, cache=True)
def _part_ties(ranks: NDArray[np.uint32], used: NDArray[np.uint32]) -> None:
    """Give equal ranks different ones, rising in their order, so that they are no inversions."""
    used[:] = 0
    for i in range(ranks.size):
        rank = ranks[i]
        ranks[i] = rank + used[rank]
        used[rank] += np.uint32(1)


@njit(nogil=True, cache=True)
def _by_both(
    ranks: NDArray[np.uint32],
    order: NDArray[np.uint32],
    other: NDArray[np.uint32],
    used: NDArray[np.uint32],
    out: NDArray[np.uint32],
) -> int:
    """Write the ranks `other` in rising order of (`ranks`, `other`); return pairs tied in both.

    `order` is that of `other`.
    """
    used[:] = 0
    for i in range(order.size):
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
def _take(ranks: NDArray[np.uint32], order: NDArray[np.uint32], out: NDArray[np.uint32]) -> None:
    for i in range(order.size):
        out[i] = ranks[order[i]]


@njit(nogil=True, cache=True)
def _difference(
    order: NDArray[np.uint32],
    ranks: NDArray[np.uint32],
    tied: int,
    other_order: NDArray[np.uint32],
    other_ranks: NDArray[np.uint32],
    other_tied: int,
    work: NDArray[np.uint32],
) -> int:
    """Return the concordant less the discordant pairs of two columns; `work` is scratch space."""
    n = order.size
    sequence, spare, counts = work[:n], work[n : 2 * n], work[2 * n :]
    both = 0
    if tied == 0:
        _take(other_ranks, order, sequence)
        if other_tied > 0:
            _part_ties(sequence, spare)
    elif other_tied == 0:
        _take(ranks, other_order, sequence)
        _part_ties(sequence, spare)
    else:
        both = _by_both(ranks, other_order, other_ranks, spare, sequence)
        _part_ties(sequence, spare)
    comparable = n * (n - 1) // 2 - tied - other_tied + both
    return comparable - 2 * int(_inversions(sequence, spare, counts))


def pair_differences(column: RankedColumn, others: Sequence[RankedColumn]) -> NDArray[np.int64]:
    """Count the concordant less the discordant pairs of rows of a column and each of others.

    A pair of rows is concordant if both columns order it the same way, discordant if they order it
    in opposite ways, and neither if it is tied in a column.

    Parameters
    ----------
    column : RankedColumn
    others : sequence of RankedColumn
        Of the same rows.

    Returns
    -------
    ndarray of int64, shape (len(others),)
        Exact.
    """
    rows = column.order.size
    out = np.zeros(len(others), dtype=np.int64)
    if rows < 2:
        return out

    def job(own: Iterator[int]) -> None:
        work = np.empty(2 * rows + _COUNTS, dtype=np.uint32)
        ours = (column.order, column.ranks, column.tied)
        for j in own:
            other = others[j]
            out[j] = _difference(*ours, other.order, other.ranks, other.tied, work)

    _share(job, len(others), rows)
    return out
