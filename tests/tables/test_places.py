"""A table gives the same results wherever it is kept: a row in PLACES for each kind of place."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

import nolook
from nolook.errors import TableError
from tests.tables.buckets import Bucket, in_bucket
from tests.tables.conftest import FILES, as_parquet
from tests.tables.database_places import DATABASES

# What intervals simulate is tested in tests/algorithms.
pytestmark = pytest.mark.usefixtures("few_repeats")

ROWS = 900
SCHEMA = nolook.Schema.from_dict(
    {
        "columns": {
            "city": {"type": "category", "levels": ["Bern", "Basel"]},
            "n": {"type": "number"},
            "log n": {"log1p_of": "n"},
            "n in Bern": {"product_of": ["n", "city=Bern"]},
            "band": {"bins_of": "log n", "borders": [1, 2]},
            "half": {"bins_of": "x", "borders": [0]},
            "gap": {"difference_of": ["n", "x"]},
        }
    }
)
USED = {"features": ["x", "n", "city", "log n", "n in Bern", "band", "gap"], "schema": SCHEMA}


def rows() -> pa.Table:
    """Numbers, a text, a unit with several rows, and a target."""
    rng = np.random.default_rng(20)
    x, n = rng.normal(size=ROWS), rng.integers(0, 9, ROWS)
    city = np.array(["Basel", "Bern", "Chur"])[rng.integers(0, 3, ROWS)]
    y = x - n + 2 * (city == "Bern") + rng.normal(size=ROWS)
    person = rng.integers(0, 400, ROWS)
    table = {"x": x, "n": n, "city": city.tolist(), "person": person, "y": y}
    return pa.table(table)


@dataclass(frozen=True)
class Place:
    """How a table gets to a place, and what breaks it there.

    `keep` stores a table below a folder that is its own, and returns what `read_table` is given.
    `change` makes its rows others, so that a pass after it must be refused; None if what was
    opened cannot change.
    """

    keep: Callable[[pa.Table, Path], object]
    change: Callable[[Path], None] | None = None


def thirds(table: pa.Table) -> list[pa.Table]:
    third = len(table) // 3
    return [table.slice(i * third, third) for i in range(3)]


def parquet_folder(table: pa.Table, folder: Path) -> Path:
    (folder / "t" / "2024").mkdir(parents=True)
    for place, part in zip(["2024/a", "b", "c"], thirds(table), strict=True):
        pq.write_table(part, folder / "t" / f"{place}.parquet", row_group_size=50)
    (folder / "t" / "_SUCCESS").touch()
    return folder / "t"


def csv_folder(table: pa.Table, folder: Path) -> Path:
    (folder / "t").mkdir()
    for place, part in zip("abc", thirds(table), strict=True):
        part.to_pandas().to_csv(folder / "t" / f"{place}.csv.gz", index=False)
    return folder / "t"


def arrow_folder(table: pa.Table, folder: Path) -> Path:
    (folder / "t.parquet").mkdir()
    for place, part in zip("abc", thirds(table), strict=True):
        feather.write_feather(part, folder / "t.parquet" / f"{place}.feather")
    return folder / "t.parquet"


def hive(table: pa.Table, folder: Path) -> Path:
    ds.write_dataset(
        table, folder / "t", format="parquet", partitioning=["city"], partitioning_flavor="hive"
    )
    return folder / "t"


def hive_csv(table: pa.Table, folder: Path) -> Path:
    frame = table.to_pandas()
    for city, part in frame.groupby("city"):
        (folder / "t" / f"city={city}").mkdir(parents=True)
        part.drop(columns="city").to_csv(folder / "t" / f"city={city}" / "1.csv", index=False)
    return folder / "t"


def remove_object(folder: Path) -> None:
    """Remove one object of the bucket, the last."""
    bucket = Bucket((folder / "bucket").read_text())
    bucket.remove(bucket.paths()[-1])


def remove(folder: Path) -> None:
    """Remove one file, the last."""
    max(path for path in folder.rglob("*") if path.is_file()).unlink()


PLACES: dict[str, Place] = {
    "memory": Place(lambda table, _: table),
    "pandas": Place(lambda table, _: table.to_pandas()),
    **{make.__name__.removeprefix("as_"): Place(make, remove) for make in FILES},
    "folder of Parquet": Place(parquet_folder, remove),
    "folder of CSV": Place(csv_folder, remove),
    "folder of Arrow": Place(arrow_folder, remove),
    "hive folder": Place(hive, remove),
    "hive folder of CSV": Place(hive_csv, remove),
    "glob": Place(lambda *kept: parquet_folder(*kept) / "**" / "*.parquet", remove),
    "dataset": Place(lambda *kept: ds.dataset(hive(*kept), partitioning="hive")),
    "lazy frame": Place(lambda *kept: pl.scan_parquet(as_parquet(*kept))),
    "relation": Place(lambda *kept: duckdb.connect().read_parquet(str(as_parquet(*kept)))),
    "stream": Place(lambda table, _: table.to_reader(max_chunksize=70)),
    "file in a bucket": Place(partial(in_bucket, keep=as_parquet), remove_object),
    "hive folder in a bucket": Place(partial(in_bucket, keep=hive), remove_object),
    "folder of CSV in a bucket": Place(partial(in_bucket, keep=csv_folder), remove_object),
    "list": Place(lambda *kept: sorted(parquet_folder(*kept).rglob("*.parquet")), remove),
    "pattern in a bucket": Place(
        lambda *kept: in_bucket(*kept, keep=parquet_folder).replace("/t?", "/t/**/*.parquet?"),
        remove_object,
    ),
    **{name: Place(keep) for name, keep in DATABASES.items()},
}
#: Files, which other processes can read parts of; all else is kept by this one.
CHANGING = [name for name, place in PLACES.items() if place.change is not None]


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return rows()


def regression(source: object, **options: object) -> np.ndarray:
    read = nolook.read_table(source, "y", **USED, **options)
    model = nolook.LinearRegression(epsilon=5.0, delta=1e-6, random_state=0).fit(read)
    return np.append(model.coef_, model.intercept_)


def survey(source: object, **options: object) -> np.ndarray:
    read = nolook.read_table(
        source, "y", features=["x", "city"], weights="n", schema=SCHEMA, **options
    )
    return nolook.LinearRegression(epsilon=5.0, delta=1e-6, random_state=0).fit(read).coef_


def surveyed_groups(source: object, **options: object) -> np.ndarray:
    read = nolook.read_table(source, features=["x", "city"], weights="n", schema=SCHEMA, **options)
    found = nolook.tabulate(read, "city", mean="x", median="x", random_state=0)
    return found.to_frame().fillna(0.0).to_numpy()


def distribution(source: object, **options: object) -> np.ndarray:
    read = nolook.read_table(source, features=["x"], **options)
    return nolook.ECDF(epsilon=1.0, random_state=0).fit(read).cdf([-1.0, 0.0, 1.0])


def groups(source: object, **options: object) -> np.ndarray:
    read = nolook.read_table(source, "y", **USED, **options)
    found = nolook.tabulate(read, "city", mean="y", median="x", random_state=0)
    return found.to_frame().fillna(0.0).to_numpy()


def pairs(source: object, **options: object) -> np.ndarray:
    names = ["city", "band", "half"]
    read = nolook.read_table(source, features=names, schema=SCHEMA, **options)
    found = nolook.tabulate(read, all_pairs=names, random_state=0)
    return found.to_frame().fillna(0.0).to_numpy()


def group_tests_of(source: object, **options: object) -> np.ndarray:
    read = nolook.read_table(source, "y", **USED, **options)
    compared = nolook.compare_groups(read, "x", "city", random_state=0)
    curves = nolook.survival(read, "x", "city", random_state=0)
    return np.concatenate([one.cells for each in (compared, curves) for one in each.forests.groups])


RELEASES = [
    (regression, "person"),
    (distribution, None),
    (groups, "person"),
    (pairs, None),
    (group_tests_of, "person"),
    (survey, "person"),
    (surveyed_groups, "person"),
    (regression, None),
    (distribution, "person"),
    (groups, None),
    (group_tests_of, None),
]


@pytest.fixture(scope="module")
def expected(table) -> Callable[..., list[float]]:
    """Give the results of the table in memory, of which each is made once."""
    return cache(lambda make, unit: make(table, unit=unit).tolist())


@pytest.mark.parametrize(
    ("name", "make", "unit"),
    [
        # Every day one or two releases of each place, each of them from a quarter of the places.
        pytest.param(name, *release, marks=[pytest.mark.slow] * (j > 6 or (i + j) % 4 > 0))
        for i, name in enumerate(PLACES)
        for j, release in enumerate(RELEASES)
    ],
)
def test_results_are_the_same_to_the_last_bit(name, make, unit, table, expected, tmp_path):
    kept = PLACES[name].keep(table, tmp_path)
    assert make(kept, unit=unit).tolist() == expected(make, unit)


@pytest.mark.parametrize("name", CHANGING)
def test_parts_travel_and_are_the_table(name, table, tmp_path, monkeypatch):
    kept = PLACES[name].keep(table, tmp_path)
    source = nolook.read_table(kept, "y", **USED)._source
    parts = [pickle.loads(pickle.dumps(part)) for part in source.parts()]
    names = ["x", "city", "person"]
    found = [row for part in parts for b in part.batches(names) for row in b.to_pylist()]
    whole = [row for b in source.batches(names) for row in b.to_pylist()]
    assert [[row[name] for name in names] for row in found] == [
        [row[name] for name in names] for row in whole
    ]
    assert len(found) == ROWS


def budget(folder: Path) -> nolook.Ledger:
    return nolook.Ledger.create(folder / "t.ledger", nolook.Budget(9.0, 1e-3), name="people")


@pytest.mark.parametrize("name", CHANGING)
def test_a_change_before_the_charge_costs_nothing(name, table, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    place = PLACES[name]
    read = nolook.read_table(place.keep(table, data), "y", **USED)
    place.change(data)
    with budget(tmp_path) as ledger:
        with pytest.raises(TableError) as caught:
            nolook.LinearRegression(epsilon=1.0, delta=1e-6).fit(read, ledger=ledger)
        assert "\n" not in str(caught.value)
        assert len(ledger.charged()) == 0


@pytest.mark.usefixtures("nothing_kept")
@pytest.mark.parametrize("name", CHANGING)
def test_a_change_after_the_charge_is_refused_and_stays_charged(name, table, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    place = PLACES[name]
    read = nolook.read_table(place.keep(table, data), "y", **USED)

    def change(stage: str, done: int, total: int) -> None:
        if done == 2:
            place.change(data)

    with budget(tmp_path) as ledger:
        with pytest.raises(TableError, match="start again"):
            nolook.LinearRegression(epsilon=1.0, delta=1e-6).fit(
                read, ledger=ledger, progress=change
            )
        assert len(ledger.charged()) == 1


SPACED = ["basel", "\u00a0Basel", "bern\u00a0", " \u2003bern\t", "\u00a0n/a\u00a0", "\u00a0", "zug"]


@pytest.mark.parametrize("name", [name for name in PLACES if "hive" not in name])
def test_blanks_around_a_word_do_not_count_whichever_they_are(name, tmp_path):
    table = pa.table({"city": SPACED * 30, "x": [*map(float, range(210))]})
    city = {"type": "category", "levels": ["basel\u00a0", "bern", "..."], "missing": ["n/a"]}
    read = nolook.read_table(
        PLACES[name].keep(table, tmp_path),
        features=["city", "x"],
        schema={"columns": {"city": city, "x": "number"}},
        where=["city != zug\u00a0"],
    )
    found = nolook.tabulate(read, "city", epsilon=1e6, delta=0.5, random_state=0)
    assert found.to_frame()["count"].to_numpy().round().tolist() == [120, 60, 60, 0, 0]
