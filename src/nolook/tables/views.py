"""Tables made of a table: its folds, and its rows with levels that a release has found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TypeAlias, cast

import numpy as np

from nolook._arrays import Bytes, Integers, Matrix, Vector
from nolook.tables.table import Table
from nolook.tables.words import GAP, OTHERS, Vocabulary

__all__ = ["folds_of", "with_levels"]

#: Gives so many numbers of folds.
Numbers: TypeAlias = Callable[[int], Bytes]


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


def with_levels(table: Table, shown: Mapping[int, Integers]) -> Table:
    """Return the same rows with some of the values that occur as the levels of columns.

    `shown` has the codes of these values, which have been released, by column.
    """
    labels, places = list(table.code_labels), {}
    for column, codes in shown.items():
        texts = cast("Vocabulary", table._design.features[column].vocabulary).including()
        levels = sorted((texts[c], c) for c in codes.tolist() if texts[c] not in {OTHERS, GAP})
        labels[column] = (*(level for level, _ in levels), OTHERS, GAP)
        places[column] = np.full(len(texts), float(len(levels)))
        places[column][[code for _, code in levels]] = np.arange(len(levels))
    turn = partial(_shown, places)
    found = table.transformed(table.feature_names, table.target_name, turn, table.binary)
    found.code_labels = tuple(labels)
    return found


def _shown(places: Mapping[int, Vector], numbers: Matrix) -> Matrix:
    """Turn codes of values that occur into codes of levels; one after the last for others."""
    turned = numbers.copy()
    for column, own in places.items():
        known = ~np.isnan(numbers[column])
        codes = numbers[column, known].astype(np.int64)
        turned[column, known] = np.append(own, own.size)[codes.clip(0, own.size)]
    return turned
