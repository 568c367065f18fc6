"""Predictions for the rows of a table of Spark, made by its workers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from nolook._validation import check_names
from nolook.errors import ParameterError
from nolook.estimators._tables import predicted
from nolook.estimators.base import PrivateRegressor
from nolook.spark.cluster import packed, unpacked
from nolook.spark.frames import SparkFrame, Stream, placed, without_cells
from nolook.tables.read import is_of_spark, read_table

__all__ = ["predict_on_spark"]


def predict_on_spark(model: PrivateRegressor, frame: Any, *, column: str = "prediction") -> Any:  # noqa: ANN401 -- an optional package
    """Add a column of predictions to a Spark table.

    Spark's workers predict each row when the result is used; no row goes through this process.
    Predictions are as confidential as the table: they are not a private release.

    Parameters
    ----------
    model : fitted regressor, classifier or pipeline
        Fitted here, or read by :func:`nolook.load`.
    frame : pyspark.sql.DataFrame
        With the columns of the fit, by name; other columns are kept.
    column : str, default="prediction"
        Name of the new column. For a model of two classes it has the probability of the positive
        class. It is null if a row lacks a value that the model needs.

    Returns
    -------
    pyspark.sql.DataFrame

    Raises
    ------
    ParameterError
        If `frame` is not a Spark table, or already has a column of that name.
    TableError
        If a column of the fit is missing or has another type.
    """
    check_is_fitted(model)
    (column,) = check_names((column,), "column")
    if not is_of_spark(frame, "DataFrame"):
        raise ParameterError(
            f"frame is a value of type {type(frame).__name__}; expected a table of Spark"
        )
    names = [each.name for each in SparkFrame(frame).columns]
    if column in names:
        raise ParameterError(
            f"column is {column!r}, which the table already has (choose another name)"
        )
    table = read_table(frame, **model.read_options_)
    work = partial(_beside, packed((model, table.with_source(None))), tuple(names))
    return placed(frame).mapInArrow(work, _with_numbers(frame)).toDF(*names, column)


def _with_numbers(frame: Any) -> Any:  # noqa: ANN401
    from pyspark.sql.types import DoubleType, StructField, StructType

    last = StructField("prediction", DoubleType())
    return StructType([*placed(frame).schema.fields, last])


def _beside(task: bytes, names: Sequence[str], batches: Iterable[Any]) -> Iterator[Any]:
    """Yield record batches with their predictions, in a worker."""
    model, bare = unpacked(task)
    for batch in batches:
        predicted = without_cells(_predicted, model, bare, names, batch)
        yield pa.RecordBatch.from_arrays(
            [*batch.columns, predicted], names=[*batch.schema.names, "prediction"]
        )


def _predicted(model: Any, bare: Any, names: Sequence[str], batch: Any) -> Any:  # noqa: ANN401
    """Return the predictions for a record batch, null where there is none."""
    found: list[NDArray[np.float64]] = [np.empty(0)]
    present: list[NDArray[np.bool_]] = [np.empty(0, dtype=bool)]
    for numbers, complete, _ in bare.with_source(Stream(tuple(names), [batch])).batches_in_place():
        found.append(predicted(model, numbers))
        present.append(complete)
    return pa.array(np.concatenate(found), pa.float64(), mask=~np.concatenate(present))
