"""The columns whose distributions the benchmarks release: simulated ones and real ones."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq

from benchmarks.harness import DATA
from nolook.algorithms.grids import LinearGrid

__all__ = ["COLUMNS", "LEVEL", "column", "shape_cells"]

LEVEL = 15

#: Twelve columns of as many tables, with a range that anybody could name.
COLUMNS = {
    ("california", "MedInc"): LinearGrid(0, 20, 0.02),
    ("Brazilian_houses", "rent_amount"): LinearGrid(0, 20_000, 20),
    ("MiamiHousing2016", "CNTR_DIST"): LinearGrid(0, 200_000, 200),
    ("amin_diamonds", "target"): LinearGrid(0, 20_000, 20),
    ("bank_marketing", "balance"): LinearGrid(-10_000, 100_000, 100),
    ("diabetes_readmission", "num_medications"): LinearGrid(0, 100, 1),
    ("Bike_Sharing_Demand", "target"): LinearGrid(0, 1000, 1),
    ("sulfur", "target"): LinearGrid(0, 1, 0.001),
    ("wine_quality", "total_sulfur_dioxide"): LinearGrid(0, 500, 1),
    ("cpu_act", "freeswap"): LinearGrid(0, 3e6, 3000),
    ("house_16H", "P11p4"): LinearGrid(0, 1, 0.001),
    ("framingham", "BMI"): LinearGrid(10, 60, 0.05),
}


def column(table, name):
    """Return the values of a real column."""
    content = pq.read_table(DATA / f"{table}.parquet", columns=[name])
    return content[name].to_numpy().astype(float)


def shape_cells(level=LEVEL, seed=0):
    """Return how many of three values a cell fall into each of 2^level cells, by shape."""
    rng = np.random.default_rng(seed)
    size = 1 << level
    rows = 3 * size
    found = {"X(3)": rng.poisson(3, size)}
    places = {
        "uniform": lambda: rng.integers(0, size, rows),
        "two humps": lambda: size * rng.normal(rng.choice([0.25, 0.7], rows), 0.05),
        "seven atoms": lambda: rng.integers(0, 7, rows) * (size // 8) + size // 16,
    }
    for shape, draw in places.items():
        inside = np.clip(draw(), 0, size - 1).astype(int)
        found[shape] = np.bincount(inside, minlength=size)
    return found
