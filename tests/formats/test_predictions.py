from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nolook
from nolook.formats.predictions import write_predictions
from tests.report.hand_made import fitted


def read(path):
    return pq.read_table(path)["prediction"].to_pylist()


def frame(rows, seed=0):
    generator = np.random.default_rng(seed)
    return pa.table({"height": generator.normal(size=rows), "age": generator.normal(size=rows)})


def test_each_row_is_predicted_in_order(tmp_path):
    model, rows = fitted(("age", "height", "y")), frame(1000)
    table = nolook.read_table(rows, features=["age", "height"])
    write_predictions(model, table, tmp_path / "p.parquet")
    expected = model.predict(rows.select(["age", "height"]))
    assert read(tmp_path / "p.parquet") == expected.tolist()
    assert pq.read_schema(tmp_path / "p.parquet").names == ["prediction"]


def test_a_model_of_arrays_is_given_arrays(tmp_path):
    model = fitted(("x0", "x1", "y"))
    del model.feature_names_in_
    rows = np.random.default_rng(0).normal(size=(100, 2))
    write_predictions(model, nolook.read_table(rows), tmp_path / "p.parquet")
    assert read(tmp_path / "p.parquet") == model.predict(rows).tolist()


@pytest.mark.parametrize("missing", ["drop-row", "zero"])
def test_a_row_that_lacks_a_value_gets_none_unless_zero_was_trained(tmp_path, missing):
    model = fitted(("age", "height", "y"))
    rows = frame(5).set_column(1, "age", pa.array([1.0, None, np.nan, np.inf, 2.0]))
    table = nolook.read_table(rows, features=["age", "height"], missing=missing)
    write_predictions(model, table, tmp_path / "p.parquet")
    empty = [value is None for value in read(tmp_path / "p.parquet")]
    lacking = [False, True, True, True, False]
    assert empty == ([False] * 5 if missing == "zero" else lacking)


def test_rows_are_predicted_a_block_at_a_time(tmp_path, monkeypatch):
    model, sizes = fitted(("age", "height", "y")), []
    ordinary = type(model).predict

    def spy(self, X):
        sizes.append(len(X.X))
        return ordinary(self, X)

    monkeypatch.setattr(type(model), "predict", spy)
    table = nolook.read_table(frame(200_000), features=["age", "height"])
    write_predictions(model, table, tmp_path / "p.parquet")
    assert sum(sizes) == 200_000
    assert max(sizes) <= 65_536


def test_no_rows_give_an_empty_file(tmp_path):
    table = nolook.read_table(frame(0), features=["age", "height"])
    write_predictions(fitted(("age", "height", "y")), table, tmp_path / "p.parquet")
    assert read(tmp_path / "p.parquet") == []


def test_a_failure_in_the_middle_leaves_no_file(tmp_path, monkeypatch):
    model = fitted(("age", "height", "y"))

    def fail(self, X):
        raise RuntimeError

    monkeypatch.setattr(type(model), "predict", fail)
    table = nolook.read_table(frame(10), features=["age", "height"])
    with pytest.raises(RuntimeError):
        write_predictions(model, table, tmp_path / "p.parquet")
    assert not list(tmp_path.iterdir())
