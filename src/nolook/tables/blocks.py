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

__all__ = ["blocks", "identifiers"]

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
        yield np.ascontiguousarray(numbers[:, :filled]), complete[:filled]


def _block(columns: int, rows: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    return np.empty((columns, rows)), np.empty(rows, dtype=bool)


def identifiers(source: Source, design: Design) -> Iterator[Any]:
    """Yield the identifiers of the rows in use; of them alone, if no row may be left out.

    A file may declare what its cells do not keep to, so the policy alone tells.
    """
    column = str(design.unit.column)
    width = len(design.feature_names) + (design.target is not None)
    drops = design.missing != "error"
    for batch in source.batches(design.source_names if drops else [column]):
        cells = batch.column(column)
        if drops:
            present = design.fill(batch, np.empty((width, batch.num_rows)))
            cells = cells if present is None else kept_cells(cells, present)
        yield cells
