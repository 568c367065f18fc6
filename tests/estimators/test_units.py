"""A result describes units: how often a unit's rows are repeated changes nothing."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa
import pytest

import nolook
from nolook._unit import Unit
from nolook.algorithms.grids import LinearGrid
from nolook.tables import read_table
from nolook.tables.read import read_scores

_random = np.random.default_rng(0)
ROWS = 600
X = _random.normal(size=(ROWS, 3))
CELLS = {**{f"x{i}": column for i, column in enumerate(X.T)}, "y": X @ [1.0, -1.0, 0.5]}
CELLS["y"] = CELLS["y"] + _random.normal(size=ROWS)
CELLS["positive"] = (CELLS["y"] > 0.0).astype(int)
FEATURES = ["x0", "x1", "x2"]


def opened(cells, target="y", features=FEATURES, **unit):
    return read_table(pa.table(cells), target, features=features, **unit)


def scores(cells, **unit):
    return read_scores(pa.table(cells), "x0", "positive", "1", **unit)


def identified(cells, times, order=None):
    """Return rows so many times each, and whose they are; in any order."""
    rows = {name: np.repeat(column, times) for name, column in cells.items()}
    rows["id"] = np.repeat(np.arange(len(cells["y"])), times)
    return rows if order is None else {name: column[order] for name, column in rows.items()}


GRID = LinearGrid(-4.0, 4.0, 0.25)
#: Estimators, the table they see, and what is told of them. Those of ranks draw rows themselves.
ESTIMATORS = {
    "LinearRegression": (nolook.LinearRegression, opened, lambda m: m.coef_),
    "AdaSSPRegressor": (nolook.AdaSSPRegressor, opened, lambda m: m.coef_),
    "BoostedAdaSSPRegressor": (nolook.BoostedAdaSSPRegressor, opened, lambda m: m.coef_),
    "QuantileScaler": (nolook.QuantileScaler, partial(opened, target=None), lambda m: m.scale_),
    "MomentSelector": (partial(nolook.MomentSelector, k=2), opened, lambda m: m.support_),
    "ECDF": (
        partial(nolook.ECDF, grid=GRID),
        partial(opened, target=None, features=["x0"]),
        lambda m: m.cdf([-1.0, 0.0, 1.0]),
    ),
    "ROCCurve": (
        partial(nolook.ROCCurve, grid=GRID),
        scores,
        lambda m: m.positive_.cdf([-1.0, 0.0, 1.0]),
    ),
}
ALL = pytest.mark.parametrize(("make", "open_rows", "tell"), ESTIMATORS.values(), ids=ESTIMATORS)


@ALL
def test_every_row_twice_gives_the_same_to_the_last_bit(make, open_rows, tell):
    order = np.random.default_rng(1).permutation(2 * ROWS)
    once = open_rows(identified(CELLS, 1), unit="id")
    # Units are numbered by their first rows, and samples are of numbers.
    order = np.concatenate([np.arange(0, 2 * ROWS, 2), np.sort(order[order % 2 == 1])])
    twice = open_rows(identified(CELLS, 2, order), unit="id")
    fits = [make(epsilon=3.0, random_state=5).fit(table) for table in (once, twice)]
    assert np.asarray(tell(fits[0])).tolist() == np.asarray(tell(fits[1])).tolist()
    assert fits[0].privacy_.unit == Unit("id")


@ALL
@pytest.mark.slow
def test_every_row_a_unit_is_like_no_unit(make, open_rows, tell):
    # The same counts and sums, and noise of the same size: only the draws are others.
    plain, units = (
        np.array([np.ravel(tell(make(epsilon=3.0, random_state=i).fit(table))) for i in range(40)])
        for table in (open_rows(CELLS), open_rows(identified(CELLS, 1), unit="id"))
    )
    spread = np.maximum(plain.std(axis=0), units.std(axis=0))
    apart = np.abs(plain.mean(axis=0) - units.mean(axis=0))
    assert (apart <= spread).all()
    noisy = spread > 0.0
    ratio = plain.std(axis=0)[noisy] / units.std(axis=0)[noisy]
    assert ((ratio > 0.5) & (ratio < 2.0)).all()


@pytest.mark.slow
@pytest.mark.parametrize("unit", [{}, {"unit": "id"}, {"unit": "id", "rows_per_unit": 3}])
def test_the_noise_of_a_count_is_as_large_as_it_is_said_to_be(unit):
    table = opened(identified(CELLS, 5), **unit)
    fits = [nolook.LinearRegression(epsilon=1.0, random_state=i).fit(table) for i in range(80)]
    counts, error = [fit.rows_.value for fit in fits], fits[0].rows_.error
    expected = {0: 5, 1: 1, 2: 3}[len(unit)] * ROWS
    assert np.mean(counts) == pytest.approx(expected, abs=4 * error / np.sqrt(len(fits)))
    assert 0.7 * error < np.std(counts) < 1.3 * error
