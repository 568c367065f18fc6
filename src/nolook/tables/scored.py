"""Scores beside classes, of which one is the positive one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from attrs import evolve, frozen
from numpy.typing import NDArray

from nolook._language import given, named
from nolook._unit import RowsPerUnit, Unit
from nolook._validation import check_names
from nolook.errors import ParameterError, TableError
from nolook.tables.design import has_levels, unknown_column
from nolook.tables.filter import Where, check_where
from nolook.tables.folders import is_text, located
from nolook.tables.folding import Mapped, Rows, S
from nolook.tables.reading import read_table
from nolook.tables.recipe import Subject
from nolook.tables.schema import ColumnSchema, Schema
from nolook.tables.source import in_words
from nolook.tables.table import Table, View, Weights
from nolook.tables.units import Keys

__all__ = ["OnlyScores", "ScoredTable", "read_scores"]

Marked: TypeAlias = tuple[NDArray[np.float64], NDArray[np.bool_], Weights]

_BOOLEANS = {"1": "true", "True": "true", "0": "false", "False": "false"}


@frozen
class ScoredTable:
    """A table of one feature, the score, and a target: `positive`, or another number."""

    table: Table
    positive: float

    def fold(self, statistic: S) -> S:
        """Feed a statistic scores, whether each is a positive's, and what each weighs."""
        # Of the number alone: what turns batches may be sent to other processes.
        self.table.fold(Mapped(statistic, partial(_beside_classes, self.positive)))
        return statistic

    @property
    def engine(self) -> str | None:
        """Who reads the rows, as :attr:`Table.engine`."""
        return self.table.engine

    @property
    def unit(self) -> Unit:
        """What neighbouring tables differ by."""
        return self.table.unit

    def limited(self, most: int, keys: Keys) -> ScoredTable:
        """Return some rows of each unit, as :meth:`Table.limited`."""
        return evolve(self, table=self.table.limited(most, keys))

    def subject(self) -> Subject:
        """Return what a release is about: both columns."""
        return evolve(self.table.subject(), columns=", ".join(self.table.column_names))

    def recipe(self) -> dict[str, Any]:
        """Return how the table was read."""
        return self.table.recipe()

    def may_drop_rows(self) -> bool:
        """Tell from declared types whether rows may be left out."""
        return self.table.may_drop_rows()

    def paid_by(self, pay: Callable[[], object]) -> ScoredTable:
        """Return the same table; it calls `pay` as that of :meth:`Table.paid_by`."""
        return evolve(self, table=self.table.paid_by(pay))

    def settle(self) -> None:
        """Look for missing values if no pass has."""
        self.table.settle()


@frozen
class OnlyScores:
    """The scores of such rows, and what each weighs."""

    scored: Rows

    def fold(self, statistic: S) -> S:
        """Feed a statistic scores and what each weighs."""
        self.scored.fold(Mapped(statistic, _without_classes))
        return statistic


def _beside_classes(
    positive: float, numbers: NDArray[np.float64], weights: Weights
) -> Iterator[Marked]:
    scores, targets = numbers
    yield scores, targets == positive, weights


def _without_classes(
    scores: NDArray[np.float64], _: NDArray[np.bool_], weights: Weights
) -> Iterator[tuple[NDArray[np.float64], Weights]]:
    yield scores, weights


def read_scores(  # noqa: PLR0913 -- as read_table
    source: object,
    score: str,
    target: str,
    positive: str,
    missing: str = "error",
    *,
    schema: Schema | None = None,
    where: Where | None = None,
    unit: str | None = None,
    rows_per_unit: RowsPerUnit = "weights",
    engine: object = None,
) -> Table:
    """Open a table of one column of numbers and, as its target, 1 for positives and 0 for others.

    The target may be text, integers, booleans or other numbers. `positive` is its positive value
    as text; 1 and 0 also stand for true and false. A CSV file's target is numbers if `positive` is
    one, and its cells' texts otherwise. A missing target is not positive, but is a missing value
    where targets are read as numbers with a fraction, as in a CSV file.
    """
    check_names([score, target], "columns")
    source = located(source)
    if schema is not None:
        others = (*schema.used_as("unit"), *(c.column for c in check_where(where)))
        schema = schema.only([score, target, *others])
    opened = read_table(source, features=[score], schema=schema, where=where)._source
    kinds = {column.name: column.type for column in opened.columns}
    if target not in kinds:
        raise unknown_column("target", target, opened.name, kinds)
    declared = None if schema is None else schema.columns.get(target)
    wanted = _number(positive)
    # A text file declares no types.
    if declared is None and is_text(source):
        level, numeric = positive, wanted is not None
    else:
        kind = kinds[target]
        level = _boolean(positive, declared) if kind == pa.bool_() else positive
        numeric = kind is not None and (pt.is_floating(kind) or pt.is_decimal(kind))
        _check_classes(kind, target, level, opened.name, wanted)
    read = partial(
        read_table,
        source,
        missing=missing,
        schema=schema,
        where=where,
        unit=unit,
        rows_per_unit=rows_per_unit,
        engine=engine,
    )
    if numeric and wanted is not None:
        return _with_class(read(target, features=[score]), wanted)
    return _with_class(read(features=[score, target], categories={target: [level]}), 1.0)


def _check_classes(kind: Any, target: str, level: str, name: str, number: float | None) -> None:  # noqa: ANN401
    """Refuse a positive value that no cell of a type could have."""
    if kind is not None and (pt.is_floating(kind) or pt.is_decimal(kind)):
        if number is None:
            raise _unlike(target, "a number", "1")
    elif not has_levels(kind):
        raise TableError(
            f"{named('target')} names {target!r}, which in {name} has type {in_words(kind)}; "
            "expected text, integers or booleans (use another column)"
        )
    elif kind == pa.bool_() and level not in _BOOLEANS.values():
        raise _unlike(target, "true or false", "true")


def _boolean(positive: str, declared: ColumnSchema | None) -> str:
    """Return what a boolean's positive value is called, which may be one of its declared words."""
    if declared is not None and positive in declared.true:
        return "true"
    if declared is not None and positive in (declared.false or ()):
        return "false"
    return _BOOLEANS.get(positive, positive)


def _with_class(table: Table, positive: float) -> Table:
    """Return a table's first column with, as the target, whether its last one has a value."""
    first, last = table.column_names
    binary = np.array([table.binary[0], True])
    return View(table, (first,), last, partial(_marked, positive=positive), binary)


def _marked(numbers: NDArray[np.float64], positive: float) -> NDArray[np.float64]:
    scores, targets = numbers
    return np.stack([scores, targets == positive])


def _number(text: str) -> float | None:
    """Return a text as a finite number, or None if it is not one."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _unlike(target: str, expected: str, example: str) -> ParameterError:
    return ParameterError(
        f"the positive value of {target!r} is not {expected}, as its column holds; expected one "
        f"(for example {given('positive', example)})"
    )
