"""A table as blocks of finite float64 columns, the same on every pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from operator import itemgetter
from typing import Any, TypeAlias, cast

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from nolook._language import given
from nolook._unit import Unit
from nolook.errors import TableError
from nolook.tables.declared import DeclaredSource, original
from nolook.tables.design import Design
from nolook.tables.levels import recipe_levels
from nolook.tables.source import MemorySource, Source
from nolook.tables.units import Keys, Units, group_rows, kept_cells

__all__ = ["Table", "View", "Weights"]

#: Turns numbers of shape (columns, rows) into those of a view.
Turn: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]

#: What each row weighs, or the number of its unit; None where every row counts in full.
Weights: TypeAlias = NDArray[np.int64] | None

_MAX_ROWS = 65_536
# Numbers in a batch: 8 MB, so that a table of many columns needs no more memory than one of few.
_MAX_NUMBERS = 1 << 20
_DROPPING = "nolook.read_table(..., missing='drop-row')"


class Table:
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

    def __init__(self, source: Source, design: Design) -> None:
        self._source = source
        self._design = design
        self.feature_names: tuple[str, ...] = design.feature_names
        self.target_name = design.target
        self.binary = design.binary
        self.unit: Unit = design.unit
        self._units: Units | None = None

    def __repr__(self) -> str:
        types = {column.name: column.declared for column in self._source.columns}
        features = ", ".join(f"{f.name}: {types[f.name]}" for f in self._design.features)
        target = self.target_name
        about = f"; target {target}: {types[target]}" if target else ""
        unit = "" if self.unit.column is None else f"; unit {self.unit.column}"
        return f"Table({features}{about}{unit})"

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

    def subject(self) -> tuple[str | None, str, str | None]:
        """Return what a release is about: a file, columns, and a digest of what was declared.

        The file's name is without folders, None if there is no file; the column is the target, or
        all features where there is none; the digest is None if no schema was given.
        """
        place = getattr(original(self._source), "path", None)
        about = self.target_name or ", ".join(self.feature_names)
        schema = self._design.schema
        digest = schema.digest if schema is not None and schema.to_dict() else None
        return (None if place is None else place.name), about, digest

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
        if self.unit.whole > 1:
            raise RuntimeError("rows with weights are read as if they had none")
        for numbers, _ in self._read(drop=True):
            yield numbers

    def weighted_batches(self) -> Iterator[tuple[NDArray[np.float64], Weights]]:
        """Yield the rows, as :meth:`batches`, and what each weighs.

        Those of a unit weigh ``unit.whole`` together at most, shared equally and rounded down.

        Yields
        ------
        numbers : ndarray of shape (n_columns, rows)
        weights : ndarray of int64 of shape (rows,), or None where every row counts in full
        """
        for numbers, weights, _ in self.batches_of_units():
            yield numbers, weights

    def batches_of_units(self) -> Iterator[tuple[NDArray[np.float64], Weights, Weights]]:
        """Yield what :meth:`weighted_batches` does and, last, the number of each row's unit.

        That is None where a row is a unit of its own.
        """
        if self.unit.column is None:
            for numbers, _ in self._read(drop=True):
                yield numbers, None, None
            return
        units = self.units()
        shares = self.unit.whole // np.maximum(units.counts, 1)
        start = 0
        for numbers, _ in self._read(drop=True):
            of_rows = units.between(start, start + numbers.shape[1])
            start += numbers.shape[1]
            # Rows that were not there when rows were counted are left out.
            known = np.ascontiguousarray(numbers[:, : of_rows.size])
            yield known, shares[of_rows] if self.unit.whole > 1 else None, of_rows

    def units(self) -> Units:
        """Return the units of the rows in use, counted in a pass when first asked for.

        They are as confidential as the table.
        """
        if self._units is None:
            self._units = group_rows(self._identifiers())
        return self._units

    def _identifiers(self) -> Iterator[Any]:
        """Yield the identifiers of the rows in use; of them alone, if no row may be left out.

        A file may declare what its cells do not keep to, so the policy alone tells.
        """
        column = str(self.unit.column)
        drops = self._design.missing != "error"
        names = self._design.source_names if drops else [column]
        for batch in self._source.batches(names):
            cells = batch.column(column)
            if drops:
                present = self._design.fill(batch, np.empty((self._width, batch.num_rows)))
                cells = cells if present is None else kept_cells(cells, present)
            yield cells

    @property
    def _width(self) -> int:
        """How many numbers a row of the whole table has."""
        return len(self._design.feature_names) + (self._design.target is not None)

    def limited(self, most: int, keys: Keys) -> Table:
        """Return the table with `most` rows of each unit, drawn once for all passes.

        `keys` gives so many secret random numbers.
        """
        return _Limited(self, most, self.units().chosen(most, keys))

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

    def check_complete(self) -> None:
        """Refuse a table that cannot be read, or has missing values if its policy is "error".

        One pass over the table, or a quicker one over an array in memory that is finite. With the
        policy "error", whether it raises TableError is one bit about the data that no noise
        protects, and all it reveals: the message says neither where nor how many values are missing
        or infinite. The other policies reveal nothing but that the file is damaged.
        """
        names = self._design.source_names
        quick = self.unit.column is None and isinstance(self._source, MemorySource)
        if quick and cast("MemorySource", self._source).surely_finite(names):
            return
        complete = known = True
        for batch in self._source.batches(names):
            complete &= self._design.lacks_nothing(batch)  # to the end: time must not tell where
            known &= self._design.lacks_no_unit(batch)
        if self._design.missing != "drop-row" and not known:
            raise TableError(
                f"{self._source.name} has a row without a value of {self.unit.column!r}, its unit; "
                "expected one in every row (or leave such rows out: "
                f"{given('missing', 'drop-row')})"
            )
        if self._design.missing == "error" and not complete:
            declared = isinstance(self._source, DeclaredSource)
            unlike = ", or a cell not written as declared (a plain number where nothing is)"
            raise TableError(
                f"{self._source.name} has a missing or infinite value in a column in use"
                f"{unlike if declared else ''}; expected none (leave such rows out: "
                f"{given('missing', 'drop-row', _DROPPING)}, or choose another policy; or declare "
                f"how cells are written: {given('schema', 'FILE.toml')})"
            )

    def recipe(self) -> dict[str, Any]:
        """Return the arguments of :func:`nolook.read_table`, the target left out, fit for JSON."""
        features = self._design.features
        recipe: dict[str, Any] = {
            "features": [feature.name for feature in features],
            "categories": {
                f.name: recipe_levels(f.levels) for f in features if f.levels is not None
            },
            "missing": self._design.missing,
        }
        # Left out by default: older files know no such keys.
        if self._design.multiline:
            recipe["multiline"] = True
        schema = self._design.schema
        declared = schema.only(recipe["features"]).to_dict() if schema else {}
        return recipe | {"schema": declared} if declared else recipe

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

        def fill(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.where(np.isnan(numbers), center[:, np.newaxis], numbers)

        return View(self, self.feature_names, self.target_name, fill, self.binary)

    def keeping_infinite(self) -> Table:
        """Return the same table with infinite numbers as the largest double, not as missing."""
        return Table(self._source, replace(self._design, keeps_infinite=True))

    def may_drop_rows(self) -> bool:
        """Tell from policy and declared types whether rows may be left out.

        The number of those in use is private then.
        """
        if self._design.missing == "error":
            return False
        needed = {self._design.target}
        if self._design.missing == "drop-row":
            needed |= {f.name for f in self._design.features if f.levels is None}
            needed.add(self.unit.column)
        return any(c.may_be_missing for c in self._source.columns if c.name in needed)

    def _read(self, *, drop: bool) -> Iterator[tuple[NDArray[np.float64], NDArray[np.bool_]]]:
        """Fill blocks of fixed size from the source's batches, whatever their sizes."""
        room = max(1, min(_MAX_ROWS, _MAX_NUMBERS // self.n_columns))
        numbers, complete = _block(self.n_columns, room)
        filled = 0
        for batch in self._source.batches(self._design.source_names):
            start = 0
            while start < batch.num_rows:
                part = batch.slice(start, room - filled)
                start += part.num_rows
                end = filled + part.num_rows
                present = self._design.fill(part, numbers[:, filled:end])
                complete[filled:end] = True if present is None else present
                if present is not None and drop:
                    end = filled + int(present.sum())
                    numbers[:, filled:end] = numbers[:, filled : filled + part.num_rows][:, present]
                filled = end
                if filled == room:
                    yield numbers, complete
                    numbers, complete = _block(self.n_columns, room)
                    filled = 0
        if filled:
            yield np.ascontiguousarray(numbers[:, :filled]), complete[:filled]


class View(Table):
    """Another table with each batch of its numbers turned into other numbers; its rows' units."""

    def __init__(
        self,
        whole: Table,
        features: tuple[str, ...],
        target: str | None,
        turn: Turn,
        binary: NDArray[np.bool_],
    ) -> None:
        super().__init__(whole._source, whole._design)
        self._whole, self._turn = whole, turn
        self.unit = whole.unit
        self.feature_names, self.target_name, self.binary = features, target, binary

    def units(self) -> Units:
        """Return the units of the other table's rows."""
        return self._whole.units()

    def keeping_infinite(self) -> Table:
        """Return the same view of such a table."""
        return View(
            self._whole.keeping_infinite(),
            self.feature_names,
            self.target_name,
            self._turn,
            self.binary,
        )

    def _read(self, *, drop: bool) -> Iterator[tuple[NDArray[np.float64], NDArray[np.bool_]]]:
        for numbers, complete in self._whole._read(drop=drop):
            yield self._turn(numbers), complete


class _Limited(View):
    """Another table with only some of its rows, so many of a unit at most."""

    def __init__(self, whole: Table, most: int, kept: NDArray[np.bool_]) -> None:
        names, target = whole.feature_names, whole.target_name
        super().__init__(whole, names, target, lambda numbers: numbers, whole.binary)
        self._kept, self._units = kept, whole.units().only(kept)
        self.unit = evolve(whole.unit, rows=most)

    def units(self) -> Units:
        """Return the units of the rows that are kept."""
        return cast("Units", self._units)

    def keeping_infinite(self) -> Table:
        """Refuse: other rows would be in use."""
        raise RuntimeError("rows are chosen before it is known which are in use")

    def _read(self, *, drop: bool) -> Iterator[tuple[NDArray[np.float64], NDArray[np.bool_]]]:
        start = 0
        for numbers, complete in super()._read(drop=drop):
            stop = start + numbers.shape[1]
            kept = self._kept[start:stop]
            start = stop
            places = np.flatnonzero(kept)
            yield np.ascontiguousarray(numbers[:, places]), complete[places]


def _block(columns: int, rows: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    return np.empty((columns, rows)), np.empty(rows, dtype=bool)
