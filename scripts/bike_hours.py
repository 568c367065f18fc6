"""Write examples/data/bike_hours.parquet. Needs the shared tables beside the project."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT.parent / "shared" / "data" / "Bike_Sharing_Demand.parquet"
#: Of these the source has parts of: degrees, per cent and km/h.
WHOLE = {"temperature": ("temp", 41), "humidity": ("hum", 100), "wind": ("windspeed", 67)}


def main():
    """Name the columns in words, and turn parts of a largest value into units."""
    table = pq.read_table(TABLE)
    columns = {"month": table["mnth"], "hour": table["hr"], "working_day": table["workingday_1"]}
    for name, (source, largest) in WHOLE.items():
        columns[name] = np.round(table[source].to_numpy() * largest, 1)
    columns["rentals"] = table["target"]
    path = ROOT / "examples" / "data" / "bike_hours.parquet"
    pq.write_table(pa.table(columns), path, compression="zstd", compression_level=19)
    print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
