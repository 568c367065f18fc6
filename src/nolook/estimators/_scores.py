"""Scores and labels, as scikit-learn's users hold them, in one table."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolook.errors import ParameterError
from nolook.estimators.base import PrivateEstimator
from nolook.tables import Table, table_from_arrays
from nolook.tables.memory import as_array, dtype_name
from nolook.tables.scored import ScoredTable
from nolook.tables.source import attempt

__all__ = ["ScoredEstimator", "scored_table"]

_EXPECTED = "expected one value a row (shape (rows,))"


class ScoredEstimator(PrivateEstimator):
    """What is released of scores and labels.

    Parameters
    ----------
    pos_label : number or str
        The label of the positive class.
    """

    pos_label: float | str

    #: What a reader of the result must know about the scored model.
    caution = (
        "The scored model must not itself have been fitted without privacy on these rows: such a "
        "model depends on every row, which this guarantee does not cover."
    )

    def _rows(self, X: object, y: object) -> ScoredTable:
        rows = scored_table(X, y, self.pos_label)
        self.recipe_ = rows.recipe()
        return rows

    def _check_label(self) -> None:
        """Refuse a positive label that is neither a finite number nor a text."""
        label: object = self.pos_label
        largest = float(np.finfo(np.float64).max)
        number: float = math.nan
        if isinstance(label, int | float | np.integer | np.floating | np.bool_):
            number = label if isinstance(label, int) else float(label)
        if not isinstance(label, str) and not -largest <= number <= largest:
            raise ParameterError(
                f"pos_label is a value of type {type(label).__name__}; expected a finite number or "
                "a text (the label of the positive class)"
            )


def scored_table(scores: object, labels: object, pos_label: float | str) -> ScoredTable:
    """Put scores and labels into one table.

    Parameters
    ----------
    scores : Table of one feature and a target, or array of shape (rows,)
    labels : array of shape (rows,), or None beside a Table
    pos_label : float or str
        Every other label is negative.

    Returns
    -------
    ScoredTable
        Infinite scores stand for the largest double.

    Raises
    ------
    ParameterError, TableError
        If they have another shape or type.
    """
    if isinstance(scores, Table):
        table = _labelled(scores, labels, pos_label)
        return ScoredTable(table.keeping_infinite(), float(pos_label))
    return ScoredTable(_joined(scores, labels, pos_label).keeping_infinite(), 1.0)


def _labelled(table: Table, labels: object, pos_label: float | str) -> Table:
    if labels is not None:
        raise ParameterError("labels is given beside a Table; expected None (its target is used)")
    if len(table.feature_names) != 1 or table.target_name is None:
        raise ParameterError(
            f"scores is a Table with {len(table.feature_names)} features and the target "
            f"{table.target_name!r}; expected the score and the label (read_table(..., "
            "target=LABEL, features=[SCORE]))"
        )
    if isinstance(pos_label, str):
        raise ParameterError(
            f"pos_label is {pos_label!r}, but a Table's target is a number; expected a number"
        )
    return table


def _joined(scores: object, labels: object, pos_label: float | str) -> Table:
    if labels is None:
        raise ParameterError("labels is None; expected one label for each score")
    positives = _positives(labels, pos_label)
    column: Any = scores
    if hasattr(column, "to_frame"):
        column = column.to_frame("scores")
    elif getattr(column, "ndim", 1) == 1:
        column = as_array(column, f"scores is no array of numbers; {_EXPECTED}")
        column = column[:, np.newaxis] if column.ndim == 1 else column
    table = table_from_arrays(column, positives)
    if len(table.feature_names) != 1:
        raise ParameterError(
            f"scores has {len(table.feature_names)} columns; expected one (for example "
            "predict_proba(X)[:, 1])"
        )
    return table


def _label_array(labels: Any) -> NDArray[Any]:  # noqa: ANN401
    """Return labels as an array: of objects, if they declare no type, so that each stays as it is.

    NumPy would turn numbers into texts where one of them is a text.
    """
    if isinstance(getattr(labels, "dtype", None), np.dtype):
        return np.asanyarray(labels)
    if hasattr(labels, "to_pylist"):
        labels = [_python(label) for label in labels]
    elif hasattr(labels, "to_list"):
        labels = labels.to_list()
    array = np.asanyarray(labels, dtype=object)
    if any(isinstance(label, list | tuple | np.ndarray) for label in array.flat):
        raise ValueError("labels are of several lengths")
    return array


def _python(scalar: Any) -> object:  # noqa: ANN401
    """Return an Arrow scalar's value, None if it is a text that is not UTF-8."""
    with suppress(UnicodeDecodeError):
        return scalar.as_py()
    return None


def _positives(labels: object, pos_label: float | str) -> NDArray[np.bool_]:
    """Mark the labels that equal the positive one; nothing depends on them but the marks."""
    array = attempt(f"labels is no array; {_EXPECTED}", _label_array, labels)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    textual = array.dtype.kind in "UT"
    if array.ndim != 1 or array.dtype.kind not in "biufOUT" or isinstance(array, np.ma.MaskedArray):
        raise ParameterError(
            f"labels has dtype {dtype_name(array.dtype)} and {array.ndim} dimensions; expected one "
            "number, boolean or text a row"
        )
    if array.dtype.kind == "O":
        return np.fromiter((_equal(label, pos_label) for label in array), np.bool_, len(array))
    if textual != isinstance(pos_label, str):
        raise ParameterError(
            f"pos_label is {pos_label!r}, but labels has dtype {dtype_name(array.dtype)}; expected "
            f"a {'text' if textual else 'number'}"
        )
    if array.dtype.kind == "b":
        array = array.astype(np.uint8)  # which compares to integers of any size
    marks: NDArray[np.bool_] = array == pos_label
    return marks


def _equal(label: object, wanted: float | str) -> bool:
    # What compares to no single truth, as pandas.NA, is another label.
    same: object = label == wanted
    return isinstance(same, bool | np.bool_) and bool(same)
