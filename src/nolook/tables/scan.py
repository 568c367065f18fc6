"""The passes over a table's rows: read into blocks of float64 columns.

The first pass finds missing values where they are an error; what waits for that, a charge, comes
at its end. Blocks that fit are kept for the passes after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nolook._language import usage_hint
from nolook._numerics import Threads
from nolook.errors import TableError
from nolook.tables.conversion import DeclaredSource
from nolook.tables.design import Design
from nolook.tables.memory import MemorySource
from nolook.tables.units import group_hashes, hashes_of, kept_cells, keyed_hashes, sum_of_rows

__all__ = [
    "CACHE_BYTES",
    "Block",
    "BlockCache",
    "RowChecksum",
    "Run",
    "Seen",
    "Weights",
    "blocks",
    "identifiers",
    "look",
    "row_keys",
    "rows_at_once",
]

_DROPPING = "nolook.read_table(..., missing='drop-row')"


class Seen(NamedTuple):
    """What a look at some rows found."""

    complete: bool  # whether each has all that the design says it must have
    known: bool  # whether each names its unit

    def check(self, source: DeclaredSource, design: Design) -> None:
        """Refuse what the policy on missing values makes an error."""
        if design.missing != "drop-row" and not self.known:
            raise TableError(
                f"{source.name} has a row without a value of {design.unit.column!r}, its unit; "
                "expected one in every row (or leave such rows out: "
                f"{usage_hint('missing', 'drop-row')})"
            )
        if not self.complete:
            _refuse_gaps(source, design)


def look(source: DeclaredSource, design: Design) -> Seen:
    """Read all of a source, wherever something is missing: time must not tell where."""
    complete = known = True
    for batch in source.batches(design.source_names):
        complete &= design.lacks_nothing(batch)
        known &= design.lacks_no_unit(batch)
    return Seen(complete, known)


def _refuse_gaps(source: DeclaredSource, design: Design) -> None:
    """Refuse the missing values that were seen, if the policy says so."""
    if design.missing == "error":
        unlike = ", or a cell not written as declared (a plain number where nothing is)"
        raise TableError(
            f"{source.name} has a missing or infinite value in a column in use"
            f"{unlike if source.declares else ''}; expected none (leave such rows out: "
            f"{usage_hint('missing', 'drop-row', _DROPPING)}, or choose another policy; or declare "
            f"how cells are written: {usage_hint('schema', 'FILE.toml')})"
        )


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

#: Numbers of shape (columns, rows).
Block: TypeAlias = NDArray[np.float64]


class BlockCache:
    """Blocks of a table's parts. Whoever is given some must leave their numbers as they are."""

    def __init__(self) -> None:
        self._parts: dict[int | None, list[Block]] = {}
        self._room = CACHE_BYTES

    @classmethod
    def for_table(cls, source: DeclaredSource, design: Design) -> BlockCache | None:
        """Return a cache if the source tells that all numbers fit, and holds none itself."""
        rows = getattr(source.original, "rows", None)
        fits = rows is not None and rows * 8 * design.binary.size <= CACHE_BYTES
        return cls() if fits and not isinstance(source.original, MemorySource) else None

    def through(self, part: int | None, read: Iterator[Block]) -> Iterator[Block]:
        """Yield the blocks of a part: those that were kept, or else those that are read."""
        if part in self._parts:
            yield from self._parts[part]
            return
        taken = []
        for block in read:
            # A damaged file may have more rows than it tells, and parts be read as one, too.
            # An array keeps all of the one that it is a view of.
            self._room -= (block if block.base is None else block.base).nbytes
            if self._room >= 0:
                taken.append(block)
            else:
                taken.clear()
            yield block
        # One that is not read to its end is read again from its start.
        if self._room >= 0:
            self._parts[part] = taken


_MAX_ROWS = 65_536
# Numbers in a block: 8 MB, so that a table of many columns needs no more memory than one of few.
_MAX_NUMBERS = 1 << 20


def blocks(source: DeclaredSource, design: Design, run: Run) -> Iterator[Block]:
    """Fill blocks of shape (columns, rows) from a source's batches, whatever their sizes.

    Rows that do not have all they need are left out, and `run` is told of them.
    """
    columns = design.binary.size
    room = rows_at_once(columns)
    numbers, filled = np.empty((columns, room)), 0
    for batch in source.batches(design.source_names):
        start = 0
        while start < batch.num_rows:
            piece = batch.slice(start, room - filled)
            start += piece.num_rows
            found = numbers[:, filled : filled + piece.num_rows]
            present = design.fill(piece, found)
            if present is not None:
                run.gaps = True
                found = found[:, present]
                numbers[:, filled : filled + found.shape[1]] = found
            filled += found.shape[1]
            if filled == room:
                yield numbers
                numbers, filled = np.empty((columns, room)), 0
    if filled:
        # A copy: a part of a block would keep all of it.
        yield numbers[:, :filled].copy()


def rows_at_once(columns: int) -> int:
    """Return how many rows of so many numbers are in memory at a time."""
    return max(1, min(_MAX_ROWS, _MAX_NUMBERS // columns))


def identifiers(source: DeclaredSource, design: Design) -> Iterator[Any]:
    """Yield the identifiers of the rows in use; of them alone, if no row may be left out.

    A file may declare what its cells do not keep to, so the policy alone tells.
    """
    if design.missing != "error":
        yield from (cells for cells, _ in identified(source, design))
        return
    column = str(design.unit.column)
    for batch in source.batches([column]):
        yield batch.column(column)


def identified(source: DeclaredSource, design: Design) -> Iterator[tuple[Any, NDArray[np.float64]]]:
    """Yield the identifiers of the rows in use, and their numbers, of shape (columns, rows)."""
    for batch in source.batches(design.source_names):
        cells = batch.column(design.unit.column)
        numbers = np.empty((design.binary.size, batch.num_rows))
        present = design.fill(batch, numbers)
        if present is not None:
            cells, numbers = kept_cells(cells, present), numbers[:, present]
        yield cells, numbers


def row_keys(
    secret: bytes, source: DeclaredSource, design: Design, rows: int
) -> NDArray[np.uint64]:
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


class Run:
    """What the passes of one release share: threads, blocks that are kept, charges that are due.

    Charges are made at the end of the first pass, if no row was refused there; until then nothing
    that was read is handed on. No number depends on any of this. A table that no release was given
    owes nothing.
    """

    def __init__(
        self,
        threads: Threads = "auto",
        kept: BlockCache | None = None,
        pay: Callable[[], object] | None = None,
    ) -> None:
        self.threads, self.kept = threads, kept
        self.is_of_release = pay is not None
        self._due = [] if pay is None else [pay]
        self.gaps = False  # whether a missing value was seen
        self.checksum: RowChecksum | None = None  # of an engine's rows, or of a worker's

    @property
    def is_due(self) -> bool:
        """Whether the first pass is still to come."""
        return bool(self._due)

    def add(self, pay: Callable[[], object]) -> None:
        """Let a part of the release pay as well: with the release, or now if that has paid."""
        if self._due:
            self._due.append(pay)
        else:
            pay()

    def settle(self, source: DeclaredSource, design: Design) -> None:
        """Refuse gaps where they are an error, or else pay, once."""
        if self._due and self.gaps:
            _refuse_gaps(source, design)
        while self._due:
            self._due[0]()
            del self._due[0]  # what could not be paid stays due

    def compare(self, checksum: RowChecksum, name: str) -> None:
        """Refuse other rows than those of the pass before."""
        if self.checksum not in (None, checksum):
            raise TableError(
                f"{name} gave other rows than in the pass before; expected the same in each (write "
                "it to files, or persist it where it is drawn at random; start again)"
            )
        self.checksum = checksum

    def through(self, part: int | None, read: Iterator[Block]) -> Iterator[Block]:
        """Yield the blocks of a part: those that were kept, or else those that are read."""
        for block in read if self.kept is None else self.kept.through(part, read):
            if self.checksum is not None:
                self.checksum.update(block)
            yield block


#: What each row weighs, or the number of its unit; None where every row counts in full.
Weights: TypeAlias = NDArray[np.int64] | None
