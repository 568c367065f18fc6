"""Base class of the estimators that judge scores."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
import pyarrow as pa
from attrs import frozen
from numpy.typing import ArrayLike

from nolook._validation import real_number
from nolook.errors import ParameterError
from nolook.estimators._classes import class_places, type_name
from nolook.estimators._finding import PrivateFinding
from nolook.estimators._parameters import fitted
from nolook.estimators._tables import refuse_gaps
from nolook.estimators.releasing import Progress
from nolook.privacy.ledger import AnyLedger
from nolook.tables import Rows, Table, table_from_arrays
from nolook.tables.design import Missing, usual_missing
from nolook.tables.read import check_classes, check_probability, series_name, with_class
from nolook.tables.source import as_array

_REAL = ("float", "double", "half")  # how names of types of fractions begin
_EXPECTED = "expected one value a row (shape (rows,))"


@frozen
class Scored:
    """The columns that were compared, and the positive value of the target, as it was given."""

    score: str
    target: str
    positive: str


class ScoredEstimator(PrivateFinding):
    """The release about scores and the target they predict.

    Attributes
    ----------
    scored_ : Scored
        Names of `score` and `target`, and the `positive` class.
    caution : str
        Warning about the scored model, for readers of the result.
    """

    scored_: Scored = fitted()
    _takes_whole = True  # scores of an integer type

    caution = (
        "This guarantee does not cover how the score was made: a model fitted to this table "
        "without privacy is not protected."
    )

    def fit(
        self,
        scores: Table | ArrayLike | None = None,
        target: object = None,
        *,
        y_true: object = None,
        y_score: ArrayLike | None = None,
        ledger: AnyLedger = None,
        progress: Progress | None = None,
    ) -> Self:
        """Charge the ledger, read scores and target, and keep what is released.

        Parameters
        ----------
        scores : array of shape (n_samples,), series, or Table of one feature and a target
            Infinite scores count as the largest double. A row of an array without a score is left
            out, or counts as 0 where the number of rows is public; a Table's `missing` decides.
        target : array or series of shape (n_samples,)
            Numbers, booleans or strings; None if `scores` is a Table. All values but `pos_label`
            are negative, missing ones too, unless they are a Table's: its `missing` decides.
        y_true, y_score : optional
            The same as `target` and `scores`, by scikit-learn's names.
        ledger, progress : optional
            As for :meth:`nolook.LinearRegression.fit`.

        Returns
        -------
        self

        Raises
        ------
        ParameterError
            If a parameter is out of range. Nothing is charged.
        TableError
            If the scores are not one column of numbers. Nothing is charged.
        BudgetExceededError
            If the ledger has too little left. The data are not read.
        """
        if (scores is None) == (y_score is None) or not (target is None or y_true is None):
            raise ParameterError(
                "scores and target are given twice or not at all; expected fit(scores, target), or "
                "fit(y_true=..., y_score=...)"
            )
        if y_score is not None:
            scores, target = y_score, y_true
        elif type_name(scores).startswith(("int", "uint")) and type_name(target).startswith(_REAL):
            raise ParameterError(
                "scores is of an integer type and target is not: are they in scikit-learn's order? "
                "expected fit(scores, target), or fit(y_true=..., y_score=...)"
            )
        return self._fit(scores, target, ledger, progress)

    def _rows(self, X: object, y: object) -> Table:
        rows = scored_table(X, y, self.pos_label, getattr(self, "relation", None))
        if not self._takes_whole:
            check_probability(rows)
        self.read_options_ = rows.read_options()
        score, about = rows.column_names
        self.scored_ = Scored(score, about, class_word(X, self.pos_label))
        return rows


def class_word(X: object, label: float | str) -> str:
    """Return the word of a class: for a table's target of two values 0 and 1 are their places."""
    if isinstance(X, Table) and X.binary[-1] and label in {0, 1}:
        return X.class_words[int(label)]
    return str(label)


def check_pos_label(label: object) -> None:
    """Refuse a positive class that is neither a finite number nor a text."""
    number = label if isinstance(label, bool | np.bool_) else real_number(label)
    if not isinstance(label, str) and (number is None or not math.isfinite(number)):
        raise ParameterError(
            f"pos_label is of type {type(label).__name__}; expected a finite number or a string"
        )


def scored_table(scores: Any, target: object, label: float | str, relation: str | None) -> Table:  # noqa: ANN401
    """Put scores and target into one table; infinite scores count as the largest double.

    Where the number of rows is public, one whose target is missing counts as negative.
    """
    name = series_name(scores, "scores")
    if hasattr(scores, "to_frame"):
        scores = scores.to_frame(name)
    elif isinstance(scores, pa.Array | pa.ChunkedArray):
        scores = pa.table({name: scores})
    elif not isinstance(scores, Table) and getattr(scores, "ndim", 1) == 1:
        scores = as_array(scores, f"scores is not an array of numbers; {_EXPECTED}")
        scores = scores[:, np.newaxis] if scores.ndim == 1 else scores
    table, positive = labelled(scores, target, label, usual_missing(relation))
    if len(table.feature_names) != 1:
        raise ParameterError(
            f"scores has {len(table.feature_names)} columns; expected one score and a target "
            "(such as predict_proba(X)[:, 1], or read_table(..., target=TARGET, features=[SCORE]))"
        )
    refuse_gaps(table, "a release of scores")
    return with_class(table.keeping_infinite(all_targets=relation == "replace"), positive)


def labelled(X: object, y: object, label: float | str, missing: Missing) -> tuple[Table, float]:
    """Return a table of features and classes, and the number of the positive class in it.

    Of arrays, all classes but that of the label are negative, missing ones too.
    """
    if isinstance(X, Table):
        return X, _positive_number(X, y, label)
    if y is None:
        raise ParameterError(
            "the target is None; expected one value for each row (or a Table with a target)"
        )
    places = class_places(y, [label], "target", f"pos_label is {label!r}")
    rows = Rows(X, target=series_name(y, "y"))
    return table_from_arrays(rows, np.asarray(places.is_valid()), missing), 1.0


def _positive_number(table: Table, target: object, label: float | str) -> float:
    """Return the number of the positive class in a table's target; no other target may be given."""
    if target is not None:
        raise ParameterError("a target is given with a Table; expected None (its target is used)")
    if table.target_name is None:
        raise ParameterError("the Table has no target (read_table(..., target=NAME))")
    if isinstance(label, str):
        raise ParameterError(
            f"pos_label is {label!r}, but a Table's target is a number; expected a number (or "
            f"none, and read_table(..., positive={label!r}))"
        )
    if label == 1:
        check_classes(table)
    return float(label)
