"""Tables made of what scikit-learn's users pass, and arrays made of tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from nolook._arrays import Vector
from nolook._language import parameter_name, usage_hint
from nolook.errors import ParameterError, TableError
from nolook.estimators._chosen import MOST_PAIRED
from nolook.estimators.releasing import warn_user
from nolook.estimators.result import Result
from nolook.tables import Rows, Table, read_table, table_from_arrays, table_from_values
from nolook.tables.design import usual_missing
from nolook.tables.schema import as_schema


def training_table(estimator: Any, X: object, y: object, *, target: bool = True) -> Table:  # noqa: ANN401
    """Return the table to fit; store its read options and its features' number and names."""
    if isinstance(X, Table):
        if y is not None:
            raise ParameterError("y is given with a Table; expected None (use read_table's target)")
        if (X.target_name is not None) != target:
            hint = "needs a target (read_table(..., target=NAME))" if target else "takes no target"
            raise ParameterError(f"{type(estimator).__name__} {hint}")
        if not estimator._imputes_centres:
            refuse_gaps(X, type(estimator).__name__)
        for name, levels in X.read_options()["categories"].items():
            if levels == [None]:
                raise ParameterError(
                    f"categories of {name!r} is only the other values; expected at least one name "
                    "(only tabulations find levels)"
                )
        estimator.feature_names_in_ = np.array(X.feature_names, dtype=object)
        _remember(estimator, X)
        return X
    if target and y is None:
        # scikit-learn's own wording, which its conventions ask for.
        raise ParameterError("requires y to be passed, but the target y is None")
    if getattr(y, "ndim", 1) == 2:
        warn_of_column()
    table, given = table_from_arrays(X, y if target else None), X.X if isinstance(X, Rows) else X
    validate_data(estimator, given, reset=True, skip_check_array=True)
    _remember(estimator, table)
    if isinstance(X, Rows) and X.categories:
        estimator.feature_names_in_ = np.array(table.feature_names, dtype=object)
    return table


def warn_of_column() -> None:
    """Warn that a target has two dimensions, in scikit-learn's words."""
    message = "A column-vector y was passed when a 1d array was expected (use y.ravel())"
    warn_user(message, DataConversionWarning)


def values_table(estimator: Any, X: object) -> Table:  # noqa: ANN401
    """Return a table of one column, in which infinite values count as the largest double."""
    table = X if isinstance(X, Table) else table_from_values(X, usual_missing(estimator.relation))
    if table.n_columns != 1:
        raise ParameterError(
            f"X is a Table with {table.n_columns} columns; expected 1 "
            "(read_table(..., features=[NAME]))"
        )
    refuse_gaps(table, type(estimator).__name__)
    estimator.read_options_ = table.read_options()
    return table.keeping_infinite()


def refuse_gaps(table: Table, method: str) -> None:
    """Refuse a table whose missing values are to be centres, for a method that finds none."""
    if table.has_gaps:
        raise ParameterError(
            f"{parameter_name('missing')} is 'centre', but {method} finds no centres "
            f"(choose another policy, for example {usage_hint('missing', 'drop-row')})"
        )


def _remember(estimator: Any, table: Table) -> None:  # noqa: ANN401
    count = estimator.n_features_in_ = len(table.feature_names)
    first = getattr(estimator, "selector", estimator)
    # What finds centres for a target sums the products of all pairs of features, too.
    if count > MOST_PAIRED and table.target_name and first._imputes_centres:
        raise ParameterError(
            f"{type(first).__name__} takes at most {MOST_PAIRED:,} features, and there are "
            f"{count:,} (select some first: nolook.KendallSelector, or --selector kendall)"
        )
    estimator.read_options_ = table.read_options()


def own_columns(estimator: Any, X: Any) -> Any:  # noqa: ANN401
    """Return rows to predict or transform: of a frame with more columns those of the fit, by name.

    A frame with the columns that features are made of (categories, dates, whatever the schema of
    the fit declares) is read as the fit's table was: a :class:`Table`.
    """
    check_is_fitted(estimator)
    if isinstance(X, Table):
        raise ParameterError(
            "X is a Table, which does not hand out its rows; expected an array or a frame (or, "
            "for a file, nolook predict)"
        )
    names = X.column_names if isinstance(X, pa.Table) else [*getattr(X, "columns", ())]
    options, there = estimator.read_options_, {*names}
    known = [*getattr(estimator, "feature_names_in_", ())]
    if names and ("schema" in options or options["categories"]):
        declared = as_schema(options.get("schema")).only(options["features"])
        absent = [name for name in options["features"] if name not in {*there, *declared.derived}]
        if not (there.issuperset(known) and (absent or there.intersection(declared.derived))):
            if absent:
                what = f"column{'s' * (len(absent) > 1)} {', '.join(map(repr, absent))}"
                raise TableError(f"X has no {what}, which the fit used")
            return read_table(X, False, unit=False, **{**options, "schema": declared})
    own = [name for name in known if name in there]
    # Columns that are all of the fit must have its order, as in scikit-learn.
    if 0 < len(own) < len(names):
        X = X.select(own) if isinstance(X, pa.Table) else X[own]
    return X


def prediction_rows(estimator: Any, X: object) -> Vector:  # noqa: ANN401
    """Return rows to predict or transform, shape (rows, features), with the columns of the fit."""
    given = table = own_columns(estimator, X)
    if not isinstance(table, Table):
        table = table_from_arrays(given, missing=estimator.read_options_["missing"])
        if not isinstance(X, Rows):
            validate_data(estimator, given, reset=False, skip_check_array=True)
    found = [*table.batches_in_place()]
    if not all(complete.all() for _, complete, _ in found):  # no release: the caller has the rows
        raise TableError(
            "X has missing or infinite values: drop them, or fit with missing='centre'"
        )
    none = np.empty((table.n_columns, 0))
    return np.concatenate([none, *(numbers for numbers, *_ in found)], axis=1).T


def predicted(model: Result, numbers: Vector) -> Vector:
    """Return predictions, given columns first: of two classes the positive one's probabilities."""
    rows, probable = named_rows(model, numbers), "predict_proba" in model.questions
    found = model.ask("predict_proba" if probable else "predict", X=rows)
    return np.asarray(found[:, 1] if probable else found, dtype=np.float64)


def named_rows(model: Any, numbers: Vector) -> Any:  # noqa: ANN401
    """Give columns the names the model knows, if any: scikit-learn compares them."""
    if hasattr(model, "read_options_"):
        return Rows(numbers.T)
    if not hasattr(model, "feature_names_in_"):
        return numbers.T
    return pa.table(dict(zip(model.feature_names_in_, map(pa.array, numbers), strict=True)))
