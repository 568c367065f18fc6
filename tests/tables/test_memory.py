"""A Parquet file of one row group is read in memory that does not grow with it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

READ = """
import sys
import psutil
from nolook.tables import read_table

process = psutil.Process()
peak = 0
for _ in range(2):
    for _ in read_table(sys.argv[1], "c0").batches():
        peak = max(peak, process.memory_info().rss)
print(peak)
"""


@pytest.mark.slow
def test_one_row_group_of_any_length(tmp_path):
    def peak(rows):
        columns = {f"c{i}": np.random.default_rng(i).normal(size=rows) for i in range(31)}
        path = tmp_path / f"{rows}.parquet"
        pq.write_table(pa.table(columns), path, row_group_size=rows, compression="none")
        assert pq.ParquetFile(path).num_row_groups == 1
        command = [sys.executable, "-c", READ, str(path)]
        return int(subprocess.run(command, check=True, capture_output=True).stdout)

    short, long = peak(200_000), peak(800_000)
    # The longer file has 150 MB more.
    assert long - short < 40e6
    assert long < 350e6
