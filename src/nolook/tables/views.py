"""Tables made of a table: its folds, and its rows with levels that a release has found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias, cast

from attrs import evolve

from nolook._arrays import Bytes, Integers
from nolook.tables.source import changed
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
    features = list(table._design.features)
    for column, codes in shown.items():
        texts = cast("Vocabulary", features[column].vocabulary).including()
        levels = sorted({texts[code] for code in codes.tolist()} - {OTHERS, GAP})
        features[column] = evolve(features[column], levels=(*levels, None), vocabulary=None)
    design = evolve(table._design, features=tuple(features))
    run = evolve(table._run, kept={}, held=[])  # what it keeps are other codes
    return changed(table, _design=design, code_labels=design.code_labels, _run=run)
