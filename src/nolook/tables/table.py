"""A table as blocks of finite float64 columns, the same on every pass."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property, partial
from itertools import compress
from operator import itemgetter
from typing import Any, ClassVar, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np
import pyarrow as pa
from attrs import define, evolve

from nolook._arrays import Flags, Matrix, Vector
from nolook._numerics import Threads, worker_threads
from nolook._unit import Unit, Weighting
from nolook.errors import TableError
from nolook.tables.conversion import DeclaredSource
from nolook.tables.design import Columns, Design, Subject
from nolook.tables.folding import (
    Foldable,
    Payment,
    Run,
    S,
    Weights,
    blocks,
    cache_room,
    fold,
    identified,
    in_one_block,
    rows_at_once,
)
from nolook.tables.schema import ColumnSchema
from nolook.tables.source import Source, changed, movable
from nolook.tables.spool import Spooled
from nolook.tables.units import Keys, Units, beside_weights, group_rows, weighed
from nolook.tables.words import OTHERS, listed

__all__ = ["DistributedSource", "Table", "Weights"]

#: Turns numbers of shape (columns, rows) into those of a view.
Transform: TypeAlias = Callable[[Matrix], Matrix]
#: Turns the blocks of a part, or of all rows, into others.
Turn: TypeAlias = Callable[[Iterator[Matrix], int | None], Iterator[Matrix]]


@define
class _Places:
    """Where rows in use are, once they were counted: in which part, and of which unit."""

    starts: tuple[int, ...] = (0,)
    units: Units | None = None
    chosen: bool = False  # whether they are some of a table's rows, marked by their places

    def between(self, part: int | None) -> tuple[int, int]:
        """Return the first of a part's rows in use, or of all, and the first after them."""
        return self.starts[part or 0], self.starts[-1 if part is None else part + 1]


@runtime_checkable
class DistributedSource(Source, Protocol):
    """A source whose rows other processes read; they are never gathered.

    Attributes
    ----------
    engine : str
        What messages call those who read.
    """

    engine: ClassVar[str]

    def fold(self, table: Table, statistic: Foldable) -> None:
        """Update a statistic with all rows of a table of this source, each once.

        Raises TableError where a part is missing, came twice or could not be read, or has other
        rows than in the pass before; what was made of the others must not be used then.
        """

    def count_units(self, table: Table) -> int:
        """Return the number of units."""

    def read_through(self, table: Table) -> None:
        """Read all rows, only to see that they can be read."""

    def batches(self, names: Sequence[str]) -> Iterator[Any]:  # noqa: ARG002
        """Refuse: the rows stay where they are."""
        raise TableError(
            f"{self.name} is read by {self.engine}, which returns sums and not rows; this "
            f"needs a table read without {self.engine} (its files, or a frame in memory)"
        )

    def parts(self) -> Sequence[Source]:
        """Return the source: only its engine divides it."""
        return (self,)


class Table:
    """A table of finite numbers, read in passes, in bounded memory.

    Returned by :func:`nolook.read_table`. Rows are read independently of each other; neither their
    number nor any other statistic is shown. A file that is damaged, or changed, raises TableError.

    Attributes
    ----------
    feature_names : tuple of str
        The features. A category has one for each declared level except the first, such as "city=B",
        and "city=..." for undeclared values, unless these are missing.
    target_name : str or None
    binary : ndarray of bool, shape (n_columns,)
        Whether a column, the target last, has only 0 and 1, by declared type or levels.
    unit : Unit
        The unit by which neighbouring tables differ.
    """

    def __init__(self, source: DeclaredSource, design: Design, threads: Threads = "auto") -> None:
        self._source, self._design, self._run = source, design, Run(threads)
        self.feature_names: tuple[str, ...] = design.feature_names
        self.target_name = design.target
        self.binary, self.code_labels = design.binary, design.code_labels
        self.unit: Unit = design.unit
        # Shared with the tables made of this one.
        self._places, self._payment = _Places(), Payment()
        self._turns: tuple[Turn, ...] = ()
        self._about: str | None = None
        self._drawn: tuple[int, bytes] | None = None  # of each unit's rows, where an engine is
        self._is_fold, self._power = False, 1

    @property
    def _types(self) -> dict[str, str]:
        return {column.name: column.declared for column in self._source.columns}

    @property
    def whole(self) -> tuple[bool, ...]:
        """Flags of the columns that hold whole numbers only, by declared type."""
        return tuple(self._types.get(name) == "integer" for name in self.column_names)

    @property
    def class_words(self) -> tuple[str, str]:
        """The words of the target's negative and positive class; "..." for all others."""
        own = self._source.declared.get(str(self.target_name), ColumnSchema("boolean"))
        yes, no = own.true, own.false
        positive, negative = self._design.outcome or (None, None)
        place = yes.index(positive) if positive in yes and len(yes) == len(no) else 0
        return negative or no[place], positive or yes[0]

    def __repr__(self) -> str:
        types = self._types
        features = ", ".join(f"{f.name}: {types[f.name]}" for f in self._design.features)
        target = f"; target {name}: {types[name]}" if (name := self.target_name) else ""
        unit = "" if self.unit.column is None else f"; unit {self.unit.column}"
        unused = listed([name for name in types if name not in {"", *self._design.source_names}])
        return f"Table({features}{target}{unit}{'; not used: ' * bool(unused)}{unused})"

    @property
    def column_names(self) -> tuple[str, ...]:
        """The features and, last, the target if there is one."""
        if self.target_name is None:
            return self.feature_names
        return (*self.feature_names, self.target_name)

    @property
    def others(self) -> dict[int, str]:
        """Columns by the places of what marks values for which no level was declared."""
        open_ones = [f for f in self._design.features if f.levels and None in f.levels[1:]]
        marks = {f"{f.name}={OTHERS}": f.name for f in open_ones}
        return {i: marks[name] for i, name in enumerate(self.column_names) if name in marks}

    @property
    def n_columns(self) -> int:
        """Number of numbers in a row."""
        return len(self.column_names)

    def subject(self) -> Subject:
        """Return the subject of a release."""
        source, schema = self._source, self._design.schema
        return Subject(
            getattr(source.original, "label", None),
            source.where,
            self._about or self.target_name or ", ".join(self.feature_names),
            schema.digest if schema and schema.to_dict() else None,
        )

    def batches(self) -> Iterator[Matrix]:
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
        yield from self._read()

    def batches_of_units(self) -> Iterator[tuple[Matrix, Weights, Weights]]:
        """Yield rows and weights, as :meth:`fold` feeds them, and the number of each row's unit.

        That is None where a row is a unit of its own.
        """
        self.check_here()
        self.finish_first_pass()
        return self._of_units(None)

    def _weighted(self, part: int | None) -> Iterator[tuple[Matrix, Weights]]:
        """Yield batches and what each row weighs, of all rows or of a part."""
        for numbers, weights, _ in self._of_units(part):
            yield numbers, weights

    def _of_units(self, part: int | None) -> Iterator[tuple[Matrix, Weights, Weights]]:
        """Yield batches with weights and units, of all rows or of a part."""
        if self.unit.column is None:
            whole = None if self.unit.weighting is None else self.unit.weight_scale
            for numbers in self._read(part):
                yield *self._with_weights(numbers, whole), None
            return
        units = self.units()
        # A unit's rows share its weight, or each has a weight of its own.
        rows = units.counts if self.unit.is_shared else np.ones_like(units.counts)
        shares = self.unit.weight_scale // np.maximum(rows, 1)
        start, last = self._places.between(part)
        for numbers in self._read(part):
            of_rows = units.between(start, min(start + numbers.shape[1], last))
            start += numbers.shape[1]
            # Rows that were not there when rows were counted are left out.
            known = np.ascontiguousarray(numbers[:, : of_rows.size])
            own = shares[of_rows] if self.unit.weight_scale > 1 else None
            yield *self._with_weights(known, own), of_rows

    def _with_weights(self, numbers: Matrix, shares: Any) -> tuple[Matrix, Weights]:  # noqa: ANN401
        """Take the weights off a batch, and multiply the rows' shares by them."""
        if self.unit.weighting is None:
            return numbers, shares
        bound = self.unit.weighting.bound
        return numbers[:-1], weighed(shares, numbers[-1], bound, self._power)

    def weighted(self, weighting: Weighting | None, power: int = 1) -> Table:
        """Return the same rows with their weights in bounds, or the squares of these."""
        return changed(self, unit=evolve(self.unit, weighting=weighting), _power=power)

    def weights_alone(self, column: str) -> Table:
        """Return the weights as the only column of rows that count alike."""
        table = self.transformed((column,), None, np.asarray, np.zeros(1, dtype=np.bool_))
        table._turns = (*self._turns, partial(_transformed, itemgetter([-1, -1])))
        return table

    def fold(self, statistic: S) -> S:
        """Update a statistic that has seen nothing with all rows, in one pass, and return it.

        It takes batches of rows, as of :meth:`batches`, cut elsewhere perhaps, and what each row
        weighs: whole numbers, those of a unit ``unit.weight_scale`` together at most, shared
        equally and rounded down, or of each row where rows count in full; None where all are 1.
        Parts of the table are read by several threads at a time, or by an engine's workers; what it
        holds is the same, to the last bit, for any number of them.
        """
        if self._cluster is not None:
            self._cluster.fold(self, statistic)
        else:
            if self.unit.column is not None:
                self.units()  # before several threads ask for them
            count = len(self._parts)
            places = [None] if count == 1 else range(count)
            threads = 1 if in_one_block(self._source, self._design) else self.threads
            fold(statistic, [partial(self._weighted, place) for place in places], threads)
        self._payment.charge()
        return statistic

    @property
    def threads(self) -> int:
        """Number of threads that read and count."""
        return worker_threads(self._run.threads)

    @property
    def _cluster(self) -> DistributedSource | None:
        found = self._source.original
        return found if isinstance(found, DistributedSource) else None

    @property
    def engine(self) -> str | None:
        """The engine that reads the rows where no thread of this process does, such as "Spark"."""
        return None if self._cluster is None else self._cluster.engine

    def check_here(self) -> None:
        """Refuse rows that an engine reads: they are not handed over."""
        if self._cluster is not None:
            self._cluster.batches(())

    def charging(self, pay: Callable[[], object]) -> Table:
        """Return the table for one release; it calls `pay` before it hands on anything it reads.

        That is at the end of its first pass, if all could be read. A table that is in a release
        already stays in it, for a part of that release.
        """
        if self._payment.due is not None:
            self._payment.add(pay)
            return self
        run = Run(self._run.threads, cache_room(self._source, self._design))
        # Rows are counted in each release.
        places = self._places if self._places.chosen else _Places()
        return changed(self, _run=run, _places=places, _payment=Payment([pay]))

    def finish_first_pass(self) -> None:
        """Read everything in a pass of its own, and pay, if no pass has.

        Raises TableError if the table cannot be read, whatever its cells are.
        """
        if self._payment.due:
            self.read_through()
            self._payment.charge()

    def read_through(self) -> None:
        """Read all rows in a pass of its own, only to see that they can be read."""
        if self._cluster is not None:
            self._cluster.read_through(self)
        else:
            deque(self._source.batches(self._design.source_names), maxlen=0)

    def units(self) -> Units:
        """Return the units of the rows in use; as confidential as the table."""
        if self._places.units is None:
            self.finish_first_pass()  # the pass that groups units looks at nothing else
            self._places.units = group_rows(self._identifiers())
        return self._places.units

    def count_units(self) -> int:
        """Return the number of units; as confidential as the table."""
        if self._cluster is not None:
            return self._cluster.count_units(self)
        return int(np.count_nonzero(self.units().counts))

    def left_out(self) -> int:
        """Return the number of rows left out, or of units with all their rows; confidential.

        It is known once a pass has ended. A row without an identifier belongs to no unit. Where a
        table is cut into folds, the first fold alone has any.
        """
        if self._is_fold:
            return 0
        if self._cluster is None and self.unit.column is not None:
            return self.units().left_out
        found = self._run.left_out
        return found[None] if None in found else sum(found.values())

    def _identifiers(self) -> Iterator[tuple[Any, Any]]:
        """Yield identifiers of rows in use and of others; count the former part by part."""
        rows, starts = 0, []
        for part in self._parts:
            starts.append(rows)
            for cells, others, _ in identified(part, self._design):
                rows += len(cells)
                yield cells, others
        self._places.starts = (*starts, rows)

    @cached_property
    def _parts(self) -> Sequence[DeclaredSource]:
        """The source's parts; their rows in use, one part after the other, are this table's."""
        return self._source.parts()

    def _count_rows(self) -> int:
        """Return the number of rows in use, which is confidential; from now on each has its place.

        Where units were counted that is known; otherwise it takes a pass.
        """
        if self.unit.column is not None:
            self.units()
        elif len(self._places.starts) == 1:
            self.finish_first_pass()
            parts = map(self._read, range(len(self._parts)))
            counts = [sum(numbers.shape[1] for numbers in part) for part in parts]
            self._places.starts = (0, *np.cumsum(counts).tolist())
        return self._places.starts[-1]

    def with_source(self, source: Source | None) -> Self:
        """Return the table of another source with the same columns, fit to be pickled.

        With None it has no rows: it is what other processes are sent, to read theirs with.
        """
        run, declared = Run(self._run.threads), self._source.of(source)
        table = changed(self, _source=declared, _run=run, _places=_Places(), _payment=Payment())
        table.__dict__.pop("_parts", None)
        return table

    def sample_rows(self, most: int, keys: Keys) -> Table:
        """Return the table with `most` rows of each unit, drawn once for all passes.

        `keys(n)` returns n secret random numbers. An engine draws where all of a unit's rows are,
        in every pass, by a secret; what it has drawn stays.
        """
        if self._drawn is not None:
            return self
        if self._cluster is None:
            table = self._only(self.units().chosen(most, keys))
        else:
            table = changed(self, _drawn=(most, keys(2).tobytes()))
        table.unit = evolve(self.unit, rows=most)
        return table

    def transformed(
        self,
        features: tuple[str, ...],
        target: str | None,
        transform: Transform,
        binary: Flags,
        about: str | None = None,
    ) -> Table:
        """Return the same rows with each batch of numbers turned into other numbers.

        `about` says what a release is about, if not the target or the features.
        """
        if self.unit.weighting is not None:
            transform = partial(beside_weights, transform)
        turns = (*self._turns, partial(_transformed, transform))
        names = {"feature_names": features, "target_name": target, "_about": about}
        return changed(self, binary=binary, _turns=turns, **names)

    def _only(self, kept: Flags, *, is_fold: bool = False) -> Self:
        """Return some of the rows, marked by their places, which were counted."""
        whole = self._places
        ends = [whole.between(part) for part in range(len(self._parts))]
        counts = [np.count_nonzero(kept[slice(*end)]) for end in ends]
        units = None if whole.units is None else whole.units.only(kept)
        places = _Places((0, *np.cumsum(counts).tolist()), units, chosen=True)
        turns = (*self._turns, partial(_marked, kept, whole))
        return changed(self, _is_fold=self._is_fold or is_fold, _places=places, _turns=turns)

    def batches_in_place(
        self, beside: Sequence[str] = ()
    ) -> Iterator[tuple[Matrix, Flags, list[Any]]]:
        """Yield every row, complete or not, so that each can be given an answer.

        Yields
        ------
        numbers : ndarray of shape (n_columns, rows)
            As from :meth:`batches`, with 0 where a value is missing.
        complete : ndarray of bool of shape (rows,)
            False where a row lacks a value it needs; under ``missing="zero"``, only its target.
        cells : list
            The cells of the columns `beside`, as they are in the source; they are not private.
        """
        design = self._design
        names, room = design.source_names, rows_at_once(design.size)
        for batch in self._source.batches(names, beside):
            for start in range(0, batch.num_rows, room):
                rows = batch.slice(start, room)
                numbers = np.empty((design.size, rows.num_rows))
                complete = design.fill(rows.select([*range(len(names))]), numbers)
                (numbers,) = self._turned(iter([numbers]), None)
                yield numbers, complete, rows.columns[len(names) :]

    def fields_beside(self, names: Sequence[str]) -> list[Any]:
        """Return the Arrow fields of further columns, which are then read too.

        Their types are those of the source, strings for CSV. Raises TableError if a column is
        unknown or occurs twice.
        """
        source = self._source.original
        declared = Columns(source)
        empty = [pa.array([], declared.find(name, "--keep").type) for name in names]
        if isinstance(source, Spooled):
            source.use(names)
        kept = empty if self._source.where is None else map(movable, empty)
        return [pa.field(name, cells.type) for name, cells in zip(names, kept, strict=True)]

    def read_options(self) -> dict[str, Any]:
        """Return the arguments of :func:`nolook.read_table`, the target left out, fit for JSON."""
        features, schema = self._design.features, self._design.schema
        read_options: dict[str, Any] = {
            "features": [feature.name for feature in features],
            "categories": {f.name: list(f.levels) for f in features if f.levels is not None},
            "missing": self._design.missing,
        }
        words = zip(("positive", "negative"), self._design.outcome or (), strict=False)
        read_options |= {name: word for name, word in words if word is not None}
        kept = [*read_options["features"], self._design.target]
        declared = schema.only(kept).to_dict() if schema else {}
        return read_options | {"schema": declared} if declared else read_options

    def select(self, keep: Flags) -> Table:
        """Return the same rows with some of the features, and the target.

        `keep` is public, or the outcome of a private release. All columns still judge what is
        missing.
        """
        places = np.flatnonzero(keep)
        if self.target_name is not None:
            places = np.append(places, keep.size)
        features = tuple(compress(self.feature_names, keep))
        return self.transformed(features, self.target_name, itemgetter(places), self.binary[places])

    @property
    def has_gaps(self) -> bool:
        """Whether, by its policy, features may be NaN where their centre is to stand."""
        return self._design.missing == "centre"

    def filled(self, center: Vector) -> Table:
        """Return the same table with a column's centre, public or released, where one is missing.

        Centres have shape (n_columns,).
        """
        if not self.has_gaps:
            return self
        fill = partial(_filled, center)
        return self.transformed(self.feature_names, self.target_name, fill, self.binary)

    def keeping_infinite(self, *, all_targets: bool = False) -> Table:
        """Return the same table with infinite numbers as the largest double, not as missing.

        If `all_targets`, rows without a target are in use too: it is NaN, which equals no class.
        """
        if self._payment.due is not None or self._places.chosen:
            raise RuntimeError("rows were chosen, or are about to be, from those in use before")
        needs = self._design.target is None or not all_targets
        design = evolve(self._design, keeps_infinite=True, needs_target=needs)
        return changed(self, _design=design, _run=Run(self._run.threads), _places=_Places())

    def as_codes(self, names: Sequence[str] | None = None, found: Collection[str] = ()) -> Table:
        """Return the same rows with some columns as codes (`Design.as_codes`); none is left out."""
        if self._payment.due is not None or self._places.chosen or self._turns:
            raise RuntimeError("rows were chosen, or are about to be, from those in use before")
        return Table(self._source, self._design.as_codes(names, found), self._run.threads)

    def may_drop_rows(self) -> bool:
        """Tell from a filter, policy and declared types whether rows may be left out.

        Their number is private then. An empty string is missing in a category, too.
        """
        source, design = self._source, self._design
        needed = {design.target} if design.needs_target else set()
        if drops := design.missing == "drop-row":
            needed |= {design.unit.column, *(f.name for f in design.features)}
        levels = (f.levels for f in design.features if f.levels and not f.coded)
        lacking = any(drops or None not in own for own in levels)
        # A number may be null, NaN or infinite.
        own = (each for each in source.columns if each.name in needed)
        lacking |= any(each.nullable or pa.types.is_floating(each.type) for each in own)
        return lacking or source.where is not None or self.unit.weighting is not None

    def _read(self, part: int | None = None) -> Iterator[Matrix]:
        """Fill blocks of fixed size from the batches of the source, or of a part."""
        source = self._source if part is None else self._parts[part]
        read = self._run.through(part, blocks(source, self._design, self._run, part))
        return self._turned(read, part)

    def _turned(self, blocks: Iterator[Matrix], part: int | None) -> Iterator[Matrix]:
        for turn in self._turns:
            blocks = turn(blocks, part)
        return blocks


def _transformed(transform: Transform, blocks: Iterator[Matrix], _: int | None) -> Iterator[Matrix]:
    return map(transform, blocks)


def _marked(
    kept: Flags, places: _Places, blocks: Iterator[Matrix], part: int | None
) -> Iterator[Matrix]:
    """Yield the rows that are marked by their places."""
    start, last = places.between(part)
    for numbers in blocks:
        found = np.flatnonzero(kept[start : min(start + numbers.shape[1], last)])
        start += numbers.shape[1]
        yield np.ascontiguousarray(numbers[:, found])


def _filled(center: Vector, numbers: Matrix) -> Matrix:
    return np.where(np.isnan(numbers), center[:, np.newaxis], numbers)
