"""Two classes, declared and never looked up, and tables whose target is one of them."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from nolook._arrays import Flags
from nolook._language import parameter_name, usage_hint
from nolook.errors import ParameterError
from nolook.estimators._tables import marks, training_table, warn_of_column
from nolook.tables import Table
from nolook.tables.source import attempt, dtype_name
from nolook.tables.words import OTHERS, number_of

#: How names of types of words begin, in Arrow and Polars.
_WORDS = ("string", "large_string", "dictionary<values=string", "categorical", "enum")
_KINDS = (str, bool, int, float, np.bool_, np.integer, np.floating)


def declared_classes(classes: object) -> NDArray[Any] | None:
    """Return the classes a user declares, the negative one first; None if there are none."""
    if classes is None:
        return None
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
    estimator: Any,  # noqa: ANN401
    X: object,
    y: object,
    classes: object,
) -> tuple[Table, NDArray[Any]]:
    """Return the table to fit, whose target holds 0 and 1 or lacks a value, and the classes."""
    declared = declared_classes(classes)
    if isinstance(X, Table):
        if declared is not None:
            raise ParameterError(
                "classes is given with a Table; expected None (read_table's positive names the "
                "positive class)"
            )
        table = training_table(estimator, X, y)
        if not table.binary[-1]:
            raise ParameterError(
                f"{parameter_name('target')} names {table.target_name!r}, which is not declared "
                "to have two values; expected a boolean (say which of its values counts as 1: "
                f"{usage_hint('positive', '1')})"
            )
        return table, table_classes(table)
    if y is None:
        return training_table(estimator, X, y), np.array([0, 1])
    pandas, dtype = sys.modules.get("pandas"), getattr(y, "dtype", None)
    if declared is None and pandas is not None and isinstance(dtype, pandas.CategoricalDtype):
        declared = declared_classes(list(dtype.categories) if len(dtype.categories) == 2 else "")
    values = class_values(y, "y")
    if getattr(y, "ndim", 1) == 2:
        warn_of_column()
    # What has no type, as a list, is as its cells are, and these must not decide.
    if declared is None and (are_words(y) or dtype == np.dtype(object)):
        raise ParameterError(
            "y holds words or Python objects, and which of them are the two classes is not looked "
            "up; expected numbers, booleans or classes=(negative, positive) (for example "
            "classes=('no', 'yes'))"
        )
    usual = np.array([False, True] if values.dtype.kind == "b" else [0, 1])
    known = usual if declared is None else declared
    negative, positive = (marks(values, one) for one in known)
    return training_table(estimator, X, _named_like(y, positive, positive | negative)), known


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


def class_values(target: object, name: str) -> NDArray[Any]:
    """Return a target's numbers, booleans or strings as an array of one dimension."""
    array = attempt(f"{name} is not an array; expected one value a row", _as_array, target)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.dtype.kind == "c":
        raise ParameterError(f"{name} has complex numbers: Complex data not supported")
    if array.ndim != 1 or array.dtype.kind not in "biufOUT" or isinstance(array, np.ma.MaskedArray):
        raise ParameterError(
            f"{name} has dtype {dtype_name(array.dtype)} and {array.ndim} dimensions (bad input "
            "shape); expected one number, boolean or string a row"
        )
    return array


def are_words(target: Any) -> bool | None:  # noqa: ANN401
    """Tell whether a target's type is one of words; None if it is one of any Python objects."""
    column = target.iloc[:, 0] if hasattr(target, "iloc") and target.ndim == 2 else target
    declared: Any = getattr(column, "dtype", getattr(column, "type", None))
    if hasattr(declared, "categories") and hasattr(declared.categories, "dtype"):
        declared = declared.categories.dtype
    if declared is None or declared == np.dtype(object):
        return None
    kind = getattr(declared, "kind", None)
    return str(declared).lower().startswith(_WORDS) if kind is None else kind in "OUT"


def _as_array(target: Any) -> NDArray[Any]:  # noqa: ANN401
    """Return the target as an array: of objects if it declares no type, so that values stay as is.

    NumPy would turn numbers into texts if one of them is a text.
    """
    if isinstance(getattr(target, "dtype", None), np.dtype):
        return np.asanyarray(target)
    if hasattr(target, "to_pylist"):
        target = [_python(value) for value in target]
    elif hasattr(target, "to_list"):
        target = target.to_list()
    if isinstance(target, list | tuple):
        # Cell by cell: what NumPy makes of a list depends on whether a cell is one, too.
        array = np.empty(len(target), dtype=object)
        for place, value in enumerate(target):
            array[place] = value
        return array
    return np.asanyarray(target, dtype=object)


def _python(scalar: Any) -> object:  # noqa: ANN401
    """Return an Arrow scalar's value, None if it is a text that is not UTF-8."""
    with suppress(UnicodeDecodeError):
        return scalar.as_py()
    return None


def _named_like(y: object, positive: Flags, known: Flags) -> object:
    """Return the classes, missing where not known, as a series of the target's name if any."""
    name, pandas = getattr(y, "name", None), sys.modules.get("pandas")
    if pandas is None or name is None:
        return pa.array(positive, mask=~known)
    return pandas.Series(pandas.arrays.BooleanArray(positive, ~known), name=name)
