"""The numbers of a row: fixed from declared types and parameters, never from cells."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Literal, TypeAlias, cast, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from attrs import evolve, frozen

from nolook._arrays import Flags, Matrix, Vector
from nolook._language import is_settable, parameter_name, usage_hint
from nolook._unit import ROW, Unit
from nolook._validation import check_choice, check_names
from nolook.errors import ParameterError, TableError
from nolook.tables.schema import ColumnSchema, Schema
from nolook.tables.source import TEXT, Column, Source, in_words
from nolook.tables.units import can_identify, named_rows
from nolook.tables.words import GAP, OTHERS, Levels, Vocabulary, is_number, named_levels

__all__ = [
    "DEFAULT_MISSING",
    "Columns",
    "Design",
    "Feature",
    "Missing",
    "Subject",
    "codes_of",
    "declared_labels",
    "delimiter_hint",
    "gives_number",
    "labels_of",
    "numbers_of",
    "plan",
    "unknown_column",
    "usual_missing",
]

Missing: TypeAlias = Literal["drop-row", "zero", "centre"]

#: What becomes of a row that lacks a value, if nothing is said.
DEFAULT_MISSING: Missing = "drop-row"

# What people separate cells with where it is no comma.
_DELIMITERS = {";": ";", "\t": "tab", "|": "|"}
_LARGEST = np.finfo(np.float64).max


def usual_missing(relation: str | None) -> Missing:
    """Return the policy for arrays: "zero" where the number of rows is public."""
    return "zero" if relation == "replace" else DEFAULT_MISSING


@frozen
class Feature:
    """One column of the source as it enters the numbers."""

    name: str
    levels: Levels | None = None  # one number each but the first; None for a number itself
    coded: bool = False  # one number for all levels: the place of the cell's among those declared
    vocabulary: Vocabulary | None = None  # or its place among all that occur, none declared

    @property
    def is_number(self) -> bool:
        """Whether the column gives a number or a code, not a mark for each level."""
        return self.levels is None or self.coded

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the numbers this column gives."""
        marks = (OTHERS if level is None else level for level in (self.levels or ())[1:])
        return (self.name,) if self.is_number else tuple(f"{self.name}={each}" for each in marks)

    def fill(self, column: Any, missing: str, out: Matrix) -> None:  # noqa: ANN401
        """Write the numbers of the column's cells, of shape (names, rows)."""
        if self.levels is None:
            out[0] = numbers_of(column)
        elif self.coded:
            out[0] = codes_of(column, self.vocabulary or self.levels)
        else:
            _contrasts(column, self.levels, missing, out)


@frozen
class Design:
    """The conversion of record batches to float64 columns, each row independently of the others."""

    features: tuple[Feature, ...]
    target: str | None
    missing: Missing
    keeps_infinite: bool = False  # infinite numbers are not missing: they are the largest double
    needs_target: bool = True  # a row without a target is left out; else its target is NaN
    booleans: frozenset[str] = frozenset()  # the source's columns of this type in use
    schema: Schema | None = None  # what was declared of the source
    unit: Unit = ROW
    outcome: tuple[str | None, str | None] | None = None  # the words given for the target's classes

    @property
    def source_names(self) -> tuple[str, ...]:
        """The source's columns in use: features, target, unit."""
        weights = None if self.unit.weighting is None else self.unit.weighting.column
        names = (*(f.name for f in self.features), self.target, self.unit.column, weights)
        return tuple(name for name in names if name is not None)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features; a category gives one for each level but the first."""
        return tuple(name for feature in self.features for name in feature.names)

    def as_codes(self, names: Sequence[str] | None, found: Collection[str] = ()) -> Design:
        """Return the design of columns, all with the target by default, as one number each.

        NaN stands for a missing value. A category is the place of the cell's level among those
        declared, one more for any other value, unless that is missing: `code_labels` says what
        codes stand for. Where levels are to be `found`, a code is the place of a cell's value among
        all that occur.
        """
        known = {
            f.name: Feature(
                f.name,
                f.levels,
                coded=bool(f.levels),
                vocabulary=Vocabulary() if f.name in found else None,
            )
            for f in self.features
        }
        if self.target is not None:
            known[self.target] = Feature(self.target)
        features = tuple(known[name] for name in names or known)
        return evolve(self, features=features, target=None, missing="centre")

    @property
    def code_labels(self) -> tuple[tuple[str, ...] | None, ...]:
        """The labels of the codes of each feature, a missing value last; None for numbers."""
        known = self.schema.columns if self.schema else {}
        return tuple(
            labels_of(f.levels, known.get(f.name)) if f.levels or f.name in self.booleans else None
            for f in self.features
        )

    @property
    def binary(self) -> Flags:
        """Mask of the numbers that are 0 or 1 by declaration or type, the target last."""
        kinds = [
            not feature.is_number or feature.name in self.booleans
            for feature in self.features
            for _ in feature.names
        ]
        if self.target is not None:
            kinds.append(self.target in self.booleans)
        return np.array(kinds, dtype=np.bool_)

    @property
    def size(self) -> int:
        """The length of a row: the columns and, last, its weight if there are weights."""
        return self.binary.size + (self.unit.weighting is not None)

    def fill(self, batch: Any, out: Matrix) -> Flags:  # noqa: ANN401
        """Write a record batch's numbers into `out`, shape (columns, rows); every one is finite.

        0 stands where a value is missing, NaN where a feature's centre is to stand. Returns which
        rows have all they need, their unit too.
        """
        row, present = 0, np.ones(batch.num_rows, dtype=np.bool_)
        with np.errstate(all="ignore"):
            for feature in self.features:
                feature.fill(batch.column(feature.name), self.missing, out[row:])
                row += len(feature.names)
            if self.target is not None:
                out[row] = numbers_of(batch.column(self.target))
            if self.unit.weighting is not None:
                given = numbers_of(batch.column(self.unit.weighting.column))
                out[-1] = np.where((given >= 0.0) & (given <= _LARGEST), given, np.nan)
        if self.keeps_infinite:
            np.clip(out, -_LARGEST, _LARGEST, out=out)
        finite = np.isfinite(out)
        if not finite.all():
            out[~finite] = np.nan if self.missing == "centre" else 0.0
            if not self.needs_target:
                place = len(self.binary) - 1
                out[place, ~finite[place]] = np.nan
            present = np.logical_and.reduce(finite[self._needed])
        if self.unit.column is not None:
            present &= named_rows(batch.column(self.unit.column))
        return present

    @property
    def _needed(self) -> Flags:
        """Mask of the numbers without a replacement where missing: levels, and the target."""
        all_are = self.missing == "drop-row"
        needed = [all_are or not f.is_number for f in self.features for _ in f.names]
        needed += [self.needs_target] * (self.target is not None)
        return np.array(needed + [True] * (self.unit.weighting is not None))


@frozen
class Subject:
    """Subject of a release, in words.

    A file's name is without folders, that of a database's table without its address. `schema` is a
    digest of what was declared. What there is not is None.
    """

    table: str | None
    where: str | None
    columns: str
    schema: str | None


def plan(
    source: Source,
    target: str | None,
    features: Sequence[str],
    categories: Mapping[str, Levels],
    missing: str,
    unit: Unit = ROW,
) -> Design:
    """Fix the design from declared columns and the parameters of :func:`nolook.read_table`."""
    schema = Columns(source)
    policy = cast("Missing", check_choice("missing", missing, get_args(Missing)))
    aim = () if target is None else check_names((target,), "target")
    names = list(dict.fromkeys(features))
    weights = None if unit.weighting is None else unit.weighting.column
    _check_apart(
        ("target", aim), ("features", names), ("unit", [unit.column]), ("weights", [weights])
    )
    for name in aim:
        _check_number(name, schema, "target")
    if unit.column is not None:
        _check_unit(schema.find(unit.column, "unit"), schema)
    if weights is not None:
        _check_number(weights, schema, "weights")
    for name in categories:
        schema.find(name, "categories")
        if name not in names:
            reason = "is the target" if name == target else "is not a feature"
            raise ParameterError(
                f"{parameter_name('categories')} names {name!r}, which {reason}; expected a "
                "feature (leave it out)"
            )
    for name in names:
        if name not in categories:
            _check_number(name, schema, "features")
    chosen = tuple(Feature(name, categories.get(name)) for name in names)
    if not chosen:
        raise TableError(
            f"{source.name} has no numeric or boolean column besides the target (declare "
            "the levels of a text column, for example "
            f"{usage_hint('categories', {'city': ['A', 'B']})})"
        )
    booleans = frozenset(
        name for name in (*names, *aim) if pt.is_boolean(schema.find(name, "features").type)
    )
    design = Design(chosen, target, policy, booleans=booleans, unit=unit)
    check_names((*design.feature_names, *aim) or names, "features")
    return design


def unknown_column(parameter: str, name: str, source: str, known: Iterable[str]) -> TableError:
    """Return the refusal of a name that no column has, with the closest ones: names are public."""
    header = list(known)
    alike = {each.casefold(): each for each in header}
    close = [alike[each] for each in get_close_matches(name.casefold(), alike, 3, 0.6)]
    hint = f"do you mean {' or '.join(map(repr, close))}?" if close else "check the name"
    if len(parts := re.split(r"[;|\s]+", name)) > 1 and {*parts} <= {*header}:
        hint = f"give several as {usage_hint(parameter, parts)}"
    hint = delimiter_hint(header) or hint
    return TableError(
        f"{_namer(parameter)} names {name!r}, but {source} has no such column ({hint})"
    )


def _namer(parameter: str) -> str:
    """Return the name of a parameter for columns, or the command where it has others for them."""
    return parameter_name(parameter) if is_settable(parameter) else "the command"


def delimiter_hint(header: Sequence[str]) -> str:
    """Ask about the delimiter if a header of one name looks like several; else return nothing."""
    for sign, word in _DELIMITERS.items():
        if len(header) == 1 and sign in header[0]:
            option = usage_hint("schema", "FILE.toml", f"schema=nolook.Schema(delimiter={sign!r})")
            return (
                f"its header is one name with a {word} in it: is that the delimiter? {option}; "
                "'nolook schema FILE' drafts one"
            )
    if len(header) == 1:
        return (
            "its header is one name: is it a title above the header? (skip = 1 in a schema, which "
            "'nolook schema FILE' drafts)"
        )
    return ""


class Columns:
    """A source's columns by name."""

    def __init__(self, source: Source) -> None:
        self.name = source.name
        self._lacking: Mapping[str, TableError] = getattr(source, "lacking", {})
        self._columns: dict[str, list[Column]] = {}
        for column in source.columns:
            self._columns.setdefault(column.name, []).append(column)

    def find(self, name: str, parameter: str) -> Column:
        """Return the one column of this name."""
        found = self._columns.get(name, [])
        if not found:
            raise self._lacking.get(name) or unknown_column(
                parameter, name, self.name, self._columns
            )
        if len(found) > 1:
            raise TableError(f"{self.name} has {len(found)} columns {name!r} (rename them)")
        return found[0]


def _check_number(name: str, schema: Columns, parameter: str) -> None:
    column = schema.find(name, parameter)
    if gives_number(column.type):
        return
    coded = column.type is not None and pt.is_dictionary(column.type)
    declared = "categorical" if coded else column.declared
    advice = "turn it into a number first or use another column"
    if in_words(column.type) in {"date", "date and time"}:
        python = f"nolook.read_table(..., schema={ {'columns': {column.name: 'date'}} })"
        advice = f"declare it a date: {usage_hint('schema', 'FILE.toml', python)}, or leave it out"
    elif (
        parameter == "features"
        and declared in {"text", "categorical"}
        and is_settable("categories")
    ):
        levels = {column.name: ["A", "B"]}
        way = usage_hint("categories", levels, f"nolook.read_table(..., categories={levels})")
        advice = f"to use it as a category declare its levels, for example {way}, or leave it out"
    elif parameter == "target" and in_words(column.type) == "text":
        advice = f"name the value that counts as 1, for example {usage_hint('positive', 'yes')}"
    raise TableError(
        f"{_namer(parameter)} names {column.name!r}, which in {schema.name} has type "
        f"{declared}; expected a number or a boolean ({advice})"
    )


def _check_apart(*uses: tuple[str, Sequence[str | None]]) -> None:
    """Refuse a column that two parameters name."""
    known: dict[str | None, str] = {}
    for parameter, names in uses:
        for name in names:
            if name is not None and name in known:
                raise ParameterError(
                    f"{parameter_name(parameter)} names {name!r}, which is also {known[name]} "
                    "(leave it out of one)"
                )
            known[name] = "a feature" if parameter == "features" else f"the {parameter}"


def _check_unit(column: Column, schema: Columns) -> None:
    if not can_identify(column.type):
        raise TableError(
            f"{parameter_name('unit')} names {column.name!r}, which in {schema.name} has type "
            f"{in_words(column.type)}; expected text or integers, since numbers with a fraction "
            "may be rounded alike (turn it into text first)"
        )


def gives_number(kind: Any) -> bool:  # noqa: ANN401
    """Tell whether a column of an Arrow type is a number: booleans are 1 or 0."""
    return is_number(kind) or (kind is not None and pt.is_boolean(kind))


def numbers_of(column: Any) -> Any:  # noqa: ANN401
    """Return a column's numbers as an array, nan where there is none."""
    if pt.is_boolean(column.type):
        column = column.cast(pa.uint8())
    elif pt.is_decimal(column.type):
        column = column.cast(pa.float64())
    return column.to_numpy(zero_copy_only=False)


def _contrasts(column: Any, levels: Levels, missing: str, out: Matrix) -> None:  # noqa: ANN401
    """Write 1 in the row of each cell's level.

    The first level has no row. Undeclared cells are in the row of None, or else missing: NaN. So
    are null ones, unless "zero" or "centre" puts something in the place of a missing number: then
    they count as undeclared.
    """
    known = named_levels(levels)
    codes = codes_of(column, levels)
    null = np.isnan(codes)
    found = np.where(null, len(known), codes)
    for row, level in enumerate(levels[1:]):
        wanted = len(known) if level is None else known.index(level)
        np.equal(found, wanted, out=out[row], casting="unsafe")
    if None not in levels or missing not in {"zero", "centre"}:
        out[: len(levels) - 1, null] = np.nan


def labels_of(levels: Levels | None, declared: ColumnSchema | None = None) -> tuple[str, ...]:
    """Return the labels of the codes of a category, or of a boolean as declared."""
    if levels is None:
        own = declared or ColumnSchema("boolean")
        no, yes = own.false[0], own.true[0]
        return f"not {yes}" if no == OTHERS else no, yes, GAP
    return (*named_levels(levels), *[OTHERS] * (None in levels), GAP)


def declared_labels(labels: tuple[str, ...]) -> tuple[str, ...]:
    """Return the labels of declared levels, of all those that :func:`labels_of` gives."""
    return labels[: -2 if OTHERS in labels else -1]


def codes_of(column: Any, levels: Levels | Vocabulary) -> Vector:  # noqa: ANN401
    """Return the place of each cell among levels, after the last for others, or among all words.

    NaN for null, for an empty text that is not a level, and for others where there is no place.
    """
    cells = column.dictionary if pt.is_dictionary(column.type) else column
    cells = cells.cast(TEXT)
    if isinstance(levels, Vocabulary):
        levels = (*levels.including(pc.unique(cells).to_pylist()), None)
    known = named_levels(levels)
    codes = pc.index_in(cells, value_set=pa.array(known, TEXT))
    if None in levels:
        codes = pc.if_else(pc.not_equal(cells, ""), codes.fill_null(len(known)), codes)
    if pt.is_dictionary(column.type):
        codes = codes.take(column.indices)
    return np.asarray(codes.cast(pa.float64()))
