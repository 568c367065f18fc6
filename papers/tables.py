"""The tables of the papers' experiments, prepared as ../shared/data has them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

__all__ = ["DATA", "read"]

#: Where the tables are unless ``--data`` says otherwise.
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"

Matrix = NDArray[np.float64]


@cache
def read(name: str, folder: Path = DATA) -> tuple[Matrix, Matrix]:
    """Return the features and the target of a table; a process reads it once, nobody may change it.

    Parameters
    ----------
    name : str
        Its file without ``.parquet``; the column ``target`` is the target.
    folder : Path
    """
    content = pq.read_table(folder / f"{name}.parquet")
    features = [column for column in content.column_names if column != "target"]
    X = np.column_stack([content[column].to_numpy().astype(np.float64) for column in features])
    y = content["target"].to_numpy().astype(np.float64)
    X.flags.writeable = y.flags.writeable = False
    return X, y
