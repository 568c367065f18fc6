"""A table as blocks of finite float64 columns, the same on every pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import cached_property, partial
from operator import itemgetter
from typing import Any, Self, TypeAlias, cast

import numpy as np
import pyarrow as pa
from attrs import evolve, frozen
from numpy.typing import NDArray

from nolook.errors import TableError
from nolook.tables.conversion import in_place_of, needed, original, unfiltered
from nolook.tables.design import Columns, Design
from nolook.tables.filter import Filtered, chosen
from nolook.tables.scan import (
    ExecutionOptions,
    Passes,
    Weights,
    blocks,
    identifiers,
    may_drop_rows,
    row_keys,
)
from nolook.tables.schema import recipe_levels
from nolook.tables.source import Held, Source, movable
from nolook.tables.spool import Spooled
from nolook.tables.units import Keys, Units, group_rows

__all__ = [
    "Numbers",
    "SourceColumns",
    "Subject",
    "Subset",
    "Table",
    "View",
    "Weights",
    "described",
    "folds_of",
    "recipe_of",
    "subject_of",
]


def described(source: Source, design: Design, target: str | None) -> str:
    """Return the columns in use with their types, and the unit."""
    types = {column.name: column.declared for column in source.columns}
    features = ", ".join(f"{f.name}: {types[f.name]}" for f in design.features)
    about = f"; target {target}: {types[target]}" if target else ""
    unit = "" if design.unit.column is None else f"; unit {design.unit.column}"
    return f"Table({features}{about}{unit})"


@frozen
class Subject:
    """What a release is about, in words.

    A file's name is without folders, that of a database's table without its address. `schema` is a
    digest of what was declared. What there is not is None.
    """

    table: str | None
    where: str | None
    columns: str
    schema: str | None


def subject_of(source: Source, design: Design, columns: str) -> Subject:
    """Return what a release of some columns is about."""
    schema = design.schema
    return Subject(
        getattr(original(source), "label", None),
        source.where if isinstance(source, Filtered) else None,
        columns,
        schema.digest if schema is not None and schema.to_dict() else None,
    )


def recipe_of(design: Design) -> dict[str, Any]:
    """Return the arguments of :func:`nolook.read_table`, the target left out, fit for JSON."""
    features = design.features
    recipe: dict[str, Any] = {
        "features": [feature.name for feature in features],
        "categories": {f.name: recipe_levels(f.levels) for f in features if f.levels is not None},
        "missing": design.missing,
    }
    declared = design.schema.only(recipe["features"]).to_dict() if design.schema else {}
    return recipe | {"schema": declared} if declared else recipe


#: Turns numbers of shape (columns, rows) into those of a view.
Transform: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]


_USUAL = ExecutionOptions()


class Table(Passes):
    """Rows of finite numbers, read in as many passes as wanted, in bounded memory.

    Made by :func:`nolook.read_table`. What a row gives depends on that row alone, and neither the
    number of rows nor any other statistic is shown. Reading raises TableError if the file is
    damaged or was changed since it was opened.

    Attributes
    ----------
    feature_names : tuple of str
        The features; a category gives one for each declared level but the first, such as "city=B",
        and "city=..." for all values that are not declared, if asked for.
    target_name : str or None
    binary : ndarray of bool, shape (n_columns,)
        Which columns, the target last, hold 0 and 1 only, by declared type or levels.
    unit : Unit
        What neighbouring tables differ by.
    """

    def __init__(self, source: Source, design: Design, means: ExecutionOptions = _USUAL) -> None:
        super().__init__(source, design, means)
        self.feature_names: tuple[str, ...] = design.feature_names
        self.target_name = design.target
        self.binary = design.binary
        self._units: Units | None = None
        self._starts: tuple[int, ...] = (0,)

    def __repr__(self) -> str:
        return described(self._source, self._design, self.target_name)

    @property
    def column_names(self) -> tuple[str, ...]:
        """The features and, last, the target if there is one."""
        if self.target_name is None:
            return self.feature_names
        return (*self.feature_names, self.target_name)

    @property
    def n_columns(self) -> int:
        """How many numbers a row has."""
        return len(self.column_names)

    def subject(self) -> Subject:
        """Return what a release is about."""
        about = self.target_name or ", ".join(self.feature_names)
        return subject_of(self._source, self._design, about)

    def batches(self) -> Iterator[NDArray[np.float64]]:
        """Yield the rows, columns first.

        Rows with missing values are left out or filled as the table's policy says, so every number
        is finite. Where a batch ends depends on the number of columns only, so a table gives the
        same batches whatever it is stored in.

        Yields
        ------
        ndarray of shape (n_columns, rows)
            C-contiguous, at most 65,536 rows, the target last if there is one.
        """
        if self.unit.weight_scale > 1:
            raise RuntimeError("rows with weights are read as if they had none")
        self.check_here()
        self.finish_first_pass()
        for numbers, _ in self._read(drop=True):
            yield numbers

    def _weighted(self, part: int | None) -> Iterator[tuple[NDArray[np.float64], Weights]]:
        for numbers, weights, _ in self._of_units(part):
            yield numbers, weights

    def batches_of_units(self) -> Iterator[tuple[NDArray[np.float64], Weights, Weights]]:
        """Yield rows and weights, as :meth:`fold` feeds them, and the number of each row's unit.

        That is None where a row is a unit of its own.
        """
        self.check_here()
        self.finish_first_pass()
        return self._of_units(None)

    def _of_units(self, part: int | None) -> Iterator[tuple[NDArray[np.float64], Weights, Weights]]:
        """Yield batches with weights and units, of all rows or of a part."""
        if self.unit.column is None:
            for numbers, _ in self._read(drop=True, part=part):
                yield numbers, None, None
            return
        units = self.units()
        shares = self.unit.weight_scale // np.maximum(units.counts, 1)
        start, last = self._between(part)
        for numbers, _ in self._read(drop=True, part=part):
            of_rows = units.between(start, min(start + numbers.shape[1], last))
            start += numbers.shape[1]
            # Rows that were not there when rows were counted are left out.
            known = np.ascontiguousarray(numbers[:, : of_rows.size])
            yield known, shares[of_rows] if self.unit.weight_scale > 1 else None, of_rows

    def units(self) -> Units:
        """Return the units of the rows in use, counted in a pass when first asked for.

        They are as confidential as the table.
        """
        if self._units is None:
            self._units = group_rows(self._identifiers())
        return self._units

    def count_units(self) -> int:
        """Return how many units there are; as confidential as the table."""
        if self._cluster is not None:
            return sum(self._collect(_units_counted, self._cluster))
        return int(np.count_nonzero(self.units().counts))

    def _identifiers(self) -> Iterator[Any]:
        """Yield the identifiers of the rows in use, and count these part by part."""
        rows, starts = 0, []
        for part in self._parts:
            starts.append(rows)
            for cells in identifiers(part, self._design):
                rows += len(cells)
                yield cells
        self._starts = (*starts, rows)

    @cached_property
    def _parts(self) -> Sequence[Source]:
        """The source's parts; their rows in use, one part after the other, are this table's."""
        return self._source.parts()

    def _between(self, part: int | None) -> tuple[int, int]:
        """Return the first of a part's rows in use, or of all, and the first after them.

        Known when units were counted.
        """
        return self._starts[part or 0], self._starts[-1 if part is None else part + 1]

    def with_source(self, source: Source | None) -> Self:
        """Return the table of another source with the same columns, fit to be pickled."""
        table = super().with_source(source)
        table.__dict__.pop("_parts", None)
        table._units = None
        return table

    def sample_rows(self, most: int, keys: Keys) -> Table:
        """Return the table with `most` rows of each unit, drawn once for all passes.

        `keys` gives so many secret random numbers.
        """
        if self._cluster is not None:
            return _LimitedElsewhere(self, most, keys(2).tobytes())
        table = Subset(self, self.units().chosen(most, keys))
        table.unit = evolve(self.unit, rows=most)
        return table

    def _count_rows(self) -> int:
        """Return how many rows are in use, which is confidential; from now on each has its place.

        Where units were counted that is known; otherwise it takes a pass.
        """
        if self.unit.column is not None:
            self.units()
        elif len(self._starts) == 1:
            parts = (self._read(drop=True, part=part) for part in range(len(self._parts)))
            counts = [sum(numbers.shape[1] for numbers, _ in part) for part in parts]
            self._starts = (0, *np.cumsum(counts).tolist())
        return self._between(None)[1]

    def batches_in_place(self) -> Iterator[tuple[NDArray[np.float64], NDArray[np.bool_]]]:
        """Yield every row, complete or not, so that an answer can be put beside each.

        Yields
        ------
        numbers : ndarray of shape (n_columns, rows)
            As from :meth:`batches`, with 0 where a value is missing.
        complete : ndarray of bool of shape (rows,)
            False where a row lacks a value it needs; under ``missing="zero"``, only its target.
        """
        yield from self._read(drop=False)

    def recipe(self) -> dict[str, Any]:
        """Return the arguments of :func:`nolook.read_table`, the target left out, fit for JSON."""
        return recipe_of(self._design)

    def select(self, keep: NDArray[np.bool_]) -> Table:
        """Return the same rows with some of the features, and the target.

        `keep` marks the features: public, or the outcome of a private release. Missing values are
        still judged by all columns.
        """
        names = zip(self.feature_names, keep, strict=True)
        places = np.flatnonzero(keep)
        if self.target_name is not None:
            places = np.append(places, keep.size)
        return View(
            self,
            tuple(name for name, kept in names if kept),
            self.target_name,
            itemgetter(places),
            self.binary[places],
        )

    @property
    def has_gaps(self) -> bool:
        """Whether, by its policy, features may be NaN where their centre is to stand."""
        return self._design.missing == "centre"

    def filled(self, center: NDArray[np.float64]) -> Table:
        """Return the same table with a column's centre, public or released, where one is missing.

        Centres have shape (n_columns,).
        """
        if not self.has_gaps:
            return self
        fill = partial(_filled, center)
        return View(self, self.feature_names, self.target_name, fill, self.binary)

    def keeping_infinite(self) -> Table:
        """Return the same table with infinite numbers as the largest double, not as missing."""
        design = evolve(self._design, keeps_infinite=True)
        return Table(self._source, design, self._means)

    def may_drop_rows(self) -> bool:
        """Tell if rows may be left out, so that the number of those in use is private."""
        return may_drop_rows(self._source, self._design)

    def _read(
        self, *, drop: bool, part: int | None = None
    ) -> Iterator[tuple[NDArray[np.float64], NDArray[np.bool_]]]:
        """Fill blocks of fixed size from the batches of the source, or of a part."""
        source = self._source if part is None else self._parts[part]
        first = self._first_pass
        read = blocks(source, self._design, self.n_columns, first, drop=drop)
        yield from first.noted(self._means.through(part, read)) if drop else read


class View(Table):
    """Another table with each batch of its numbers turned into other numbers; its rows' units."""

    def __init__(
        self,
        whole: Table,
        features: tuple[str, ...],
        target: str | None,
        transform: Transform,
        binary: NDArray[np.bool_],
    ) -> None:
        super().__init__(whole._source, whole._design, whole._means)
        self._first_pass = whole._first_pass
        self._whole, self._transform = whole, transform
        self.unit = whole.unit
        self.feature_names, self.target_name, self.binary = features, target, binary

    def units(self) -> Units:
        """Return the units of the other table's rows."""
        return self._whole.units()

    @property
    def _parts(self) -> Sequence[Source]:
        return self._whole._parts

    def keeping_infinite(self) -> Table:
        """Return the same view of such a table."""
        return View(
            self._whole.keeping_infinite(),
            self.feature_names,
            self.target_name,
            self._transform,
            self.binary,
        )

    def with_source(self, source: Source | None) -> Self:
        """Return the same view of the table of another source."""
        view = super().with_source(source)
        view._whole = self._whole.with_source(source)
        view._first_pass = view._whole._first_pass
        return view

    def _fresh(self, pay: Callable[[], object] | None = None) -> Self:
        view = copy(self)
        view._whole = self._whole._fresh(pay)
        view._first_pass = view._whole._first_pass
        return view

    def _count_rows(self) -> int:
        """Return how many rows the other table has."""
        return self._whole._count_rows()

    def _between(self, part: int | None) -> tuple[int, int]:
        return self._whole._between(part)

    def _read(
        self, *, drop: bool, part: int | None = None
    ) -> Iterator[tuple[NDArray[np.float64], NDArray[np.bool_]]]:
        for numbers, complete in self._whole._read(drop=drop, part=part):
            yield self._transform(numbers), complete


class Subset(View):
    """Another table with only some of its rows, marked by their places, which it has counted."""

    def __init__(self, whole: Table, kept: NDArray[np.bool_]) -> None:
        names, target = whole.feature_names, whole.target_name
        super().__init__(whole, names, target, _unchanged, whole.binary)
        self._kept = kept
        self._units = None if whole.unit.column is None else whole.units().only(kept)
        ends = [whole._between(part) for part in range(len(self._parts))]
        counts = [np.count_nonzero(kept[slice(*end)]) for end in ends]
        self._starts = (0, *np.cumsum(counts).tolist())

    def units(self) -> Units:
        """Return the units of the rows that are kept."""
        return cast("Units", self._units)

    def keeping_infinite(self) -> Table:
        """Refuse: other rows would be in use."""
        raise RuntimeError("rows are chosen before it is known which are in use")

    def _count_rows(self) -> int:
        """Return how many rows are kept."""
        return self._starts[-1]

    def _between(self, part: int | None) -> tuple[int, int]:
        return Table._between(self, part)

    def _read(
        self, *, drop: bool, part: int | None = None
    ) -> Iterator[tuple[NDArray[np.float64], NDArray[np.bool_]]]:
        start, last = self._whole._between(part)
        for numbers, complete in super()._read(drop=drop, part=part):
            places = np.flatnonzero(self._kept[start : min(start + numbers.shape[1], last)])
            start += numbers.shape[1]
            yield np.ascontiguousarray(numbers[:, places]), complete[places]


class _LimitedElsewhere(View):
    """Such a table whose rows an engine reads: drawn where all of a unit's are, in every pass."""

    def __init__(self, whole: Table, most: int, secret: bytes) -> None:
        names, target = whole.feature_names, whole.target_name
        super().__init__(whole, names, target, _unchanged, whole.binary)
        self._most, self._secret = most, secret
        self.unit = evolve(whole.unit, rows=most)

    def with_source(self, source: Source | None) -> Self:
        """Return the same rows of the table of another source."""
        view = super().with_source(source)
        if source is None:
            return view
        keys = partial(row_keys, self._secret, view._source, view._design)
        return cast("Self", view._whole.sample_rows(self._most, keys))


def _units_counted(table: Table, _: int) -> int:
    return table.count_units()


def _unchanged(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    return numbers


def _filled(center: NDArray[np.float64], numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isnan(numbers), center[:, np.newaxis], numbers)


#: Gives so many numbers of folds.
Numbers: TypeAlias = Callable[[int], NDArray[np.uint8]]


def folds_of(table: Table, folds: int, draw: Numbers) -> Iterator[tuple[Table, Table]]:
    """Yield, for each fold, the rows outside it and the rows in it, the same in every pass.

    `draw` is called once, before the first, for as many numbers from 0 to `folds` - 1 as there are
    rows, or units. Sizes of folds are confidential, as that of the table.
    """
    rows = table._count_rows()
    if table.unit.column is None:
        of_rows = draw(rows)
    else:
        units = table.units()
        of_rows = draw(units.counts.size)[units.between(0, rows)]
    for number in range(folds):
        inside = of_rows == number
        yield Subset(table, ~inside), Subset(table, inside)


class SourceColumns:
    """Some columns of a table's source, all rows in order: of their types, in CSV as texts.

    Nothing of them is private: they are the cells. Raises TableError if a column is unknown or
    occurs twice.
    """

    def __init__(self, table: Table, names: Sequence[str]) -> None:
        source = original(table._source)
        declared = Columns(source)
        columns = [declared.find(name, "--keep") for name in names]
        kinds = [column.type for column in columns]
        if isinstance(table._source, Filtered):
            kinds = [movable(pa.array([], kind)).type for kind in kinds]
        self.schema = pa.schema(list(zip(names, kinds, strict=True)))
        self._changed = f"{source.name} was changed or removed while it was in use; start again"
        if isinstance(source, Spooled):
            source.use(names)
        self._batches = _cells(table._source, names)
        self._left = pa.RecordBatch.from_pylist([], schema=self.schema)

    def take(self, rows: int) -> Any:  # noqa: ANN401 -- pyarrow has no types
        """Return the next rows, which there are as many of as the table has."""
        parts = []
        while rows:
            part = self._left.slice(0, rows)
            parts.append(part.select(self.schema.names))
            self._left = self._left.slice(part.num_rows)
            rows -= part.num_rows
            if rows:
                batch = next(self._batches, None)
                if batch is None:
                    raise TableError(self._changed)
                self._left = batch
        return pa.Table.from_batches(parts, self.schema)


def _cells(source: Source, names: Sequence[str]) -> Iterator[Any]:
    """Yield columns as they are, of the rows in use."""
    if not isinstance(source, Filtered):
        yield from original(source).batches(names)
        return
    judged = needed(source, ())
    for batch in original(source).batches(list(dict.fromkeys((*names, *judged)))):
        held = cast("Source", in_place_of(unfiltered(source), Held(batch)))
        (declared,) = held.batches(source.names)
        yield chosen(batch, names, source.met(declared))
