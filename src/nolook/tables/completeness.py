"""Missing values where they are an error, and what waits until none has been found."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from nolook._language import given
from nolook.errors import TableError
from nolook.tables.declared import DeclaredSource, original
from nolook.tables.design import Design
from nolook.tables.source import MemorySource, Source

__all__ = ["FirstPass", "check_complete", "may_drop_rows"]

_DROPPING = "nolook.read_table(..., missing='drop-row')"


class FirstPass:
    """What the first pass over a table, or over one of its views, settles."""

    def __init__(self, source: Source, design: Design) -> None:
        self._about = source, design
        self.gaps = False  # whether a missing value was seen
        self.pay: Callable[[], object] | None = None

    def end(self) -> None:
        """Refuse gaps where they are an error, or else pay, once."""
        if self.pay is not None:
            if self.gaps:
                _refuse_gaps(*self._about)
            self.pay()
            self.pay = None


def check_complete(source: Source, design: Design) -> None:
    """Refuse a source that cannot be read, or lacks what the design says every row must have.

    Reads it all, wherever something is missing, or looks at an array in memory at once. With the
    policy "error", whether it raises TableError is one bit about the data that no noise protects,
    and all it reveals: the message says neither where nor how many values are missing or infinite.
    The other policies reveal nothing but that the file is damaged.
    """
    names = design.source_names
    quick = design.unit.column is None and isinstance(source, MemorySource)
    if quick and cast("MemorySource", source).surely_finite(names):
        return
    complete = known = True
    for batch in source.batches(names):
        complete &= design.lacks_nothing(batch)  # to the end: time must not tell where
        known &= design.lacks_no_unit(batch)
    if design.missing != "drop-row" and not known:
        raise TableError(
            f"{source.name} has a row without a value of {design.unit.column!r}, its unit; "
            "expected one in every row (or leave such rows out: "
            f"{given('missing', 'drop-row')})"
        )
    if not complete:
        _refuse_gaps(source, design)


def _refuse_gaps(source: Source, design: Design) -> None:
    """Refuse the missing values that were seen, if the policy says so."""
    if design.missing == "error":
        declared = isinstance(source, DeclaredSource)
        unlike = ", or a cell not written as declared (a plain number where nothing is)"
        raise TableError(
            f"{source.name} has a missing or infinite value in a column in use"
            f"{unlike if declared else ''}; expected none (leave such rows out: "
            f"{given('missing', 'drop-row', _DROPPING)}, or choose another policy; or declare "
            f"how cells are written: {given('schema', 'FILE.toml')})"
        )


def may_drop_rows(source: Source, design: Design) -> bool:
    """Tell from a query's condition, policy and declared types whether rows may be left out."""
    if getattr(original(source), "filtered", False):
        return True
    if design.missing == "error":
        return False
    needed = {design.target}
    if design.missing == "drop-row":
        needed |= {f.name for f in design.features if f.levels is None}
        needed.add(design.unit.column)
    return any(c.may_be_missing for c in source.columns if c.name in needed)
