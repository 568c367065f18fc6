"""The passes over a table's rows: read into blocks of float64 columns, by threads or by an engine.

The first pass finds missing values where they are an error; what waits for that, a payment, comes
at its end. Blocks that fit are kept for the passes after it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import partial
from typing import Any, NamedTuple, Self, TypeAlias, cast

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from nolook._language import usage_hint
from nolook._numerics import Threads, worker_threads
from nolook._unit import Unit
from nolook.errors import TableError
from nolook.tables.conversion import DeclaredSource, in_place_of, needed, original, unfiltered
from nolook.tables.design import Design
from nolook.tables.filter import Filtered
from nolook.tables.folding import DistributedSource, Drawing, Foldable, S, fold
from nolook.tables.memory import MemorySource
from nolook.tables.source import Source
from nolook.tables.units import group_hashes, hashes_of, kept_cells, keyed_hashes, sum_of_rows

__all__ = [
    "CACHE_BYTES",
    "Block",
    "BlockCache",
    "ExecutionOptions",
    "FirstPass",
    "Passes",
    "RowChecksum",
    "Seen",
    "Weights",
    "blocks",
    "identifiers",
    "look",
    "may_drop_rows",
    "row_keys",
    "surely_complete",
]

_DROPPING = "nolook.read_table(..., missing='drop-row')"


class FirstPass:
    """What the first pass over a table, or over one of its views, settles: gaps, then the payment.

    Parameters
    ----------
    source : Source
    design : Design
    pay : callable, optional
        Called once, at the end of the first pass, if no row was refused.
    """

    def __init__(
        self, source: Source, design: Design, pay: Callable[[], object] | None = None
    ) -> None:
        self._about = source, design
        self.pay = pay
        self.gaps = False  # whether a missing value was seen
        self.rows: RowChecksum | None = None  # of an engine's rows, or of those a worker has seen

    def noted(self, blocks: Iterator[Block]) -> Iterator[Block]:
        """Yield blocks, counted in the checksum if there is one."""
        for block in blocks:
            if self.rows is not None:
                self.rows.update(block[0])
            yield block

    def compare(self, gaps: bool, rows: RowChecksum) -> None:
        """Take over what a pass by an engine saw; refuse other rows than in the pass before."""
        self.gaps |= gaps
        if self.rows not in (None, rows):
            raise TableError(
                f"{self._about[0].name} gave other rows than in the pass before; expected the same "
                "in each (write it to files, or persist it where it is drawn at random; start "
                "again)"
            )
        self.rows = rows

    def end(self) -> None:
        """Refuse gaps where they are an error, or else pay, once."""
        if self.pay is not None:
            if self.gaps:
                _refuse_gaps(*self._about)
            self.pay()
            self.pay = None


class Seen(NamedTuple):
    """What a look at some rows found."""

    complete: bool  # whether each has all that the design says it must have
    known: bool  # whether each names its unit

    def check(self, source: Source, design: Design) -> None:
        """Refuse what the policy on missing values makes an error."""
        if design.missing != "drop-row" and not self.known:
            raise TableError(
                f"{source.name} has a row without a value of {design.unit.column!r}, its unit; "
                "expected one in every row (or leave such rows out: "
                f"{usage_hint('missing', 'drop-row')})"
            )
        if not self.complete:
            _refuse_gaps(source, design)


def surely_complete(source: Source, design: Design) -> bool:
    """Tell whether a source is in memory, with nothing missing that can be found at once."""
    return (
        design.unit.column is None
        and isinstance(source, MemorySource)
        and source.surely_finite(design.source_names)
    )


def look(source: Source, design: Design) -> Seen:
    """Read all of a source, wherever something is missing: time must not tell where."""
    complete = known = True
    for batch in source.batches(design.source_names):
        complete &= design.lacks_nothing(batch)
        known &= design.lacks_no_unit(batch)
    return Seen(complete, known)


def _refuse_gaps(source: Source, design: Design) -> None:
    """Refuse the missing values that were seen, if the policy says so."""
    if design.missing == "error":
        declared = isinstance(unfiltered(source), DeclaredSource)
        unlike = ", or a cell not written as declared (a plain number where nothing is)"
        raise TableError(
            f"{source.name} has a missing or infinite value in a column in use"
            f"{unlike if declared else ''}; expected none (leave such rows out: "
            f"{usage_hint('missing', 'drop-row', _DROPPING)}, or choose another policy; or declare "
            f"how cells are written: {usage_hint('schema', 'FILE.toml')})"
        )


def may_drop_rows(source: Source, design: Design) -> bool:
    """Tell from a filter, policy and declared types whether rows may be left out."""
    if isinstance(source, Filtered):
        return True
    if design.missing == "error":
        return False
    needed = {design.target}
    if design.missing == "drop-row":
        needed |= {f.name for f in design.features if f.levels is None}
        needed.add(design.unit.column)
    return any(c.may_be_missing for c in source.columns if c.name in needed)


class RowChecksum:
    """How many rows a pass saw, and what they were, whatever their order: the same in each pass.

    It finds rows that changed, not rows that were changed to deceive it.
    """

    def __init__(self) -> None:
        self.rows = self.sum = 0

    def update(self, numbers: NDArray[np.float64]) -> None:
        """Add rows of shape (columns, rows)."""
        self._add(numbers.shape[1], int(sum_of_rows(numbers)))

    def merge(self, other: RowChecksum) -> None:
        """Add the rows another one has seen."""
        self._add(other.rows, other.sum)

    def _add(self, rows: int, added: int) -> None:
        self.rows += rows
        self.sum = (self.sum + added) % 2**64

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowChecksum) and (self.rows, self.sum) == (other.rows, other.sum)

    __hash__ = None  # type: ignore[assignment]


#: What may be kept of a table.
CACHE_BYTES = 256 * 2**20

#: Numbers of shape (columns, rows), and which rows have all they need.
Block: TypeAlias = tuple[NDArray[np.float64], NDArray[np.bool_]]


class BlockCache:
    """Blocks of a table's parts. Whoever is given some must leave their numbers as they are."""

    def __init__(self, source: Source, design: Design) -> None:
        self._about = source, design
        self._parts: dict[int | None, list[Block]] = {}
        self._room = CACHE_BYTES

    def is_of(self, source: Source, design: Design) -> bool:
        """Tell whether the blocks are of a source, and were read in the same way."""
        return self._about[0] is source and self._about[1] is design

    def through(self, part: int | None, read: Iterator[Block]) -> Iterator[Block]:
        """Yield the blocks of a part: those that were kept, or else those that are read."""
        if part in self._parts:
            yield from self._parts[part]
            return
        taken = []
        for block in read:
            # A damaged file may have more rows than it tells, and parts be read as one, too.
            self._room -= sum(map(_bytes, block))
            if self._room >= 0:
                taken.append(block)
            else:
                taken.clear()
            yield block
        # One that is not read to its end is read again from its start.
        if self._room >= 0:
            self._parts[part] = taken


def _bytes(array: NDArray[Any]) -> int:
    """Return how many bytes an array keeps: those of all that it is a view of."""
    return (array if array.base is None else array.base).nbytes


_MAX_ROWS = 65_536
# Numbers in a block: 8 MB, so that a table of many columns needs no more memory than one of few.
_MAX_NUMBERS = 1 << 20


def blocks(
    source: Source, design: Design, columns: int, first_pass: FirstPass, *, drop: bool
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.bool_]]]:
    """Fill blocks from a source's batches, whatever their sizes.

    Yields numbers of shape (columns, rows), and which rows have all they need; with `drop` the
    others are left out. `first_pass` is told of these.
    """
    room = max(1, min(_MAX_ROWS, _MAX_NUMBERS // columns))
    numbers, complete = _block(columns, room)
    filled = 0
    for batch in source.batches(design.source_names):
        start = 0
        while start < batch.num_rows:
            piece = batch.slice(start, room - filled)
            start += piece.num_rows
            end = filled + piece.num_rows
            present = design.fill(piece, numbers[:, filled:end])
            complete[filled:end] = True if present is None else present
            first_pass.gaps |= present is not None
            if present is not None and drop:
                end = filled + int(present.sum())
                numbers[:, filled:end] = numbers[:, filled : filled + piece.num_rows][:, present]
            filled = end
            if filled == room:
                yield numbers, complete
                numbers, complete = _block(columns, room)
                filled = 0
    if filled:
        # Copies: a part of a block would keep all of it.
        yield numbers[:, :filled].copy(), complete[:filled].copy()


def _block(columns: int, rows: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    return np.empty((columns, rows)), np.empty(rows, dtype=bool)


def identifiers(source: Source, design: Design) -> Iterator[Any]:
    """Yield the identifiers of the rows in use; of them alone, if no row may be left out.

    A file may declare what its cells do not keep to, so the policy alone tells.
    """
    if design.missing != "error":
        yield from (cells for cells, _ in identified(source, design))
        return
    column = str(design.unit.column)
    for batch in source.batches([column]):
        yield batch.column(column)


def identified(source: Source, design: Design) -> Iterator[tuple[Any, NDArray[np.float64]]]:
    """Yield the identifiers of the rows in use, and their numbers, of shape (columns, rows)."""
    width = len(design.feature_names) + (design.target is not None)
    for batch in source.batches(design.source_names):
        cells, numbers = batch.column(design.unit.column), np.empty((width, batch.num_rows))
        present = design.fill(batch, numbers)
        if present is not None:
            cells, numbers = kept_cells(cells, present), numbers[:, present]
        yield cells, numbers


def row_keys(secret: bytes, source: Source, design: Design, rows: int) -> NDArray[np.uint64]:
    """Return a random number for each row in use, whatever their order and in every pass.

    It follows from the secret, the row's unit and numbers, and how many like it come before it in
    the unit: rows that no table tells apart may change places.
    """
    found = [np.empty((0, 2), dtype=np.uint64)]
    for cells, numbers in identified(source, design):
        own = np.ascontiguousarray(numbers.T).view(np.uint64)
        found.append(_hashed(np.hstack([hashes_of(cells, secret), own]), secret))
    hashes = np.concatenate(found)
    alike, _ = group_hashes(hashes)
    counts = np.bincount(alike, minlength=1)
    before = np.empty(rows, dtype=np.uint64)
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    before[np.argsort(alike, kind="stable")] = np.arange(rows) - starts
    return _hashed(np.column_stack([hashes, before]), secret)[:, 0]


def _hashed(words: NDArray[np.uint64], key: bytes) -> NDArray[np.uint64]:
    """Hash each row of words."""
    size = 8 * words.shape[1]
    starts = np.arange(0, size * len(words) + 1, size)
    return keyed_hashes(np.ascontiguousarray(words).view(np.uint8).ravel(), starts, key)


@frozen
class ExecutionOptions:
    """How rows are read: no bit of what they give depends on it."""

    threads: Threads = "auto"
    kept: BlockCache | None = None

    def keeping(self, source: Source, design: Design) -> ExecutionOptions:
        """Return means that keep the rows of a source, if it tells that all their numbers fit."""
        if self.kept is not None and self.kept.is_of(source, design):
            return self
        found = original(source)
        rows = getattr(found, "rows", None)
        fits = rows is not None and rows * (8 * design.binary.size + 1) <= CACHE_BYTES
        fits = fits and not isinstance(found, MemorySource)
        return evolve(self, kept=BlockCache(source, design) if fits else None)

    def through(self, part: int | None, read: Iterator[Block]) -> Iterator[Block]:
        """Yield the blocks of a part: those that were kept, or else those that are read."""
        return read if self.kept is None else self.kept.through(part, read)


#: What each row weighs, or the number of its unit; None where every row counts in full.
Weights: TypeAlias = NDArray[np.int64] | None


class Passes(ABC):
    """Rows that are passed over as often as wanted; who reads them is the source's affair."""

    def __init__(self, source: Source, design: Design, means: ExecutionOptions) -> None:
        self._source = source
        self._design = design
        self._means = means
        self.unit: Unit = design.unit
        self._first_pass = FirstPass(source, design)

    @property
    @abstractmethod
    def _parts(self) -> Sequence[Source]:
        """The source's parts; their rows in use, one after the other, are this table's."""

    @abstractmethod
    def _weighted(self, part: int | None) -> Iterator[tuple[NDArray[np.float64], Weights]]:
        """Yield batches and what each row weighs, of all rows or of a part."""

    @abstractmethod
    def _of_units(self, part: int | None) -> Iterator[tuple[NDArray[np.float64], Weights, Weights]]:
        """Yield batches, weights, and the number of each row's unit."""

    @abstractmethod
    def count_units(self) -> int:
        """Return how many units there are."""

    def fold(self, statistic: S) -> S:
        """Update a statistic that has seen nothing with all rows, in one pass, and return it.

        It takes batches of rows, as of :meth:`Table.batches`, cut elsewhere perhaps, and what each
        row weighs: whole numbers, those of a unit ``unit.whole`` together at most, shared equally
        and rounded down; or None where every row counts in full. Parts of the table are read by
        several threads at a time, or by an engine's workers; what it holds is the same, to the last
        bit, for any number of them.
        """
        if self._cluster is not None:
            self._fold_elsewhere(statistic, self._cluster)
        else:
            count = len(self._parts)
            places = [None] if count == 1 else range(count)
            fold(statistic, [partial(self._weighted, place) for place in places], self.threads)
        self._first_pass.end()
        return statistic

    def _fold_elsewhere(self, statistic: Foldable, cluster: DistributedSource) -> None:
        gaps, rows = False, RowChecksum()
        for state, with_gaps, checksum in self._collect(partial(_state, statistic), cluster):
            statistic.merge(state)
            rows.merge(checksum)
            gaps |= with_gaps
        self._first_pass.compare(gaps, rows)

    def _collect(
        self, work: Callable[[Any, int], Any], cluster: DistributedSource, *, alone: bool = False
    ) -> Iterator[Any]:
        """Yield what some work returns for the rows of every part, in the parts' order.

        All rows of a unit are in one part, unless each row can be judged alone.
        """
        names = needed(self._source, self._design.source_names)
        unit = None
        if self.unit.column is not None and not alone:
            unit = in_place_of(unfiltered(self._source), None), self.unit.column
        return cluster.collect(partial(_over, self.with_source(None), work), names, unit)

    @property
    def threads(self) -> int:
        """How many threads read and count."""
        return worker_threads(self._means.threads)

    @property
    def _cluster(self) -> DistributedSource | None:
        found = original(self._source)
        return found if isinstance(found, DistributedSource) else None

    @property
    def engine(self) -> str | None:
        """Who reads the rows where no thread of this process does, such as "Spark"."""
        return None if self._cluster is None else self._cluster.engine

    def check_here(self) -> None:
        """Refuse rows that an engine reads: they are not handed over."""
        if self._cluster is not None:
            self._cluster.batches(())

    def with_source(self, source: Source | None) -> Self:
        """Return the table of another source with the same columns, fit to be pickled.

        With None it has no rows: it is what other processes are sent, to read theirs with.
        """
        table = copy(self)
        table._source = cast("Source", in_place_of(self._source, source))
        table._means = evolve(self._means, kept=None)
        table._first_pass = FirstPass(table._source, self._design)
        return table

    def charging(self, pay: Callable[[], object]) -> Self:
        """Return the same table; it calls `pay` before it hands on anything it reads.

        That is at the end of its first pass, if no row is refused there (:meth:`check_complete`).
        """
        if self.unit.column is not None:
            self.check_complete()  # the pass that groups units looks at nothing else
            pay()
            return self._fresh()
        return self._fresh(pay)

    def _fresh(self, pay: Callable[[], object] | None = None) -> Self:
        """Return a copy whose first pass is still to come, and keeps the rows if they fit."""
        table = copy(self)
        table._means = self._means.keeping(self._source, self._design)
        table._first_pass = FirstPass(self._source, self._design, pay)
        return table

    def finish_first_pass(self) -> None:
        """Look for missing values in a pass of its own, and pay, if no pass has."""
        if self._first_pass.pay is not None:
            self.check_complete()
            self._first_pass.end()

    def check_complete(self) -> None:
        """Refuse a table that cannot be read, or has missing values if its policy is "error".

        One pass over the table, or a quicker one over an array in memory that is finite. With the
        policy "error", whether it raises TableError is one bit about the data that no noise
        protects, and all it reveals: the message says neither where nor how many values are missing
        or infinite. The other policies reveal nothing but that the file is damaged.
        """
        source, design = self._source, self._design
        if surely_complete(source, design):
            return
        if self._cluster is None:
            seen = look(source, design)
        else:
            found = [*self._collect(_looked, self._cluster, alone=True)]
            seen = Seen(*(all(each) for each in zip(Seen(True, True), *found, strict=True)))
        seen.check(source, design)


def _over(table: Passes, work: Callable[[Any, int], Any], source: Source, part: int) -> Any:  # noqa: ANN401
    """Do some work with a table that was sent without its rows, where these are."""
    return work(table.with_source(source), part)


def _state(statistic: S, table: Passes, part: int) -> tuple[S, bool, RowChecksum]:
    """Update a statistic with all rows; return whether a value was missing, and a checksum."""
    first = table._first_pass
    first.rows = RowChecksum()
    batches: Iterator[tuple[Any, ...]] = table._weighted(None)
    if isinstance(statistic, Drawing):
        statistic.start(part, None if table.unit.column is None else table.count_units())
        batches = table._of_units(None)
    for batch in batches:
        statistic.update(*batch)
    return statistic, first.gaps, first.rows


def _looked(table: Passes, _: int) -> Seen:
    return look(table._source, table._design)
