"""Write examples/data/diamonds.parquet: the grades of the one-hot table beside it as words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

DATA = Path(__file__).resolve().parents[1] / "examples" / "data"
GRADES = ("cut", "color", "clarity")


def main():
    """Turn each grade's columns of 0 and 1 into one column of words."""
    table = pq.read_table(DATA / "diamonds_onehot_log.parquet")
    columns = {name: table[name] for name in ("carat", "depth", "table", "x", "y", "z")}
    for grade in GRADES:
        names = [name for name in table.column_names if name.startswith(f"{grade}_")]
        levels = pa.array([name.removeprefix(f"{grade}_") for name in names])
        flags = np.array([table[name].to_numpy() for name in names])
        columns[grade] = levels.take(pa.array(flags.argmax(axis=0)))
    columns["log_price"] = table["target"]
    path = DATA / "diamonds.parquet"
    pq.write_table(pa.table(columns), path, compression="zstd", compression_level=19)
    print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
