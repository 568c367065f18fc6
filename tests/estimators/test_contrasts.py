"""Fits of contrasts are those of columns of 0 and 1 from which one level was left out by hand."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import nolook
from nolook.formats.predictions import write_predictions

ROWS = 3000
CITIES = ["Bern", "Basel", "Chur"]
DECLARED = {"city": CITIES, "floor": [0, 1, 2], "new": [False, True]}
NAMES = [
    *("age", "city=Basel", "city=Chur", "city=...", "floor=1", "floor=2", "floor=..."),
    *("new=true", "new=..."),
]


def columns(rows=ROWS, seed=0, gap="Thun"):
    generator = np.random.default_rng(seed)
    cells = [*CITIES, "Genf", gap]
    city = np.array(cells, dtype=object)[generator.choice(5, rows, p=[0.5, 0.2, 0.1, 0.1, 0.1])]
    age, floor = generator.normal(50, 10, rows), generator.integers(0, 4, rows)
    new = generator.random(rows) < 0.3
    rent = 20.0 * age + 300 * (city == "Basel") - 200 * (floor == 2) + 50 * new
    rent = rent + generator.normal(0, 100, rows)
    return {"age": age, "city": city, "floor": floor, "new": new, "rent": rent}


def by_hand(data):
    """Booleans for every level but the first of each category, and for all other values."""
    flags = []
    for name, (first, *levels) in DECLARED.items():
        flags += [data[name] == level for level in levels]
        flags += [~np.isin(data[name], [first, *levels])]
    return pa.table([pa.array(data["age"]), *map(pa.array, flags)], names=NAMES)


def table_of(data, folder, store):
    table = pa.table({name: pa.array(cells) for name, cells in data.items()})
    if store == "csv":
        # Text there: what stands for a boolean is its spelling.
        pyarrow.csv.write_csv(table, folder / "t.csv")
        return folder / "t.csv"
    if store == "dictionary":
        place = table.column_names.index("city")
        table = table.set_column(place, "city", table["city"].dictionary_encode())
    pq.write_table(table, folder / "t.parquet")
    return folder / "t.parquet"


MODELS = {
    "linear": lambda: nolook.LinearRegression(2.0, random_state=3),
    "adassp": lambda: nolook.AdaSSPRegressor(2.0, random_state=3),
    "pipeline": lambda: nolook.PrivatePipeline(
        nolook.KendallSelector(3, random_state=4),
        nolook.LinearRegression(random_state=3),
        epsilon=4.0,
        delta=1e-6,
    ),
}


@pytest.mark.parametrize(
    ("kind", "store"),
    [
        # Every day each model of one of the stores.
        pytest.param(kind, store, marks=[pytest.mark.slow] * ((i + j) % 3 > 0))
        for i, kind in enumerate(MODELS)
        for j, store in enumerate(["parquet", "dictionary", "csv"])
    ],
)
def test_a_fit_of_contrasts_is_that_of_columns_made_by_hand(tmp_path, monkeypatch, kind, store):
    # Columns made by hand do not say that some mark values nobody declared, which are counted.
    marks = property(
        lambda table: tuple(i for i, n in enumerate(table.column_names) if n.endswith("=..."))
    )
    monkeypatch.setattr(nolook.Table, "others", marks)
    data = columns()
    opened = nolook.read_table(
        table_of(data, tmp_path, store),
        "rent",
        features=["age", "city", "floor", "new"],
        categories=DECLARED,
    )
    assert opened.feature_names == tuple(NAMES)
    ours = MODELS[kind]().fit(opened)
    hand = by_hand(data)
    theirs = MODELS[kind]().fit(
        nolook.read_table(hand.append_column("rent", [data["rent"]]), "rent")
    )
    # So are the intervals, which therefore are no wider than by hand.
    for one, other in ((ours, theirs), *zip(parts(ours), parts(theirs), strict=True)):
        for attribute in ("coef_", "intercept_", "coef_interval_", "support_"):
            found = getattr(one, attribute, None)
            np.testing.assert_array_equal(found, getattr(other, attribute, None))
    np.testing.assert_array_equal(ours.predict(hand), theirs.predict(hand))


def parts(model):
    return [getattr(model, part) for part in ("selector_", "regressor_") if hasattr(model, part)]


@pytest.mark.parametrize("store", ["parquet", "dictionary", "csv"])
def test_predictions_of_a_file_are_those_of_columns_made_by_hand(tmp_path, store):
    opened = nolook.read_table(
        table_of(columns(), tmp_path, store),
        "rent",
        features=["age", "city", "floor", "new"],
        categories=DECLARED,
    )
    nolook.save(nolook.LinearRegression(2.0).fit(opened), tmp_path / "m.json")
    model = nolook.load(tmp_path / "m.json")
    new = columns(rows=500, seed=1, gap=None)
    place = table_of(new, tmp_path, store)
    write_predictions(
        model, nolook.read_table(place, **model.read_options_), tmp_path / "p.parquet"
    )
    predicted = pq.read_table(tmp_path / "p.parquet")["prediction"].to_numpy()
    known = np.array([city is not None for city in new["city"]])
    np.testing.assert_array_equal(np.isnan(predicted), ~known)
    # Undeclared cells are predicted like a level of their own, never like the first.
    np.testing.assert_array_equal(predicted[known], model.predict(by_hand(new))[known])
