"""Record batches as blocks of float64 columns of fixed size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolook.tables.completeness import FirstPass
from nolook.tables.design import Design
from nolook.tables.source import Source
from nolook.tables.units import kept_cells

__all__ = ["blocks", "identified", "identifiers"]

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
