"""What a unit draws for its rows: the block of them all, or one of them; see ``sublasso.md``."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from nolook.privacy.noise import ByteSource, uniform_integers
from nolook.tables import Table
from nolook.tables.table import Weights

__all__ = ["one_row_each", "rows_in_blocks"]


def rows_in_blocks(
    table: Table, m: int, source: ByteSource
) -> Iterator[tuple[NDArray[np.float64], Weights, NDArray[np.int64]]]:
    """Yield a table's rows, their weights, and the block of each, from 0 to m - 1.

    Every row draws its block, or every unit for all its rows: so adding or removing one changes
    what is in one block. Blocks must not reach a user.
    """
    drawn = None
    if table.unit.column is not None:
        drawn = uniform_integers(m, table.units().counts.size, source)
    for batch, weights, units in table.batches_of_units():
        if drawn is None or units is None:
            yield batch, weights, uniform_integers(m, batch.shape[1], source)
        else:
            yield batch, weights, drawn[units]


def one_row_each(table: Table, source: ByteSource) -> Table:
    """Return a table whose rows have no weights: of each unit with weights one row, drawn anew.

    So adding or removing a unit adds or removes a row. Which rows are drawn must not reach a user.
    """
    return table if table.unit.whole == 1 else table.limited(1, source.words)
