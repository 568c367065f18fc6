"""Two classes, declared and never looked up, and tables whose target is one of them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import expit

from nolook._arrays import Flags, Vector
from nolook._language import parameter_name, usage_hint
from nolook.errors import ParameterError
from nolook.estimators._tables import marks, training_table, warn_of_column
from nolook.tables import Table

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
    if not known or isinstance(classes, str) or pair[0] == pair[1]:
        raise ParameterError(
            "classes is not a pair of different numbers, booleans or strings; expected the "
            "negative class, then the positive one (for example classes=('no', 'yes'))"
        )
    if isinstance(pair[0], str) != isinstance(pair[1], str):
        raise ParameterError("classes are a string and a number; expected two of one type")
    return np.array(pair)


def class_probabilities(log_odds: Vector) -> Vector:
    """Return the probabilities of the negative and the positive class, shape (rows, 2)."""
    return np.column_stack([expit(-log_odds), expit(log_odds)])


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
        return table, np.array([0, 1])
    if y is None:
        return training_table(estimator, X, y), np.array([0, 1])
    values, known = _values(y, declared)
    negative, positive = (marks(values, one) for one in known)
    return training_table(estimator, X, _named_like(y, positive, positive | negative)), known


def _values(y: object, declared: NDArray[Any] | None) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the target as an array of one dimension, and the classes it may hold."""
    pandas = sys.modules.get("pandas")
    dtype = getattr(y, "dtype", None)
    if declared is None and pandas is not None and isinstance(dtype, pandas.CategoricalDtype):
        declared = declared_classes(list(dtype.categories) if len(dtype.categories) == 2 else "")
    try:
        values = np.asarray(y)
    except ValueError:
        values = np.zeros((0, 0, 0))
    if values.ndim == 2 and values.shape[1] == 1:
        warn_of_column()
        values = values[:, 0]
    if values.dtype.kind == "c":
        raise ParameterError("y has complex numbers: Complex data not supported; expected classes")
    if values.ndim != 1 or values.dtype.kind not in "biufOUT":
        raise ParameterError(
            "y is not one number, boolean or text a row; expected shape (rows,) (bad input shape)"
        )
    if declared is None:
        declared = np.array([False, True] if values.dtype.kind == "b" else [0, 1])
    return values, declared


def _named_like(y: object, positive: Flags, known: Flags) -> object:
    """Return the classes, missing where not known, as a series of the target's name if any."""
    name, pandas = getattr(y, "name", None), sys.modules.get("pandas")
    if pandas is None or name is None:
        return pa.array(positive, mask=~known)
    return pandas.Series(pandas.arrays.BooleanArray(positive, ~known), name=name)
