"""Concordant less discordant pairs of one column with many others, as exact integers.

Columns are ranked once. The discordant pairs of two columns are the inversions of one column's
ranks in the other's order. They are counted six bits at a time: each rank in turn goes to the 64th
of the range it belongs to, and adds the number of those before it that went to a higher one. Parts
of 4096 ranks are finished with one bit a rank.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from nolook._arrays import Vector
from nolook._compiled import compiled
from nolook.kernels.counters import (
    COUNTERS,
    MOST_COUNTED,
    count_higher,
    higher_before,
    nothing_counted,
)

__all__ = ["RankedColumn", "pair_differences", "rank_columns"]

Ranks = NDArray[np.uint32]
Keys = NDArray[np.uint64]

# Ranks of a part that is finished with bits, as a power of 2.
_BITS = 12
# Cells; below, a second thread costs more than it saves.
_WORTH_THREADS = 50_000
# Bits by which a part is one of 64.
_PART = 6


@frozen
class RankedColumn:
    """A column's ranks, kept instead of its numbers.

    A rank is how many rows have a smaller number; `tied` is the number of pairs with equal ones.
    """

    ranks: Ranks
    tied: int


@compiled
def _keys(values: Vector, bits: int, out: Keys) -> None:
    """Write the leading bits of each number, in the order of numbers, before its row.

    Bits that all numbers share do not count as leading.
    """
    patterns = values.view(np.uint64)
    varied = np.uint64(0)
    for i in range(values.size):
        pattern = patterns[i]
        out[i] = pattern ^ (np.uint64(np.int64(pattern) >> 63) | (np.uint64(1) << np.uint64(63)))
        varied |= out[i] ^ out[0]
    shared = 0
    while shared < 63 and varied >> np.uint64(63 - shared) == 0:
        shared += 1
    low, high = np.uint64(bits), np.uint64(shared)
    for i in range(values.size):
        out[i] = ((out[i] << high) >> low << low) | np.uint64(i)


@compiled
def _repair(values: Vector, keys: Keys, mask: np.uint64) -> bool:
    """Sort keys with the same leading bits by insertion; give up after as many moves as rows."""
    left = keys.size
    for i in range(1, keys.size):
        key, place = keys[i], i
        while (
            place > 0
            and keys[place - 1] ^ key <= mask
            and values[key & mask] < values[keys[place - 1] & mask]
        ):
            keys[place] = keys[place - 1]
            place -= 1
            left -= 1
            if left < 0:
                return False
        keys[place] = key
    return True


@compiled
def _rank(values: Vector, keys: Keys, mask: np.uint64, ranks: Ranks) -> int:
    """Write each row's rank; return the number of tied pairs."""
    tied = 0
    first = 0
    last = keys[0]
    for i in range(keys.size):
        key = keys[i]
        if key ^ last > mask or values[key & mask] != values[last & mask]:
            first = i
        tied += i - first
        ranks[key & mask] = first
        last = key
    return tied


def _rank_column(values: Vector, keys: Keys, ranks: Ranks) -> int:
    """Write a column's ranks; return the number of tied pairs.

    Sorts by the numbers' leading bits, then what those leave in disorder; `keys` is scratch space.
    """
    if values.size == 0:
        return 0
    bits = (values.size - 1).bit_length()
    mask = np.uint64((1 << bits) - 1)
    values += 0.0  # -0 is 0
    _keys(values, bits, keys)
    keys.sort()
    if not _repair(values, keys, mask):
        keys[:] = np.argsort(values)
    return int(_rank(values, keys, mask, ranks))


def rank_columns(batches: Sequence[Vector]) -> list[RankedColumn]:
    """Rank every column of a table, given as finite batches of shape (columns, rows).

    There is at least one, and fewer than 2^32 rows together: ranks have 32 bits.
    """
    columns = len(batches[0])
    rows = sum(batch.shape[1] for batch in batches)
    ranks = np.empty((columns, rows), dtype=np.uint32)
    tied = [0] * columns

    def job(own: Iterator[int]) -> None:
        # Fresh memory is slow: a thread uses this again and again.
        values, keys = np.empty(rows), np.empty(rows, dtype=np.uint64)
        for j in own:
            np.concatenate([batch[j] for batch in batches], out=values)
            tied[j] = _rank_column(values, keys, ranks[j])

    _share(job, columns, rows)
    return [RankedColumn(*each) for each in zip(ranks, tied, strict=True)]


def _share(job: Callable[[Iterator[int]], None], columns: int, rows: int) -> None:
    """Let as many threads as there are processors take one column after the other."""
    left = iter(range(columns))  # its next number goes to one thread only
    threads = min(os.cpu_count() or 1, columns)
    if threads < 2 or columns * rows < _WORTH_THREADS:
        job(left)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(job, [left] * threads))


@compiled
def _set_bits(word: np.uint64) -> np.uint64:
    """Count the bits set; the compiler knows this form and takes one instruction for it."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    pairs = np.uint64(0x3333333333333333)
    word = (word & pairs) + ((word >> np.uint64(2)) & pairs)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@compiled
def _between(place: NDArray[np.int64], start: int, shift: int, before: NDArray[np.int64]) -> int:
    """Count the inversions of a stretch with all before it, and add it to what was before.

    `place` tells where the next rank of each part goes, `before` how many had gone there.
    """
    total = 0
    higher = 0
    for c in range(COUNTERS - 1, -1, -1):
        entered = place[c] - start - (c << shift)
        total += (entered - before[c]) * higher
        higher += before[c]
        before[c] = entered
    return total


@compiled
def _split(ranks: Ranks, out: Ranks, shift: int) -> np.int64:
    """Count the inversions between the parts of blocks of 64 * 2^shift ranks, sort by part.

    Each block of positions holds exactly the ranks of that block, as do its parts afterwards.
    """
    scratch = np.empty(COUNTERS, dtype=np.uint16)
    place = np.empty(COUNTERS, dtype=np.int64)
    before = np.empty(COUNTERS, dtype=np.int64)
    total = np.int64(0)
    for start in range(0, ranks.size, COUNTERS << shift):
        end = min(start + (COUNTERS << shift), ranks.size)
        for c in range(COUNTERS):
            place[c] = start + (c << shift)
        before[:] = 0
        for first in range(start, end, MOST_COUNTED):
            counters = nothing_counted()
            for i in range(first, min(first + MOST_COUNTED, end)):
                rank = ranks[i]
                part = np.uint64((rank >> shift) & (COUNTERS - 1))
                total += np.int64(higher_before(counters, scratch, part))
                counters = count_higher(counters, part)
                out[place[part]] = rank
                place[part] += 1
            total += _between(place, start, shift, before)
    return total


@compiled
def _finish(ranks: Ranks) -> np.int64:
    """Count the inversions within blocks of 4096 ranks."""
    scratch = np.empty(COUNTERS, dtype=np.uint16)
    words = np.empty(COUNTERS, dtype=np.uint64)
    total = np.int64(0)
    for start in range(0, ranks.size, 1 << _BITS):
        words[:] = 0
        counters = nothing_counted()
        for i in range(start, min(start + (1 << _BITS), ranks.size)):
            rank = np.uint64(ranks[i])
            part = (rank >> np.uint64(6)) & np.uint64(63)
            bit = rank & np.uint64(63)
            word = words[part]
            total += np.int64(higher_before(counters, scratch, part) + _set_bits(word >> bit))
            counters = count_higher(counters, part)
            words[part] = word | (np.uint64(1) << bit)
    return total


@compiled
def _inversions(ranks: Ranks, other: Ranks) -> np.int64:
    """Count the pairs in falling order; `ranks` holds 0..n-1, each once, and is destroyed."""
    shift = _BITS
    while ranks.size > COUNTERS << shift:
        shift += _PART
    total = np.int64(0)
    while shift >= _BITS and ranks.size > 1 << _BITS:
        total += _split(ranks, other, shift)
        ranks, other = other, ranks
        shift -= _PART
    return np.int64(total + _finish(ranks))


@compiled
def _part_ties(ranks: Ranks, used: Ranks) -> None:
    """Make equal ranks different, rising in their order, so that they are not inversions."""
    used[:] = 0
    for i in range(ranks.size):
        rank = ranks[i]
        ranks[i] = rank + used[rank]
        used[rank] += np.uint32(1)


@compiled
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


@compiled
def _pairs(n: int) -> int:
    """Return n (n - 1) / 2 in 64 bits: no product of it exceeds them for n below 2^32."""
    return (n >> 1) * ((n - 1) | 1)


@compiled
def _difference(
    ranks: Ranks, tied: int, order: Ranks, other: Ranks, other_tied: int, work: Ranks
) -> int:
    """Return the concordant less the discordant pairs of two columns.

    `order` are the rows in rising order of `ranks`, if no two are tied; `work` is scratch space.
    """
    n = ranks.size
    sequence, spare, third = work[0], work[1], work[2]
    both = 0
    if tied == 0:
        sequence[:] = other[order]
    elif other_tied == 0:
        third[other] = np.arange(n, dtype=np.uint32)
        sequence[:] = ranks[third]
    else:
        both = _by_both(ranks, other, third, spare, sequence)
    if tied > 0 or other_tied > 0:
        _part_ties(sequence, spare)
    comparable: int = _pairs(n) - tied - other_tied + both
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
    order = np.empty(0 if column.tied else rows, dtype=np.uint32)
    if not column.tied:
        order[column.ranks] = np.arange(rows, dtype=np.uint32)

    def job(own: Iterator[int]) -> None:
        work = np.empty((3, rows), dtype=np.uint32)
        for j in own:
            other = others[j]
            out[j] = _difference(column.ranks, column.tied, order, other.ranks, other.tied, work)

    _share(job, len(others), rows)
    return out
