"""Scores of a table's rows by a model: the score of a row is a function of that row only."""

from __future__ import annotations

import math
import sys
import warnings
from threading import Lock
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from nolook._arrays import Vector
from nolook.errors import ParameterError
from nolook.estimators._tables import named_rows
from nolook.estimators.base import PrivateEstimator
from nolook.tables import Table

_FILTERS = Lock()
_WAYS = ("predict_proba", "decision_function", "predict")


class ModelScores:
    """The scores of a fitted model: probabilities of the positive class if it gives any.

    A model of nolook scores many rows at once, each by itself; any other one is given one row at a
    time, since products of whole batches may change a row's last bit by the rows around it. A row
    it cannot score has the lowest score.

    Parameters
    ----------
    model : fitted estimator
        With `predict_proba`, `decision_function` or `predict`.
    pos_label : number, str or None
        The positive class; None for the last of the model's `classes_`, or 1 where it has none.

    Attributes
    ----------
    pos_label : number or str
    probabilities : bool
        Whether scores are probabilities.
    bounds : tuple of float
        Where scores lie, by the model itself; infinite if it does not tell.

    Raises
    ------
    ParameterError
        If the model has none of these methods, or several classes of which this is none.
    sklearn.exceptions.NotFittedError
        If a model of nolook is not fitted.
    """

    def __init__(self, model: Any, pos_label: Any = None) -> None:  # noqa: ANN401
        way = next((name for name in _WAYS if hasattr(model, name)), None)
        if way is None:
            raise ParameterError(
                f"model is of type {type(model).__name__}; expected a fitted model with predict "
                "(nolook.load reads one from its file)"
            )
        self._own = isinstance(model, PrivateEstimator)
        if self._own:
            check_is_fitted(model)
        self._model, self._score = model, getattr(model, way)
        self.probabilities = way == "predict_proba"
        known = getattr(model, "target_range_", None) if way == "predict" and self._own else None
        self.bounds = (0.0, 1.0) if self.probabilities else known or (-math.inf, math.inf)
        classes = list(getattr(model, "classes_", ()))
        self.pos_label = pos_label if pos_label is not None else classes[-1] if classes else 1
        if len(classes) > 2 and not (self.probabilities and self.pos_label in classes):
            raise ParameterError(
                f"model has {len(classes)} classes; expected 2 (or pos_label, one of them, and a "
                "model with predict_proba)"
            )
        # In a table, the positive class is 1 whatever the model calls it.
        self._place = classes.index(self.pos_label) if self.pos_label in classes else -1
        # Of two classes, a higher decision means the last.
        self._sign = -1.0 if len(classes) == 2 and self._place == 0 else 1.0

    def check_features(self, names: tuple[str, ...], *, named: bool) -> None:
        """Refuse a table of other features than the model's; its names count if it has any."""
        known = getattr(self._model, "feature_names_in_", None)
        if known is not None and named and list(known) != list(names):
            raise ParameterError(
                "X has other features than the model, or in another order; expected those of "
                "model.feature_names_in_ (read_table(..., **model.read_options_) reads them)"
            )
        wanted = getattr(self._model, "n_features_in_", len(names))
        if wanted != len(names):
            raise ParameterError(
                f"X has {len(names)} features; expected {wanted}, those of the model"
            )

    def check_works(self, features: int) -> None:
        """Refuse a model from elsewhere that cannot even score a row of zeros, which is public."""
        if self._own:
            return
        _, failure = self._alone(np.zeros(features))
        if failure:
            raise ParameterError(
                f"model cannot score a row of {features} zeros ({failure}); expected a fitted "
                "model of the table's features that gives numbers"
            )

    def of(self, numbers: Vector) -> Vector:
        """Return the scores of rows, given columns first; each is finite."""
        if self._own:
            found = self._read(self._score(named_rows(self._model, numbers)))
        else:
            # Filters of warnings are those of the whole process.
            with _FILTERS, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = np.array([self._alone(row)[0] for row in numbers.T])
        largest = sys.float_info.max
        return np.nan_to_num(found, nan=-largest, posinf=largest, neginf=-largest)

    def beside(self, table: Table, target: str | None) -> Table:
        """Return a table of the rows' scores and targets; the latter get this name."""
        binary = np.array([False, table.binary[-1]])
        return table.transformed(("prediction",), target, self._beside, binary)

    def _beside(self, numbers: Vector) -> Vector:
        return np.stack([self.of(numbers[:-1]), numbers[-1]])

    def _alone(self, row: Vector) -> tuple[float, str]:
        """Return the score that a model gives one row, in a frame if it was fitted to one.

        It is NaN if there is none; then comes what went wrong, which may depend on the row.
        """
        rows: Any = row[np.newaxis].copy()
        pandas = sys.modules.get("pandas")
        try:
            if pandas is not None and hasattr(self._model, "feature_names_in_"):
                rows = pandas.DataFrame(rows, columns=self._model.feature_names_in_)
            score = float(self._read(self._score(rows))[0])
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 -- a panic in Rust is no Exception
            return np.nan, type(error).__name__
        return score, "NaN" if np.isnan(score) else ""

    def _read(self, scores: Any) -> Vector:  # noqa: ANN401
        numbers = np.asarray(scores, dtype=np.float64)
        return numbers[:, self._place] if self.probabilities else self._sign * numbers
