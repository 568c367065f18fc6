"""Two classes, declared and never looked up, and tables whose target is one of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve
from numpy.typing import NDArray

from nolook.errors import ParameterError
from nolook.estimators._tables import training_table, warn_of_column
from nolook.tables import Rows, Table
from nolook.tables.read import check_classes, series_name
from nolook.tables.source import as_text, attempt, from_target, raw_texts
from nolook.tables.words import OTHERS, number_of, places

#: How names of types of words begin, in Arrow and Polars.
_WORDS = ("string", "large_string", "dictionary<values=string", "categorical", "enum")
_TYPES = {"booleans", "numbers", "words"}
#: How names of types begin that hold neither numbers nor words.
_OTHERS = (
    *("list", "large_list", "fixed_size", "struct", "map", "array", "date", "time", "duration"),
    *("interval", "null", "period", "binary", "large_binary", "extension", "|s", "|v"),
)
_KINDS = (str, bool, int, float, np.bool_, np.integer, np.floating)


def declared_classes(classes: object) -> NDArray[Any]:
    """Return the classes a user declares, the negative one first."""
    try:
        pair = list(classes)  # type: ignore[call-overload]
    except TypeError:
        pair = []
    known = len(pair) == 2 and all(isinstance(one, _KINDS) for one in pair)
    alike = known and isinstance(pair[0], str) == isinstance(pair[1], str)
    if not alike or isinstance(classes, str) or pair[0] == pair[1]:
        raise ParameterError(
            "classes is not a pair of different numbers, booleans or strings, both of one type; "
            "expected the negative class, then the positive one (for example classes=('no', 'yes'))"
        )
    return np.array(pair)


def class_table(
    estimator: object, X: object, y: object, classes: object
) -> tuple[Table, NDArray[Any]]:
    """Return the table to fit, whose target holds 0 and 1 or lacks a value, and the classes."""
    if isinstance(X, Table):
        if classes is not None:
            raise ParameterError(
                "classes is given with a Table; expected None (read_table's positive names the "
                "positive class)"
            )
        table = training_table(estimator, X, y)
        check_classes(table, declared=True)
        return table, table_classes(table)
    if y is None:
        return training_table(estimator, X, y), np.array([0, 1])
    known = _usual_classes(y) if classes is None else declared_classes(classes)
    if getattr(y, "ndim", 1) == 2:
        warn_of_column()
    positive = pc.equal(class_places(y, known, "y", f"classes is {classes!r}"), 1)
    rows = evolve(X if isinstance(X, Rows) else Rows(X), target=series_name(y, "y"))
    return training_table(estimator, rows, positive), known


def _usual_classes(y: Any) -> NDArray[Any]:  # noqa: ANN401
    """Return the classes that an array's type declares; refuse one of words or objects."""
    kind = kind_of(y)
    dtype: Any = getattr(y, "dtype", None)
    if type(dtype).__name__ == "CategoricalDtype" and len(dtype.categories) == 2:
        return declared_classes(dtype.categories)
    if kind in {"words", "objects"} or not (kind or hasattr(y, "__array__")):
        raise ParameterError(
            "the type of y (a list, words or Python objects) declares no two classes, which "
            "are not looked up in the data; expected numpy.asarray(y) if it holds 0 and 1, or an "
            "estimator with classes (for example nolook.LogisticRegression(classes=('no', 'yes')))"
        )
    return np.array([False, True] if kind == "booleans" else [0, 1])


def table_classes(table: Table) -> NDArray[Any]:
    """Return the classes of a table's target, the negative one first, as their words declare them.

    Words for numbers and truth values are these; all values but the positive one are "not" it.
    """
    negative, positive = table.class_words
    if negative == OTHERS:
        return np.array([f"not {positive}", positive])
    words = [negative.lower(), positive.lower()]
    numbers = [number_of(word) for word in words]
    if {*words} == {"false", "true"}:
        return np.array([word == "true" for word in words])
    return np.array([negative, positive] if None in numbers else numbers)


def class_places(target: Any, classes: Any, name: str, said: str) -> Any:  # noqa: ANN401
    """Return the place of each cell of a target among classes as an Arrow array, null for others.

    Cells are compared as those of tables are with declared words, each by itself. `said` begins the
    message where the target's type rules the classes out.
    """
    kind, words = kind_of(target), isinstance(classes[0], str)
    if kind == "others":
        # Without the length of the longest cell.
        raise ParameterError(
            f"{name} is of type {type_name(target).partition('<')[0].rstrip('0123456789')}; "
            "expected numbers, booleans or strings, one a row"
        )
    if kind in _TYPES and words != (kind == "words"):
        raise ParameterError(
            f"{said}, but {name} holds {'numbers or booleans' if words else 'words'}; expected "
            f"{'numbers' if words else 'strings'} (for example {1 if words else 'yes'!r})"
        )
    return places(_cells(target, kind, name), [_word(each) for each in classes])


def _cells(target: Any, kind: str, name: str) -> Any:  # noqa: ANN401
    """Return a target's cells in an Arrow array of its own type; as words if it declares none."""
    series = hasattr(target, "iloc") or hasattr(target, "to_arrow")
    numeric = isinstance(target, np.ndarray) and kind != "words"
    if kind in _TYPES and (series or numeric or isinstance(target, pa.Array | pa.ChunkedArray)):
        column = from_target(target, name)
        ((_, cells),) = column.pairs
        return cells(0, column.rows)
    # What NumPy makes of a list depends on whether a cell is one, too.
    if not isinstance(target, list | tuple):
        array = attempt(f"{name} is not an array of values", np.asanyarray, target, dtype=object)
        array = array[:, 0] if array.shape[1:] == (1,) else array
        if array.ndim != 1:
            raise ParameterError(f"{name} has {array.ndim} dimensions (bad input shape)")
        target = array.tolist()
    return raw_texts([_word(cell) for cell in target])


def _word(value: Any) -> Any:  # noqa: ANN401 -- a string or None
    """Return a string, boolean or number as a word of a table; None for anything else."""
    return as_text(int(value) if issubclass(type(value), bool | np.bool_) else value)


def type_name(target: Any) -> str:  # noqa: ANN401
    """Return the name of the type that a column declares for its cells; "none" if there is none."""
    return str(_declared(target)).lower()


def _declared(target: Any) -> Any:  # noqa: ANN401 -- of NumPy, pandas, Polars or Arrow
    column = target.iloc[:, 0] if hasattr(target, "iloc") and target.ndim == 2 else target
    return getattr(column, "dtype", getattr(column, "type", None))


def kind_of(target: Any) -> str:  # noqa: ANN401
    """Return the kind of cells declared: words, objects, numbers, booleans, others or ""."""
    declared, name = _declared(target), type_name(target)
    categories = getattr(declared, "categories", None)
    if hasattr(categories, "dtype"):
        return "words" if kind_of(categories) == "words" else "objects"
    if declared is None or declared == np.dtype(object):
        return "" if declared is None else "objects"
    if name.startswith(_OTHERS):
        return "others"
    if getattr(declared, "kind", None) in {*"OUT"} or name.startswith(_WORDS):
        return "words"
    return "booleans" if name.startswith("bool") else "numbers"
