"""A messy table, declared, gives the very numbers of its clean twin: read, fitted and predicted."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nolook
from nolook.owner.draft import draft_schema
from tests.hostile.harness import run
from tests.tables.messy import FILE, SCHEMA, clean, compressed, declared, messy

ENCODINGS = ["utf-8", "cp1252", "utf-16-le", "iso8859-15"]
WRITTEN = [("utf-8", ".csv.gz"), ("cp1252", ".csv"), ("utf-16-le", ".csv.zst")]


def numbers(source, schema, **options):
    opened = nolook.read_table(source, schema=schema, missing="drop-row", **options)
    return np.concatenate([batch.copy() for batch in opened.batches()], axis=1)


def fitted(source, schema):
    table = nolook.read_table(source, schema=schema, missing="drop-row")
    return nolook.LinearRegression(1.0, 1e-6, random_state=0).fit(table)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".csv.zst"])
def test_a_messy_table_gives_the_numbers_of_its_clean_twin(tmp_path, encoding, ending):
    table = clean(2_000)
    path = compressed(messy(table, encoding), tmp_path / f"t{ending}")
    found = numbers(path, declared(encoding))
    assert 1_500 < found.shape[1] < 2_000
    np.testing.assert_array_equal(found, numbers(table, declared()))


def test_the_clean_twin_needs_no_schema():
    """Its numbers are those of its types alone, so that a schema changes nothing it should not."""
    table = clean(500)
    names = ['Tage "stationär"', "Anteil", "Raucher"]
    plain = nolook.read_table(table, "Kosten, gesamt", features=names, missing="drop-row")
    some = nolook.read_table(table, features=names, schema=declared(), missing="drop-row")
    np.testing.assert_array_equal(next(plain.batches()), next(some.batches()))
    np.testing.assert_array_equal(plain.binary, some.binary)


def predictions(folder, name):
    done = run(folder, "predict", "--model", "m.json", name, "--output", "p.parquet", "--force")
    assert done.status == 0, done
    return pq.read_table(folder / "p.parquet")["prediction"].to_pylist()


@pytest.mark.parametrize(
    "rows", [3_000, pytest.param(100_000, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_a_messy_table_is_fitted_to_the_digits_of_its_clean_twin(tmp_path, rows):
    table = clean(rows)
    twin = fitted(table, declared())
    complete = clean(200, complete=True)
    pq.write_table(complete, tmp_path / "other.parquet")
    for encoding, ending in WRITTEN:
        path = compressed(messy(table, encoding), tmp_path / f"t{ending}")
        model = fitted(path, declared(encoding))
        assert model.coef_.tolist() == twin.coef_.tolist()
        assert model.intercept_ == twin.intercept_
        assert model.rows_.value == twin.rows_.value
        nolook.save(model, tmp_path / "m.json")
        kept = json.loads((tmp_path / "m.json").read_text("utf-8"))["read_options"]["schema"]
        assert kept["columns"].keys() == SCHEMA.keys() - {"Patient", "Notiz"}
        compressed(messy(complete, encoding), tmp_path / f"other{ending}")
        predicted = [predictions(tmp_path, name) for name in (f"other{ending}", "other.parquet")]
        assert predicted[0] == predicted[1]
        assert len(set(predicted[0])) > 190


def test_a_messy_table_is_fitted_by_the_command_line(tmp_path):
    table = clean(3_000)
    pq.write_table(table, tmp_path / "clean.parquet")
    compressed(messy(table, "cp1252"), tmp_path / "messy.csv.gz")
    for name, file in (("clean", FILE), ("messy", {**FILE, "encoding": "cp1252"})):
        (tmp_path / f"{name}.toml").write_text(as_toml(file), "utf-8")
    words = ("--epsilon", 1, "--delta", 1e-6, "--missing", "drop-row", "--random-state", 0)
    coefficients = []
    for source in ("clean.parquet", "messy.csv.gz"):
        schema = f"{source.split('.')[0]}.toml"
        done = run(tmp_path, "fit", source, "--schema", schema, *words, "--output", "m.json")
        assert done.status == 0, done
        model = nolook.load(tmp_path / "m.json")
        coefficients.append([*model.coef_.tolist(), model.intercept_, model.rows_.value])
        (tmp_path / "m.json").unlink()
    assert coefficients[0] == coefficients[1]


def as_toml(file):
    lines = ["[file]", *(f"{name} = {json.dumps(value)}" for name, value in file.items())]
    for name, settings in SCHEMA.items():
        given = settings if isinstance(settings, dict) else {"type": settings}
        lines += [f"[columns.{json.dumps(name, ensure_ascii=False)}]"]
        lines += [
            f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in given.items()
        ]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16-le"])
def test_a_draft_the_holder_has_read_gives_the_same_numbers(tmp_path, encoding):
    table = clean(3_000)
    path = compressed(messy(table, encoding), tmp_path / "t.csv.gz")
    text = draft_schema(path).text
    assert "SECRET" not in text
    place = tmp_path / "people.toml"
    place.write_text(text, "utf-8")
    with pytest.raises(nolook.ParameterError, match="is still a draft"):
        nolook.Schema.read(place)
    # What the holder does: read, name levels, words and target, and delete the line.
    text = text.replace("draft = true\n", "")
    own = 'missing = ["k. A.", "unbekannt", "-"]'
    text = text.replace("[file]\n", f"[file]\n{own}\n")
    text = text.replace("levels = []", 'levels = ["Nord", "Süd", "Geburt; Kinder"]')
    text = text.replace('pattern = "%d.%m.%Y"', 'pattern = "%d.%m.%Y"\norigin = "2020-01-01"')
    text = text.replace('currency = ["€"]', 'currency = ["€"]\nuse = "target"')
    place.write_text(text, "utf-8")
    read = nolook.Schema.read(place)
    found = numbers(path, read)
    np.testing.assert_array_equal(found, numbers(pa.table(table), declared()))
