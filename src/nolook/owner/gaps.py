"""Where a table lacks values and why: exact, so for the data owner only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.types as pt
from attrs import Factory, define

from nolook.tables.conversion import DeclaredSource
from nolook.tables.source import Column, in_words
from nolook.tables.words import has_value, places, trimmed

__all__ = ["MALFORMED", "UNLIKE", "Gaps", "find_gaps"]

_EMPTY, MALFORMED, UNLIKE = "empty", "malformed row", "not as declared"
_MISSING = "declared missing"
_FIRST = 3  # rows that are named


@define
class Gaps:
    """Where a column lacks a value: how often, by cause, and the first rows, counted from 1."""

    column: Column
    missing: tuple[str, ...]  # words for a missing value
    rows: int = 0
    causes: Counter[str] = Factory(Counter)
    first: list[tuple[int, str]] = Factory(list)

    def add(self, raw: Any, cells: Any, *, is_text: bool) -> None:  # noqa: ANN401
        """Look at the rows of a batch, as they are in the source and as declared."""
        null = ~np.asarray(has_value(raw))
        texts = in_words(raw.type) == "text" and not pt.is_dictionary(raw.type)
        blank = np.asarray(pc.equal(trimmed(raw), "").fill_null(False)) if texts else null
        wordless = pt.is_nested(raw.type) or in_words(raw.type) == "bytes"
        named = null if wordless else places(raw, self.missing).is_valid()
        cause = np.where(null, MALFORMED if is_text else _EMPTY, np.where(named, _MISSING, UNLIKE))
        cause = np.where(blank, _EMPTY, cause)
        lost = np.flatnonzero(~np.asarray(has_value(cells)))
        self.causes.update(cause[lost].tolist())
        room = _FIRST - len(self.first)
        self.first += [(self.rows + int(i) + 1, str(cause[i])) for i in lost[:room]]
        self.rows += len(cells)


def find_gaps(opened: DeclaredSource, names: Collection[str] | None = None) -> list[Gaps]:
    """Find, for columns of a table, the rows that lack a value or are not as declared.

    The result is exact: not private, and for the data owner only.
    """
    known = opened.declared
    found = [
        Gaps(each, known[each.name].missing if each.name in known else ())
        for each in opened.columns
        if each.type is not None and (names is None or each.name in names)
    ]
    chosen = [each.column.name for each in found]
    is_text = getattr(opened.original, "kind", None) == "CSV"
    for batch in opened.batches(chosen, [opened.made_of(name)[0] for name in chosen]):
        for i, each in enumerate(found, -len(found)):
            each.add(batch.column(i), batch.column(i + len(found)), is_text=is_text)
    return found
