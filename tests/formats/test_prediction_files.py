"""Files of predictions: their formats, and columns of the table beside them."""

from __future__ import annotations

import csv
import datetime as dt
import decimal
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nolook
from nolook.errors import ParameterError, TableError
from nolook.formats.predictions import check_prediction_file, write_predictions
from nolook.tables.files import ParquetFile
from tests.hostile.arbitrary import store
from tests.report.hand_made import fitted

ROWS = 70_000  # more than a batch of predictions, and no multiple of one of the file


def model():
    return fitted(("age", "height", "y"))


def numbers(rows, seed=0):
    generator = np.random.default_rng(seed)
    return {"age": generator.normal(size=rows), "height": generator.normal(size=rows)}


def opened(path, **options):
    return nolook.read_table(path, features=["age", "height"], **options)


def rows_of(path):
    with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize(
    "ending", [".csv", *(pytest.param(e, marks=pytest.mark.slow) for e in (".parquet", ".arrow"))]
)
def test_kept_cells_stand_beside_the_prediction_of_their_row(tmp_path, ending):
    ids = [f"p{place}" for place in range(ROWS)]
    source = pa.table({"id": ids, **numbers(ROWS), "y": np.arange(ROWS)})
    store(source, tmp_path / f"t{ending}")
    made = model()
    expected = made.predict(source.select(["age", "height"]))
    table = opened(tmp_path / f"t{ending}")
    write_predictions(made, table, tmp_path / "p.parquet", ("y", "id"))
    found = pq.read_table(tmp_path / "p.parquet")
    assert found.column_names == ["y", "id", "prediction"]
    assert found["id"].to_pylist() == ids
    assert found["prediction"].to_pylist() == expected.tolist()
    # Cells keep their type; those of CSV are texts.
    assert [int(cell) for cell in found["y"].to_pylist()] == list(range(ROWS))
    assert found["y"].type == (pa.string() if ending == ".csv" else pa.int64())
    write_predictions(made, table, tmp_path / "p.csv", ("id",))
    head, *lines = rows_of(tmp_path / "p.csv")
    assert head == ["id", "prediction"]
    assert [line[0] for line in lines] == ids
    assert [float(line[1]) for line in lines] == expected.tolist()


TYPES = {
    "text": pa.array(["a", None, 'b, "c"\n']),
    "large": pa.array(["x", "y", "z"], pa.large_string()),
    "levels": pa.array(["x", "y", None]).dictionary_encode(),
    "date": pa.array([dt.date(2024, 2, 29)] * 3),
    "time": pa.array([dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)] * 3, pa.timestamp("us", "UTC")),
    "money": pa.array([decimal.Decimal("1.50")] * 3),
    "flag": pa.array([True, False, None]),
    "real": pa.array([0.1, np.nan, 1e300]),
    "bytes": pa.array([b"x", b"y", None], pa.binary_view()),
    "nothing": pa.nulls(3),
}
IN_CSV = {
    "text": ["a", "", 'b, "c"\n'],
    "large": ["x", "y", "z"],
    "levels": ["x", "y", ""],
    "date": ["2024-02-29"] * 3,
    "time": ["2024-02-29 12:00:00.000000Z"] * 3,
    "money": ["1.50"] * 3,
    "flag": ["true", "false", ""],
    "real": ["0.1", "nan", "1e+300"],
    "bytes": ["x", "y", ""],
    "nothing": [""] * 3,
}


@pytest.mark.parametrize("name", TYPES)
def test_every_ordinary_type_is_kept(tmp_path, name):
    table = pa.table({**numbers(3), "kept": TYPES[name]})
    pq.write_table(table, tmp_path / "t.parquet")
    for file in ("p.parquet", "p.csv"):
        write_predictions(model(), opened(tmp_path / "t.parquet"), tmp_path / file, ("kept",))
    found = pq.read_table(tmp_path / "p.parquet")["kept"]
    assert found.type == TYPES[name].type
    assert str(found.to_pylist()) == str(TYPES[name].to_pylist())
    assert [row[0] for row in rows_of(tmp_path / "p.csv")[1:]] == IN_CSV[name]


def test_a_type_without_a_place_in_the_format_is_refused_before_anything_is_read(tmp_path):
    table = pa.table({**numbers(3), "kept": [[1], [2], [3]]})
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(ParameterError, match=r"'kept', whose type a .csv file cannot store"):
        write_predictions(model(), opened(tmp_path / "t.parquet"), tmp_path / "p.csv", ("kept",))
    assert not (tmp_path / "p.csv").exists()
    write_predictions(model(), opened(tmp_path / "t.parquet"), tmp_path / "p.pq", ("kept",))
    assert pq.read_table(tmp_path / "p.pq")["kept"].to_pylist() == [[1], [2], [3]]


def test_bytes_that_are_no_text_are_copied_to_csv_and_replaced_in_parquet(tmp_path):
    (tmp_path / "t.csv").write_bytes(b'id,age,height\n\xff\xfe,1,2\n"a\xe9",3,4\nb\n')
    table = opened(tmp_path / "t.csv", missing="drop-row")
    for file in ("p.csv", "p.parquet"):
        write_predictions(model(), table, tmp_path / file, ("id",))
    lines = (tmp_path / "p.csv").read_bytes().split(b"\n")
    assert [line.rpartition(b",")[0] for line in lines[1:4]] == [b'"\xff\xfe"', b'"a\xe9"', b""]
    assert lines[3:] == [b",", b""]  # the line that is no row of the table
    found = pq.read_table(tmp_path / "p.parquet").to_pylist()
    assert [row["id"] for row in found] == ["\ufffd\ufffd", "a\ufffd", None]
    assert found[2]["prediction"] is None


@pytest.mark.parametrize("kind", [pa.binary(), pa.binary_view()])
def test_a_column_of_bytes_is_copied_to_csv(tmp_path, kind):
    cells = pa.array([b"a", b"", b"\xff"], pa.binary()).cast(kind)
    pq.write_table(pa.table({**numbers(3), "kept": cells}), tmp_path / "t.parquet")
    write_predictions(model(), opened(tmp_path / "t.parquet"), tmp_path / "p.csv", ("kept",))
    lines = (tmp_path / "p.csv").read_bytes().splitlines()
    assert [line.rpartition(b",")[0] for line in lines[1:]] == [b'"a"', b'""', b'"\xff"']


def test_a_row_without_a_prediction_is_a_line_of_csv_all_the_same(tmp_path):
    table = nolook.read_table(
        pa.table({"age": [1.0, None, 2.0], "height": [1.0] * 3}), features=["age", "height"]
    )
    write_predictions(model(), table, tmp_path / "p.csv")
    lines = (tmp_path / "p.csv").read_text().splitlines()
    assert len(lines) == 4
    assert lines[2] == '""'  # an empty line is no row for most programs


@given(st.lists(st.text(st.characters(blacklist_categories=["Cs"])), min_size=1, max_size=5))
def test_any_text_comes_back_from_csv(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("p") / "p.csv"
    cells = pa.table({**numbers(len(texts)), "kept": texts})
    pq.write_table(cells, path.with_name("t.parquet"))
    write_predictions(model(), opened(path.with_name("t.parquet")), path, ("kept",))
    content = path.read_bytes().decode()
    read = [row[0] for row in csv.reader(io.StringIO(content, newline=""))]
    assert read[1:] == texts


def test_a_column_that_is_unknown_occurs_twice_or_is_the_prediction_is_refused(tmp_path):
    pq.write_table(pa.table(numbers(3)), tmp_path / "t.parquet")
    with pytest.raises(TableError, match="--keep names 'zz'"):
        write_predictions(model(), opened(tmp_path / "t.parquet"), tmp_path / "p.csv", ("zz",))
    table = opened(tmp_path / "t.parquet")
    with pytest.raises(ParameterError, match="--keep names 'prediction', a column of predictions"):
        write_predictions(model(), table, tmp_path / "p.csv", ("prediction",))


@pytest.mark.parametrize("name", ["p", "p.txt", "p.json", "p.csv.gz", ".csv", "p.parquet "])
def test_an_unknown_ending_is_refused(tmp_path, name):
    with pytest.raises(ParameterError, match=r"expected \.parquet or \.pq or \.csv") as caught:
        check_prediction_file(tmp_path / name)
    assert "\n" not in str(caught.value)
    check_prediction_file(tmp_path / "P.CSV")


def test_a_table_that_is_changed_on_the_way_leaves_no_file(tmp_path, monkeypatch):
    rows = pa.table({**numbers(10), "id": range(10)})
    pq.write_table(rows, tmp_path / "t.parquet")
    table, ordinary = opened(tmp_path / "t.parquet"), ParquetFile._stream

    def stream(self, names):
        yield from ordinary(self, names)
        pq.write_table(rows.slice(0, 5), tmp_path / "t.parquet")

    monkeypatch.setattr(ParquetFile, "_stream", stream)
    with pytest.raises(TableError, match="was changed or removed while it was in use"):
        write_predictions(model(), table, tmp_path / "p.parquet", ("id",))
    assert not (tmp_path / "p.parquet").exists()
