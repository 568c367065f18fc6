"""From whatever holds a table to a `Table`."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
from attrs import evolve, frozen

from nolook._arrays import Matrix
from nolook._language import parameter_name, usage_hint
from nolook._numerics import Threads, check_threads
from nolook._unit import ROW, RowsPerUnit, Unit, Weighting, check_rows_per_unit
from nolook._validation import check_names, refusal
from nolook.errors import ParameterError, TableError
from nolook.tables.conversion import DeclaredSource, two_classes
from nolook.tables.databases import Database, is_address
from nolook.tables.design import (
    DEFAULT_MISSING,
    Columns,
    Missing,
    delimiter_hint,
    gives_number,
    plan,
)
from nolook.tables.filter import Where, check_where, test_of
from nolook.tables.folders import Folder, Listing, is_text, located
from nolook.tables.schema import ColumnSchema, Schema, as_schema
from nolook.tables.source import (
    MemorySource,
    Source,
    as_array,
    attempt,
    changed,
    from_array,
    from_frame,
    from_target,
    join,
    plain,
)
from nolook.tables.spool import Spooled, from_stream
from nolook.tables.table import Table
from nolook.tables.words import Categories, Levels, check_categories, number_of

__all__ = [
    "Rows",
    "column_names",
    "levels_given",
    "open_declared",
    "open_typed",
    "read_classes",
    "read_scores",
    "read_table",
    "series_name",
    "table_from_arrays",
    "table_from_values",
    "with_class",
]


def read_table(  # noqa: PLR0913 -- what people declare of a table
    source: object,
    target: str | Literal[False] | None = None,
    *,
    features: Sequence[str] | None = None,
    categories: Categories | None = None,
    missing: str = DEFAULT_MISSING,
    schema: Schema | Mapping[str, object] | str | os.PathLike[str] | None = None,
    where: Where | None = None,
    positive: str | None = None,
    negative: str | None = None,
    unit: str | Literal[False] | None = None,
    rows_per_unit: RowsPerUnit = "weights",
    weights: str | Literal[False] | None = None,
    threads: Threads = "auto",
    engine: object = None,
) -> Table:
    """Open a table for private use; columns are taken by their declared types.

    Parameters
    ----------
    source : path, paths, frame, query, stream or array
        Read in bounded memory, at any length: a file such as ``"people.parquet"`` or
        ``"people.csv"`` (the guide to sources lists all formats), a folder of them, a pattern such
        as ``"visits/*.csv"``, a list of files, or an address such as ``"s3://bucket/folder"``; a
        database (see :class:`Database`); a pyarrow Dataset, a Polars LazyFrame, a DuckDB relation
        or an Arrow stream (any object with ``__arrow_c_stream__``), read once and kept in a
        temporary file; a Spark table, which Spark's workers read. Already in memory: a pandas or
        Polars frame, an Arrow table or record batch, or a two-dimensional NumPy array, whose
        columns are named x0, x1, ...
    target : str or False, optional
        The column to predict: numbers or booleans. Default: the schema's column of use "target".
        False: no target, even if the schema has one.
    features : sequence of str, optional
        The columns to use, in this order. Default: all number and boolean columns except the
        target, and all columns of `categories`. A pandas column of type object is then refused,
        since a single string among numbers would make nolook leave it out silently. A CSV file
        declares no types, so its default is only the columns of `categories`.
    categories : mapping, optional
        Columns of strings, integers or booleans, and their levels: ``{"city": ["A", "B", "C"]}``.
        The first level is the reference; each other level becomes a feature that is 1 or 0, here
        "city=B" and "city=C". Levels are declared and not read from the table, since the levels
        found would leak. Cells with other values have a feature of their own, "city=...", unless a
        schema declares them missing; missing cells belong to it if `missing` is "zero" or "centre".
        None among the levels stands for this feature: in ``[None, "A", "B"]`` it is the reference.
        A single level is compared with all other values. Put a frequent level first: differences
        from a rare one are imprecise.
    missing : {"drop-row", "zero", "centre"}, default="drop-row"
        For null, NaN and infinite values, and cells that do not fit their declaration: leave the
        row out, or replace the feature by 0 or by the private centre of the column (a row without a
        target or a unit is left out). Methods that find no centres refuse "centre". Releases that
        count the rows also count those left out.
    schema : Schema, mapping or path, optional
        The data owner's declaration of the columns and of the file's format: the default target,
        columns that are not features, levels of categories. A CSV file, which has no types, has the
        declared features; in other files, undeclared columns have their own types. A path is read
        by :meth:`Schema.read`.
    where : str or list of str or tuple, optional
        Use only the rows that meet all conditions, such as ``"age >= 18"`` or ``("region", "in",
        ["North", "South"])``. Operators are =, !=, <, <=, >, >=, in and not in; dates are written
        as 2024-12-31. Any column of the table can be used, as converted by the schema; a missing
        value meets no condition. Conditions must not be chosen by looking at the rows. Releases
        list them.
    positive, negative : str, optional
        The target's values that count as 1 and as 0; all others are missing. "..." stands for all
        values except the positive one. `negative` is optional where types or a schema determine it:
        0 for 1, false for true. Without a target both are ignored.
    unit : str, optional
        The column that identifies the patient, household or firm of a row. Every release of the
        table then protects each of these with all their rows. Strings, integers or dates, compared
        as written; a row without a value is left out. Default: the schema's column of use "unit";
        without one, or if this is False, each row is protected separately.
    rows_per_unit : "weights" or int, default="weights"
        Weight of the rows of a unit. "weights": each row counts one divided by the number of rows
        of its unit, so each unit counts once and results describe units. A number C, from 1 to
        1,024: at most C rows of each unit, drawn at random for each release, count in full, so
        results describe rows, at C times the noise.
    weights : str, optional
        The column of survey weights, numbers of at least 0: results describe the weighted
        population. Weights are clipped at a bound that is found privately; a row without one is
        left out. It is not a feature, unless `features` names it. Linear, logistic, Poisson and
        additive regressions take weights, and distributions, quantiles, `describe` and `tabulate`.
        Default: the schema's column of use "weights"; False: none, even if there is one.
    threads : "auto" or int, default="auto"
        Number of threads that read and count; results do not depend on it. "auto": all that the
        process may use, or the value of the environment variable ``NOLOOK_THREADS``.
    engine : SparkSession, optional
        Spark's workers read the files, under the same paths as here; results do not depend on it.
        Default: this process. A Spark table needs no engine.

    Raises
    ------
    ParameterError
        If a parameter is not valid.
    TableError
        If the file cannot be read, or a column is unknown, occurs twice or has another type. Errors
        depend only on parameters, format and declared columns.

    Notes
    -----
    Integers, decimals and half floats become float64, rounded one by one; booleans become 1 and 0.
    In a CSV file, a cell that is not a number is a missing value, a line with too few or too many
    cells or with a quote that is not closed is a row of missing values, and blank lines are not
    rows. A cell that its type cannot hold, such as a string that is not UTF-8, is a missing value
    too.

    Examples
    --------
    >>> import numpy as np
    >>> table = read_table(np.arange(6.0).reshape(2, 3), target="x2")
    >>> table.feature_names
    ('x0', 'x1')
    >>> [batch.tolist() for batch in table.batches()]
    [[[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]]
    """
    declared = as_schema(schema)
    levels = levels_given(categories, declared)
    aim: str | None = declared.chosen("target", target)
    protected = _unit(unit, rows_per_unit, declared, weights)
    source = located(source)
    conditions = check_where(where)
    # In a text file, where nothing is declared, a cell is compared as a number with numbers alone.
    texts = {each.column for each in conditions if None in map(number_of, each.values)}
    outcome = (aim, positive, negative)
    opened = open_declared(source, declared, texts, outcome, levels, protected, engine)
    known = Columns(opened)
    marks = [(each.column, test_of(each, known, declared)) for each in conditions]
    opened = changed(opened, where=" and ".join(map(str, conditions)) or None, tests=marks)
    # A category without levels is no feature, until it is given some.
    uses = map(declared.used_as, ("nothing", "unit", "weights"))
    unused = {aim, protected.column, weights or None}.union(*uses)
    unused -= {n for n in levels if n in declared.columns and not declared.columns[n].levels}
    usual = dict.fromkeys((*declared.used_as("feature"), *levels))
    asked = [name for name in usual if name not in unused]
    names = asked if features is None else check_names(features, "features")
    found = declared.features(names, levels)
    levels = {name: each for name, each in found.items() if each is not None} | levels
    if features is None:
        names = _usual_features(opened, declared, asked, unused, source)
    design = plan(opened, aim, names, levels, missing, protected)
    design = evolve(design, schema=declared, outcome=None if aim is None else outcome[1:])
    if isinstance(opened.original, Spooled):
        opened.original.use(opened.needed(design.source_names))
    return Table(opened, design, check_threads(threads))


def levels_given(categories: object, schema: Schema) -> dict[str, Levels]:
    """Return checked levels; None stands for values that a schema does not declare missing."""
    return {
        name: each if None in each or name in schema.closed else (*each, None)
        for name, each in check_categories(categories).items()
    }


@frozen(eq=False)
class Rows:
    """Features as scikit-learn's users hold them; perhaps survey weights, levels, target's name."""

    X: object
    weights: object = None
    categories: Categories | None = None
    target: str | None = None


def table_from_arrays(X: object, y: object = None, missing: Missing = DEFAULT_MISSING) -> Table:
    """Take over features, or :class:`Rows`, and a target as scikit-learn's users hold them.

    Columns of arrays are named x0, x1, ...; the target has its series' name, or "y". Raises
    TableError if X or y has another shape or type, or their lengths differ.
    """
    rows = X if isinstance(X, Rows) else Rows(X)
    table, target, unit = _features(rows.X), None, ROW
    names = [column.name for column in table.columns]
    if y is not None:
        target = rows.target or series_name(y, "y")
        target = _unlike("y" if target in names else target, names)
        table = join(table, from_target(y), target)
    if rows.weights is not None:
        name = _unlike("sample_weight", [*names, target])
        table = join(table, from_target(rows.weights, "sample_weight"), name, "sample_weight")
        unit = Unit(weighting=Weighting(name))
    levels = levels_given(rows.categories or {}, Schema())
    return _of_memory(table, target, names, missing, levels, unit)


def _unlike(name: str, names: Collection[str | None]) -> str:
    """Return a name that no column has."""
    while name in names:
        name += "_"
    return name


def table_from_values(values: object, missing: Missing = DEFAULT_MISSING) -> Table:
    """Take over one column of numbers or booleans; it has its series' name, or is "values"."""
    name = series_name(values, "values")
    return _of_memory(from_target(values, name), None, [name], missing)


def series_name(series: object, usual: str) -> str:
    """Return the name of a series."""
    name = getattr(series, "name", None)
    return plain(name) if isinstance(name, str) and name else usual


def _of_memory(
    source: MemorySource,
    target: str | None,
    features: list[str],
    missing: Missing,
    levels: Mapping[str, Levels] = MappingProxyType({}),
    unit: Unit = ROW,
) -> Table:
    columns = {name: evolve(_CATEGORY, levels=each) for name, each in levels.items()}
    declared = DeclaredSource(source, columns)
    return Table(declared, plan(declared, target, features, levels, missing, unit))


def _unit(unit: object, rows_per_unit: object, schema: Schema, weights: object) -> Unit:
    """Return the unit, that of the schema if none is given, and how its rows count."""
    name, rows = schema.chosen("weights", weights), check_rows_per_unit(rows_per_unit)
    weighting = None if name is None else Weighting(name)
    if (unit := schema.chosen("unit", unit)) is not None:
        return Unit(unit, rows, weighting)
    if rows != "weights":
        raise ParameterError(
            f"{parameter_name('rows_per_unit')} is {rows}, but no column names a unit "
            f"({usage_hint('unit', 'patient_id')})"
        )
    return Unit(weighting=weighting)


def _usual_features(
    opened: DeclaredSource,
    schema: Schema,
    declared: list[str],
    unused: Collection[str | None],
    source: object,
) -> list[str]:
    """Return the features if none are given: those declared, and others whose type makes one.

    Then all columns of the schema must be there: a misspelt one would go unnoticed.
    """
    there, known = {column.name for column in opened.original.columns}, Columns(opened)
    for name in schema.columns:
        if name not in there:
            known.find(name, "schema")
    if not is_text(source):
        columns = [each for each in opened.columns if each.name not in unused]
        for each in columns:
            # This is what pandas calls a mixture; declared types have other names.
            if each.declared == "object" and each.name not in declared:
                raise TableError(
                    f"column {each.name!r} of {opened.name} has type object, which may hold "
                    "anything (convert it, or name the columns to use: features=[...])"
                )
        return [each.name for each in columns if each.name in declared or gives_number(each.type)]
    if not declared:
        bare = [name for name, column in schema.columns.items() if column.type == "category"]
        hint = delimiter_hint([column.name for column in opened.columns])
        example = usage_hint("features", ["age", "height"])
        hint = hint or f"for example {example}; or a schema, which 'nolook schema FILE' drafts"
        why = f"a CSV file declares no types ({hint})"
        if bare:
            why = f"category {bare[0]!r} has no levels ('nolook schema FILE --levels' shows them)"
        raise ParameterError(
            f"{parameter_name('features')} is not given; expected the columns to use, since {why}"
        )
    return declared


def open_declared(
    source: object,
    schema: Schema,
    texts: Collection[str] = (),
    outcome: _Outcome = (None, None, None),
    levels: Mapping[str, Levels] = MappingProxyType({}),
    unit: Unit = ROW,
    engine: object = None,
) -> DeclaredSource:
    """Open whatever holds a table, its columns as declared; in a text file, `texts` are texts."""
    columns = dict(schema.columns)
    optional = [name for name, column in columns.items() if column.optional]
    if is_text(source):
        others = {*source.keys, *schema.derived}
        names = {n: each.decimal for n, each in columns.items() if n not in others}
        opened: Source = Folder(source, optional, schema.file, names)
        for name in {column.name for column in opened.columns}.difference(source.keys):
            columns.setdefault(name, ColumnSchema("text" if name in texts else "number"))
    else:
        opened = open_typed(source, optional)
    if engine is not None:
        opened = import_module(_SPARK).on_spark(opened, engine)
    if unit.column is not None and unit.column in columns:
        # Compared as written, whatever else was declared.
        missing = columns[unit.column].missing
        columns[unit.column] = ColumnSchema("identifier", use="unit", missing=missing)
    for name, each in levels.items():
        if name in schema.derived:
            continue  # its levels follow
        own = columns.get(name, _CATEGORY)
        merge = {level: words for level, words in own.merge.items() if level in each}
        columns[name] = evolve(_CATEGORY, missing=own.missing, levels=each, merge=merge)
    target, *words = outcome
    if target is not None and any(word is not None for word in words):
        if target in schema.derived:
            raise ParameterError(
                f"the schema derives {target!r}, which has no values to name by "
                f"{parameter_name('positive')} (use a column of two classes as the target)"
            )
        column = Columns(opened).find(target, "target")
        columns[target] = two_classes(column, schema.columns.get(target), *words)
    return DeclaredSource(opened, columns, schema.file)


def column_names(source: object, schema: Schema) -> tuple[str, ...]:
    """Return the columns of whatever holds a table as it is, and those that a schema derives."""
    opened = open_declared(located(source), schema).original.columns
    return (*(column.name for column in opened), *schema.derived)


def open_typed(source: object, optional: Collection[str] | None = ()) -> Source:
    """Open what declares types of its own; files may lack optional columns, any if it is None."""
    if isinstance(source, Listing):
        return Folder(source, optional)
    if is_address(source):
        source = Database(source)
    if isinstance(source, Database):
        return source.open()
    # Those of Spark are streams too, which would hand all rows over.
    if is_of_spark(source, "DataFrame"):
        return import_module(_SPARK).SparkFrame(source)  # type: ignore[no-any-return]
    found: Source | None = from_frame(source) or from_stream(source)
    if found is None and isinstance(source, np.ndarray):
        found = from_array(source, "source")
    if found is None:
        expected = "a path, a frame, an Arrow stream or a two-dimensional NumPy array"
        raise refusal("source", source, expected, "for example 'people.parquet'")
    return found


def _features(X: object) -> MemorySource:
    if hasattr(X, "tocsr"):
        raise TableError("X is sparse; expected a dense array or a frame (use X.toarray())")
    frame = from_frame(X)
    if frame is None and hasattr(X, "__arrow_c_stream__"):
        said = f"X is a {type(X).__name__}; expected a frame (for example df[['age']])"
        frame = from_frame(attempt(said, pa.table, X))
    expected = "X is not an array of numbers; expected 2D data (call collect() on a lazy frame)"
    return frame or from_array(as_array(X, expected), "X")


#: A target, and its positive and negative words.
_Outcome: TypeAlias = tuple[str | None, str | None, str | None]

#: The room of tables of Spark, which is above this one and loaded if one is there.
_SPARK = "nolook.spark.frames"
_CATEGORY = ColumnSchema("category")


def read_classes(source: object, target: str, **how: Any) -> Table:  # noqa: ANN401
    """Open a table whose target has two classes: the numbers 1 and 0 where nothing tells others."""
    table = read_table(source, target, **how)
    check_classes(table)
    return table if table.binary[-1] else read_table(source, target, **how | {"positive": "1"})


def check_classes(table: Table, *, declared: bool = False) -> None:
    """Refuse a target that types or a schema declare a number, not 1 or 0.

    Integers of a file may be either, and so may all cells of a text file. If `declared`, refuse
    any target that is not declared to have two values.
    """
    name, schema = str(table.target_name), table._design.schema
    own = schema and schema.columns.get(name)
    kind = own.type if own else "" if name in table._source.declared else table._types.get(name)
    if not table.binary[-1] and (declared or kind == "number" or (own and kind == "integer")):
        raise ParameterError(
            f"{parameter_name('target')} names {name!r}, which is not declared to have two values; "
            "expected a boolean (say which of its values counts as 1: "
            f"{usage_hint('positive', '1')})"
        )


def read_scores(source: object, score: str, target: str, *words: str | None, **how: Any) -> Table:  # noqa: ANN401
    """Open a table of one column of numbers and, as its target, 1 for positives, 0 for negatives.

    Without `words`, the positive one and the negative one, a target that is not declared to have
    two values has the numbers 1 and 0. The schema's own target may be another column; `how` is the
    rest of what `read_table` takes.
    """
    check_names([score, target], "columns")
    declared = as_schema(how.get("schema"))
    how |= {"features": [score], **dict(zip(("positive", "negative"), words, strict=False))}
    how["schema"] = declared.without({*declared.used_as("target")} - {target})
    table = read_classes(located(source), target, **how)
    table._design = evolve(table._design, schema=declared)
    return with_class(table, 1.0)


def check_probability(table: Table) -> None:
    """Refuse a first column that is declared to hold whole numbers, such as ages."""
    name = table.column_names[0]
    if table.whole[0]:
        raise ParameterError(
            f"the scores ({name}) are of type integer; a calibration needs probabilities from 0 to "
            "1 (as floats, or declared to be of type 'number', with percent = true if up to 100)"
        )


def with_class(table: Table, positive: float) -> Table:
    """Return a table's first column with, as the target, whether its last one has a value.

    What is released of it is about both columns.
    """
    first, last = table.column_names
    if table.binary[0]:
        raise ParameterError(
            f"the score {first!r} is a column of true and false; expected numbers (are score and "
            "target the wrong way round?)"
        )
    mark, binary = partial(_is_positive, positive=positive), np.array([False, True])
    return table.transformed((first,), last, mark, binary, about=f"{first}, {last}")


def is_of_spark(value: object, kind: str) -> bool:
    """Tell whether something is of a class of Spark's, which has one for each way to connect."""
    return any(
        each.__module__.startswith("pyspark.sql.") and each.__name__ == kind
        for each in type(value).__mro__
    )


def _is_positive(numbers: Matrix, positive: float) -> Matrix:
    scores, targets = numbers
    return np.stack([scores, targets == positive])
