"""A table as blocks of finite float64 columns, the same on every pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from operator import itemgetter
from typing import Any, Self, TypeAlias, cast

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from nolook._language import given, named
from nolook._numerics import worker_threads
from nolook._unit import Unit
from nolook.errors import ParameterError, TableError
from nolook.tables.declared import DeclaredSource, in_place_of, needed, original
from nolook.tables.design import Design
from nolook.tables.engines import Checksum, Cluster, fold_elsewhere
from nolook.tables.folding import Foldable, S, fold
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


class _FirstPass:
    """What the first pass over a table, or over one of its views, settles."""

    def __init__(self, refuse: Callable[[], None]) -> None:
        self._refuse = refuse
        self.gaps = False  # whether a missing value was seen
        self.pay: Callable[[], object] | None = None
        self.rows: Checksum | None = None  # what every later pass must see, where it may not

    def end(self) -> None:
        """Refuse gaps where they are an error, or else pay, once."""
        if self.pay is not None:
            if self.gaps:
                self._refuse()
            self.pay()
            self.pay = None


class _Nothing:
    """A statistic of a pass that only looks for missing values."""

    def update(self, *_: object) -> Self:
        return self

    def merge(self, other: Self) -> Self:  # noqa: ARG002
        return self


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
        self._first_pass = _FirstPass(self._refuse_gaps)
        self._units: Units | None = None
        self._starts: tuple[int, ...] = (0,)
        if self.unit.column is not None and self._cluster is not None:
            raise ParameterError(
                f"{named('unit')} is {self.unit.column!r}, but {source.name} is read by "
                f"{self.engine}, which finds no rows of one unit yet; expected none (read files "
                f"without {self.engine} to protect units)"
            )
        if self.unit.column is not None and not getattr(original(source), "ordered", True):
            # Rows are told apart by their places.
            raise TableError(
                f"{source.name} is a view, or divided, so its rows may come in another order in "
                f"every pass; expected a table where {named('unit')} is given (make one of it)"
            )

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

        A file's name is without folders, that of a database's table without its address; None if
        there is neither. The column is the target, or all features where there is none; the digest
        is None if no schema was given.
        """
        label: str | None = getattr(original(self._source), "label", None)
        about = self.target_name or ", ".join(self.feature_names)
        schema = self._design.schema
        digest = schema.digest if schema is not None and schema.to_dict() else None
        return label, about, digest

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
        self._check_gathered()
        self.settle()
        for numbers, _ in self._read(drop=True):
            yield numbers

    def fold(self, statistic: S) -> S:
        """Update a statistic that has seen nothing with all rows, in one pass, and return it.

        It takes batches of rows, as of :meth:`batches`, cut elsewhere perhaps, and what each row
        weighs: whole numbers, those of a unit ``unit.whole`` together at most, shared equally and
        rounded down; or None where every row counts in full. Parts of the table are read by several
        threads at a time; what it holds is the same, to the last bit, for any number of them.
        """
        cluster = self._cluster
        if cluster is not None:
            self._fold_elsewhere(statistic, cluster)
        else:
            count = len(self._parts)
            places = [None] if count == 1 else range(count)
            fold(statistic, [partial(self._weighted, place) for place in places], self.threads)
        self._first_pass.end()
        return statistic

    def _fold_elsewhere(self, statistic: Foldable, cluster: Cluster) -> None:
        names = needed(self._source, self._design.source_names)
        gaps, rows = fold_elsewhere(statistic, self, cluster, names)
        first = self._first_pass
        first.gaps |= gaps
        if first.rows not in (None, rows):
            raise TableError(
                f"{cluster.name} gave other rows than in the pass before; expected the same in "
                "each (write it to files, or persist it where it is drawn at random; start again)"
            )
        first.rows = rows

    @property
    def _cluster(self) -> Cluster | None:
        found = original(self._source)
        return found if isinstance(found, Cluster) else None

    @property
    def engine(self) -> str | None:
        """Who reads the rows where no thread of this process does, such as "Spark"."""
        return None if self._cluster is None else self._cluster.engine

    def over(self, source: Source | None) -> Self:
        """Return the table of another source with the same columns, fit to be pickled.

        With None it has no rows: it is what other processes are sent, to read theirs with.
        """
        table = copy(self)
        table.__dict__.pop("_parts", None)
        table._source = cast("Source", in_place_of(self._source, source))
        table._first_pass, table._units = _FirstPass(table._refuse_gaps), None
        return table

    def state(self, statistic: S) -> tuple[S, bool, Checksum]:
        """Update a statistic with all rows; return whether a value was missing, and a checksum."""
        first = self._first_pass
        first.rows = Checksum()
        for batch in self._weighted(None):
            statistic.update(*batch)
        return statistic, first.gaps, first.rows

    @property
    def threads(self) -> int:
        """How many threads read and count."""
        return worker_threads(self._design.threads)

    def _weighted(self, part: int | None) -> Iterator[tuple[NDArray[np.float64], Weights]]:
        for numbers, weights, _ in self._of_units(part):
            yield numbers, weights

    def batches_of_units(self) -> Iterator[tuple[NDArray[np.float64], Weights, Weights]]:
        """Yield rows and weights, as :meth:`fold` feeds them, and the number of each row's unit.

        That is None where a row is a unit of its own.
        """
        self._check_gathered()
        self.settle()
        return self._of_units(None)

    def _check_gathered(self) -> None:
        """Refuse rows that an engine reads, before they are paid for."""
        if self._cluster is not None:
            self._cluster.batches(())

    def _of_units(self, part: int | None) -> Iterator[tuple[NDArray[np.float64], Weights, Weights]]:
        """Yield batches with weights and units, of all rows or of a part."""
        if self.unit.column is None:
            for numbers, _ in self._read(drop=True, part=part):
                yield numbers, None, None
            return
        units = self.units()
        shares = self.unit.whole // np.maximum(units.counts, 1)
        start, last = self._between(part)
        for numbers, _ in self._read(drop=True, part=part):
            of_rows = units.between(start, min(start + numbers.shape[1], last))
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
        rows, starts = 0, []
        for part in self._parts:
            starts.append(rows)
            for batch in part.batches(names):
                cells = batch.column(column)
                if drops:
                    present = self._design.fill(batch, np.empty((self._width, batch.num_rows)))
                    cells = cells if present is None else kept_cells(cells, present)
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

    def paid_by(self, pay: Callable[[], object]) -> Table:
        """Return the same table; it calls `pay` before it hands on anything it reads.

        That is at the end of its first pass, if no row is refused there (:meth:`check_complete`).
        """
        if self.unit.column is not None:
            self.check_complete()  # the pass that groups units looks at nothing else
            pay()
            return self
        table = self._again()
        table._first_pass.pay = pay
        return table

    def _again(self) -> Self:
        """Return a copy whose first pass is still to come."""
        table = copy(self)
        table._first_pass = _FirstPass(table._refuse_gaps)
        return table

    def settle(self) -> None:
        """Look for missing values in a pass of its own, and pay, if no pass has."""
        if self._first_pass.pay is not None:
            self.check_complete()
            self._first_pass.end()

    def check_complete(self) -> None:
        """Refuse a table that cannot be read, or has missing values if its policy is "error".

        One pass over the table, or a quicker one over an array in memory that is finite. With the
        policy "error", whether it raises TableError is one bit about the data that no noise
        protects, and all it reveals: the message says neither where nor how many values are missing
        or infinite. The other policies reveal nothing but that the file is damaged.
        """
        if self._cluster is not None:
            self._fold_elsewhere(_Nothing(), self._cluster)
            if self._first_pass.gaps:
                self._refuse_gaps()
            return
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
        if not complete:
            self._refuse_gaps()

    def _refuse_gaps(self) -> None:
        """Refuse the missing values that were seen, if the policy says so."""
        if self._design.missing == "error":
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

        fill = partial(_filled, center)
        return View(self, self.feature_names, self.target_name, fill, self.binary)

    def keeping_infinite(self) -> Table:
        """Return the same table with infinite numbers as the largest double, not as missing."""
        return Table(self._source, replace(self._design, keeps_infinite=True))

    def may_drop_rows(self) -> bool:
        """Tell from policy, declared types and a query's condition whether rows may be left out.

        The number of those in use is private then.
        """
        if getattr(original(self._source), "filtered", False):
            return True
        if self._design.missing == "error":
            return False
        needed = {self._design.target}
        if self._design.missing == "drop-row":
            needed |= {f.name for f in self._design.features if f.levels is None}
            needed.add(self.unit.column)
        return any(c.may_be_missing for c in self._source.columns if c.name in needed)

    def _read(
        self, *, drop: bool, part: int | None = None
    ) -> Iterator[tuple[NDArray[np.float64], NDArray[np.bool_]]]:
        """Yield blocks of rows of the source, or of a part."""
        for numbers, complete in self._blocks(drop=drop, part=part):
            if self._first_pass.rows is not None:
                self._first_pass.rows.update(numbers)
            yield numbers, complete

    def _blocks(
        self, *, drop: bool, part: int | None
    ) -> Iterator[tuple[NDArray[np.float64], NDArray[np.bool_]]]:
        """Fill blocks of fixed size from the batches of the source, or of a part."""
        source = self._source if part is None else self._parts[part]
        room = max(1, min(_MAX_ROWS, _MAX_NUMBERS // self.n_columns))
        numbers, complete = _block(self.n_columns, room)
        filled = 0
        for batch in source.batches(self._design.source_names):
            start = 0
            while start < batch.num_rows:
                piece = batch.slice(start, room - filled)
                start += piece.num_rows
                end = filled + piece.num_rows
                present = self._design.fill(piece, numbers[:, filled:end])
                complete[filled:end] = True if present is None else present
                self._first_pass.gaps |= present is not None
                if present is not None and drop:
                    end = filled + int(present.sum())
                    numbers[:, filled:end] = numbers[:, filled : filled + piece.num_rows][
                        :, present
                    ]
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
        self._first_pass = whole._first_pass
        self._whole, self._turn = whole, turn
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
            self._turn,
            self.binary,
        )

    def over(self, source: Source | None) -> Self:
        """Return the same view of the table of another source."""
        view = super().over(source)
        view._whole = self._whole.over(source)
        view._first_pass = view._whole._first_pass
        return view

    def _again(self) -> Self:
        view = copy(self)
        view._whole = self._whole._again()
        view._first_pass = view._whole._first_pass
        return view

    def _between(self, part: int | None) -> tuple[int, int]:
        return self._whole._between(part)

    def _read(
        self, *, drop: bool, part: int | None = None
    ) -> Iterator[tuple[NDArray[np.float64], NDArray[np.bool_]]]:
        for numbers, complete in self._whole._read(drop=drop, part=part):
            yield self._turn(numbers), complete


class _Limited(View):
    """Another table with only some of its rows, so many of a unit at most."""

    def __init__(self, whole: Table, most: int, kept: NDArray[np.bool_]) -> None:
        names, target = whole.feature_names, whole.target_name
        super().__init__(whole, names, target, lambda numbers: numbers, whole.binary)
        self._kept, self._units = kept, whole.units().only(kept)
        ends = [whole._between(part) for part in range(len(self._parts))]
        self._starts = (
            0,
            *np.cumsum([np.count_nonzero(kept[slice(*end)]) for end in ends]).tolist(),
        )
        self.unit = evolve(whole.unit, rows=most)

    def units(self) -> Units:
        """Return the units of the rows that are kept."""
        return cast("Units", self._units)

    def keeping_infinite(self) -> Table:
        """Refuse: other rows would be in use."""
        raise RuntimeError("rows are chosen before it is known which are in use")

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


def _filled(center: NDArray[np.float64], numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isnan(numbers), center[:, np.newaxis], numbers)


def _block(columns: int, rows: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    return np.empty((columns, rows)), np.empty(rows, dtype=bool)
