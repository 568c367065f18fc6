"""Predictions for a table of any length, written as they are made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from nolook.formats.files import replacing
from nolook.tables import Table

if TYPE_CHECKING:
    from nolook.estimators.base import PrivateRegressor

__all__ = ["write_predictions"]

_SCHEMA = pa.schema([pa.field("prediction", pa.float64())])


def write_predictions(model: PrivateRegressor, table: Table, path: Path) -> None:
    """Predict the rows of a table, in bounded memory; the file appears whole or not at all.

    Row i of the file belongs to row i of the table, and is null if that row lacks a value the
    model needs.
    """
    # A plain OSError while reading would be blamed on the output; tables raise their own errors.
    # Opened here, since pyarrow takes names in UTF-8 only.
    with (
        replacing(path) as part,
        part.open("wb") as file,
        pq.ParquetWriter(file, _SCHEMA) as writer,
    ):
        for numbers, complete in table.batches_in_place():
            predicted = np.asarray(model.predict(_frame(model, numbers)), dtype=np.float64)
            column = pa.array(predicted, mask=~complete)
            writer.write_batch(pa.record_batch([column], schema=_SCHEMA))


def _frame(model: PrivateRegressor, numbers: NDArray[np.float64]) -> Any:  # noqa: ANN401
    """Give the columns the names the model knows, if any: scikit-learn compares them."""
    if not hasattr(model, "feature_names_in_"):
        return numbers.T
    return pa.table(dict(zip(model.feature_names_in_, map(pa.array, numbers), strict=True)))
