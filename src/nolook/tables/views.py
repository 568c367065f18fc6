"""Tables made of a table: its folds, and its rows with other levels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import compress
from typing import TypeAlias, cast

import pyarrow as pa
from attrs import evolve

from nolook._arrays import Bytes, Integers
from nolook.tables.source import TEXT, changed
from nolook.tables.table import Table
from nolook.tables.words import GAP, OTHERS, Vocabulary

__all__ = ["folds_of", "with_levels", "with_levels_in_use"]

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


def with_levels_in_use(table: Table, name: str | None) -> Table:
    """Return a table without the levels of a column that the conditions on its rows exclude.

    Conditions and levels are declared; no cell is read.
    """
    features = list(table._design.features)
    for tested, test in table._source.tests:
        for place, each in enumerate(features):
            if each.levels and each.name == tested == name:
                met = test(pa.array(each.levels, TEXT)).to_pylist()
                features[place] = evolve(each, levels=tuple(compress(each.levels, met)))
    design = evolve(table._design, features=tuple(features))
    return Table(table._source, design, table._run.threads)
