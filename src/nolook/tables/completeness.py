"""Missing values where they are an error, and what waits until none has been found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from nolook._language import given
from nolook.errors import TableError
from nolook.tables.checksum import Checksum
from nolook.tables.conversion import DeclaredSource, unfiltered
from nolook.tables.design import Design
from nolook.tables.filter import Filtered
from nolook.tables.remembered import Block, Remembered
from nolook.tables.source import MemorySource, Source

__all__ = ["FirstPass", "Seen", "look", "may_drop_rows", "surely_complete"]

_DROPPING = "nolook.read_table(..., missing='drop-row')"


class FirstPass:
    """What the first pass over a table, or over one of its views, settles, and what it keeps.

    Parameters
    ----------
    source : Source
    design : Design
    kept : Remembered, optional
        What keeps rows for the passes after it.
    """

    def __init__(self, source: Source, design: Design, kept: Remembered | None = None) -> None:
        self._about = source, design
        self.kept = kept
        self.gaps = False  # whether a missing value was seen
        self.pay: Callable[[], object] | None = None
        self.rows: Checksum | None = None  # of an engine's rows, or of those a worker has seen

    def kept_of(self, source: Source, design: Design) -> Remembered | None:
        """Return what keeps rows, if it is of this source and read in this way."""
        same = self._about[0] is source and self._about[1] is design
        return self.kept if same else None

    def through(self, part: int | None, read: Iterator[Block]) -> Iterator[Block]:
        """Yield the blocks of a part, from memory if they are there, and note them if asked to."""
        for block in read if self.kept is None else self.kept.through(part, read):
            if self.rows is not None:
                self.rows.update(block[0])
            yield block

    def compare(self, gaps: bool, rows: Checksum) -> None:
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
                f"{given('missing', 'drop-row')})"
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
            f"{given('missing', 'drop-row', _DROPPING)}, or choose another policy; or declare "
            f"how cells are written: {given('schema', 'FILE.toml')})"
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
