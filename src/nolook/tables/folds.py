"""A table in folds: the rows outside each, and the rows in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nolook.tables.table import Table

__all__ = ["folds_of"]

#: Gives so many numbers of folds.
Numbers: TypeAlias = Callable[[int], NDArray[np.uint8]]


def folds_of(table: Table, folds: int, draw: Numbers) -> Iterator[tuple[Table, Table]]:
    """Yield, for each fold, the rows outside it and the rows in it, the same in every pass.

    `draw` is called once, before the first, for as many numbers from 0 to `folds` - 1 as there are
    rows, or units. Sizes of folds are confidential, as that of the table. Rows left out belong to
    the first fold, and to no other table.
    """
    rows = table._count_rows()
    if table.unit.column is None:
        of_rows = draw(rows)
    else:
        units = table.units()
        of_rows = draw(units.counts.size)[units.between(0, rows)]
    for number in range(folds):
        inside = of_rows == number
        yield table._only(~inside, is_fold=True), table._only(inside, is_fold=number > 0)
