"""The one way to run a pass here: a statistic is updated with all rows, by one thread or several.

What a statistic holds in the end does not depend on how many there were: its sums are exact, and
every thread adds rows to a copy of its own, which is merged once, here. A copy is made before any
row is seen. A release pays at the end of its first pass, and blocks of rows that fit are kept for
the next.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from copy import deepcopy
from itertools import chain
from threading import Event, Lock
from typing import Any, Protocol, Self, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
from attrs import define, field

from nolook._arrays import Integers, Matrix
from nolook._numerics import Threads
from nolook.tables.conversion import DeclaredSource
from nolook.tables.design import Design
from nolook.tables.source import MemorySource
from nolook.tables.units import kept_cells, named_rows

__all__ = [
    "CACHE_BYTES",
    "Batches",
    "Drawing",
    "Foldable",
    "Mapped",
    "Part",
    "Payment",
    "Rows",
    "Run",
    "S",
    "Together",
    "Weights",
    "blocks",
    "cache_room",
    "fold",
    "identified",
    "rows_at_once",
]

#: Yields the batches of a part, each as what a statistic's `update` takes.
Part: TypeAlias = Callable[[], Iterable[tuple[Any, ...]]]


class Foldable(Protocol):
    """The consumer of a pass; :class:`nolook.statistics.Statistic` says what one owes."""

    def update(self, *batch: Any) -> Self:  # noqa: ANN401
        """Add the rows of a batch."""

    def merge(self, other: Self) -> Self:
        """Add the rows that another one has seen."""


class Drawing(Foldable):
    """A statistic whose rows draw random numbers, each part's its own.

    Its batches are numbers, weights, and the unit of each row.
    """

    @abstractmethod
    def start(self, part: int, units: int | None) -> None:
        """Prepare for a part with this number of units; None where a row is one."""


S = TypeVar("S", bound=Foldable)


class Rows(Protocol):
    """Anything that feeds a statistic all its rows, as often as asked."""

    def fold(self, statistic: S) -> S:
        """Update a statistic that has seen nothing with all rows, in one pass, and return it."""


class Mapped:
    """A statistic of what `turn` makes of batches: for each, any number of other batches."""

    def __init__(self, statistic: Foldable, turn: Callable[..., Iterable[tuple[Any, ...]]]) -> None:
        self._statistic, self._transform = statistic, turn

    def __deepcopy__(self, memo: dict[int, Any]) -> Mapped:
        return Mapped(deepcopy(self._statistic, memo), self._transform)

    def update(self, *batch: Any) -> Self:  # noqa: ANN401
        """Add the rows of a batch."""
        for turned in self._transform(*batch):
            self._statistic.update(*turned)
        return self

    def merge(self, other: Self) -> Self:
        """Add the rows that another one has seen."""
        self._statistic.merge(other._statistic)
        return self


class Together:
    """Several statistics fed by one pass."""

    def __init__(self, *statistics: Foldable) -> None:
        self._statistics = statistics

    def update(self, *batch: Any) -> Self:  # noqa: ANN401
        """Add the rows of a batch to each."""
        for statistic in self._statistics:
            statistic.update(*batch)
        return self

    def merge(self, other: Self) -> Self:
        """Add the rows that others have seen."""
        for statistic, seen in zip(self._statistics, other._statistics, strict=True):
            statistic.merge(seen)
        return self


class Batches:
    """Rows in memory already, each batch as what a statistic's `update` takes."""

    def __init__(self, batches: Sequence[tuple[Any, ...]], threads: int = 1) -> None:
        self._batches, self._threads = batches, threads

    def fold(self, statistic: S) -> S:
        """Update a statistic that has seen nothing with all rows, and return it."""
        return fold(statistic, [lambda: self._batches], self._threads)


def fold(statistic: S, parts: Sequence[Part], threads: int = 1) -> S:
    """Update a statistic that has seen nothing with every batch of every part, and return it.

    Each thread takes a part that none has begun, then batches of those that others still read.
    About a batch and a state for each thread are in memory. Where parts fail, the error is that of
    the first of them, whatever the number of threads.
    """
    sources, stop = list(enumerate((iter(part()), Lock()) for part in parts)), Event()
    waiting, failed = iter(sources), dict[int, Exception]()

    def read(own: S) -> S:
        for place, (batches, lock) in chain(waiting, sources):
            try:
                while not stop.is_set() and place < min(failed, default=len(parts)):
                    with lock:
                        batch = next(batches, None)
                    if batch is None:
                        break
                    own.update(*batch)
            except Exception as error:  # noqa: BLE001 -- raised when all parts before were read
                failed[place] = error
        return own

    copies = [deepcopy(statistic) for _ in range(threads - 1)]
    with ThreadPoolExecutor(threads, "nolook") as pool:
        # Under the caller's settings.
        others = [pool.submit(copy_context().run, read, own) for own in copies]
        try:
            read(statistic)
            for other in others:
                statistic.merge(other.result())
        finally:
            stop.set()
    if failed:
        raise failed[min(failed)]
    return statistic


#: What may be kept of a table; of one that is in memory already an eighth of it.
CACHE_BYTES = 256 * 2**20


def cache_room(source: DeclaredSource, design: Design) -> int:
    """Return the bytes of blocks to keep: -1 unless all fit."""
    rows = getattr(source.original, "rows", None)
    room = CACHE_BYTES // (8 if isinstance(source.original, MemorySource) else 1)
    return room if rows is not None and rows * 8 * design.size <= room else -1


_MAX_ROWS = 65_536
# Numbers in a block: 8 MB, so that a table of many columns needs no more memory than one of few
# and threads seldom wait for each other between two calls.
_MAX_NUMBERS = 1 << 20
# Where columns are so many that a block would have few rows, what is done for each column costs
# more than the block: as many rows as here, in at most 32 MB.
_WIDE_ROWS, _WIDE_NUMBERS = 128, 1 << 22


def blocks(source: DeclaredSource, design: Design, run: Run, part: int | None) -> Iterator[Matrix]:
    """Fill blocks of shape (columns, rows) from a part's batches, whatever their sizes.

    Rows that do not have all they need are left out; at the end `run` is told how many.
    """
    columns, left_out = design.size, 0
    room = rows_at_once(columns)
    numbers, filled = np.empty((columns, room)), 0
    for batch in source.batches(design.source_names):
        start = 0
        while start < batch.num_rows:
            piece = batch.slice(start, room - filled)
            start += piece.num_rows
            found = numbers[:, filled : filled + piece.num_rows]
            present = design.fill(piece, found)
            if not present.all():
                found = found[:, present]
                left_out += piece.num_rows - found.shape[1]
                numbers[:, filled : filled + found.shape[1]] = found
            filled += found.shape[1]
            if filled == room:
                yield numbers
                numbers, filled = np.empty((columns, room)), 0
    if filled:
        # A copy: a part of a block would keep all of it.
        yield numbers[:, :filled].copy()
    run.left_out[part] = left_out


def rows_at_once(columns: int) -> int:
    """Return the number of rows of `columns` numbers that are in memory at a time."""
    wide = min(_WIDE_ROWS, _WIDE_NUMBERS // columns)
    return max(1, min(_MAX_ROWS, max(wide, _MAX_NUMBERS // columns)))


def in_one_block(source: DeclaredSource, design: Design) -> bool:
    """Return whether all rows are one batch, so that a second thread would find none."""
    rows = getattr(source.original, "rows", None)
    return rows is not None and rows <= rows_at_once(design.size)


def identified(source: DeclaredSource, design: Design) -> Iterator[tuple[Any, Any, Matrix]]:
    """Yield identifiers of rows in use, those of rows left out, and the numbers of the former.

    Numbers have shape (columns, rows). Rows without an identifier are in neither.
    """
    for batch in source.batches(design.source_names):
        cells, others = batch.column(design.unit.column), None
        numbers = np.empty((design.size, batch.num_rows))
        present = design.fill(batch, numbers)
        if not present.all():
            others = kept_cells(cells, named_rows(cells) & ~present)
            cells, numbers = kept_cells(cells, present), numbers[:, present]
        yield cells, others, numbers


@define
class Payment:
    """The charges that a release still owes for its table.

    They are paid at the end of its first pass, if all rows could be read: a damaged table costs
    nothing, and nothing that was read is handed on before.
    """

    due: list[Callable[[], object]] | None = None  # None where no release reads the table

    def add(self, pay: Callable[[], object]) -> None:
        """Let a part of the release pay as well: with the release, or now if that has paid."""
        if self.due:
            self.due.append(pay)
        else:
            pay()

    def charge(self) -> None:
        """Charge the ledger, once."""
        while self.due:
            self.due[0]()
            del self.due[0]  # what could not be paid stays due


@define
class Run:
    """The shared state of one release's passes: threads, and blocks kept from one to the next.

    No number depends on any of this. Code that receives blocks must leave their numbers as they
    are.
    """

    threads: Threads = "auto"
    room: int = -1  # bytes of blocks that may be kept; below 0 none are
    left_out: dict[int | None, int] = field(factory=dict)  # rows of each part, or of all, once read
    seen: Any = None  # what an engine compares its passes by
    _kept: dict[int | None, list[Matrix]] = field(factory=dict)  # the blocks of parts
    _held: list[int] = field(factory=list)  # bytes of each block, by any of several threads

    def through(self, part: int | None, read: Iterator[Matrix]) -> Iterator[Matrix]:
        """Yield the blocks of a part: those that were kept, or else those that are read."""
        if self.room < 0 or part in self._kept:
            yield from self._kept.get(part, read)
            return
        taken = []
        for block in read:
            # A damaged file may have more rows than it tells, and parts be read as one, too.
            self._held.append(block.nbytes)
            taken.append(block)
            if sum(self._held) > self.room:
                taken.clear()
            yield block
        # One that is not read to its end is read again from its start.
        if taken:
            self._kept[part] = taken
            pa.default_memory_pool().release_unused()  # what decoded it is not needed again


#: What each row weighs, or the number of its unit; None where every row counts in full.
Weights: TypeAlias = Integers | None
