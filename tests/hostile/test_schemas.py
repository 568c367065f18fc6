"""Schemas that somebody damaged or made up: read, or refused in one line."""

from __future__ import annotations

import json
import os
import tomllib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nolook
from tests.hostile.arbitrary import NAMES, damaged, tables
from tests.hostile.harness import CANARY, attempt, inputs, run

GOOD = b"""
[file]
delimiter = ";"
encoding = "cp1252"
decimal = ","
[columns]
a = "number"
"b, c" = {type = "boolean", true = ["JA"], false = ["NEIN"]}
c = {type = "category", levels = ["A", "B", "..."]}
d = {type = "date", pattern = "%d.%m.%Y"}
e = {year_of = "d"}
y = {type = "number", use = "target", currency = ["CHF"], percent = false}
z = "text"
"""
TEXTS = {
    "nothing": b"",
    "nul": b"\0" * 100,
    "nul in a name": b'[columns]\n"a\\u0000" = "number"',
    "not UTF-8": b'[columns]\n"\xff" = "number"',
    "UTF-16": GOOD.decode().encode("utf-16"),
    "deep": b"a = " + b"[" * 100_000 + b"]" * 100_000,
    "deep tables": b"[columns]\na = " + b"{b = " * 5_000 + b"1" + b"}" * 5_000,
    "deep names": b"[" + b".".join([b"a"] * 10_000) + b"]\nb = 1",
    "huge key": b"[columns]\n" + b"a" * 1_000_000 + b' = "number"',
    "huge key of no setting": b"[file]\n" + b"a" * 1_000_000 + b' = "number"',
    "many columns": b"[columns]\n" + b"".join(b'c%d = "number"\n' % i for i in range(3_000)),
    "twice": b'[columns]\na = "number"\na = "number"',
    "table twice": b'[columns.a]\ntype = "number"\n[columns.a]\ntype = "number"',
    "10 megabytes": b"# " + b"x" * 10_000_000,
    "10 megabytes of names": b"[columns]\n" + b'aaaaaaaa = "number"\n' * 500_000,
    "huge number": b"[columns]\na = " + b"9" * 100_000,
    "huge border": b'[columns]\na = {bins_of = "b", borders = [' + b"9" * 5000 + b"]}",
    "line break": b'[columns]\n"a\\nb" = "nmber"',
    "escape": b'[columns]\n"a\\u001b[31m" = {type = "number", "u\\u001b[31mse" = 1}',
    "file is a list": b"[[file]]\n",
    "columns is a text": b'columns = "number"',
    "column is a number": b"[columns]\na = 1",
    "column is a time": b"[columns]\na = 2020-01-01T00:00:00Z",
    "column without a type": b'[columns]\na = {use = "feature"}',
    "unknown": b"[colums]\na = 1",
    "two targets": b'[columns]\na = {type="number",use="target"}\nb = {type="number",use="target"}',
    "draft": b'draft = true\n[columns]\na = "number"',
    "draft is a text": b'draft = ""\n[columns]\na = "number"',
    "no header": b"[file]\nheader = false",
    "empty levels": b'[columns]\na = {type = "category", levels = []}',
    "wrong word": b'[columns]\na = {type = "boolean", true = ["x"], false = ["x"]}',
    "not finite": b"[columns]\na = nan",
}
ACCEPTED = {"nothing", "nul in a name", "many columns", "huge key", "empty levels"}
VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.dates(), st.datetimes(),
        st.sampled_from(["", ".", ",", "number", "category", "date", "target", "year", "a" * 5000]),
        st.sampled_from(["%d.%m.%Y", "\ud800", "\n", "€", "...", "2020-01-01", 10**400]),
        st.sampled_from(NAMES), st.text(max_size=5),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)  # fmt: skip
SETTINGS = st.dictionaries(
    st.sampled_from([
        "type", "use", "missing", "decimal", "thousands", "currency", "percent", "true", "false",
        "levels", "pattern", "origin", "year_of", "other", "delimiter", "quote", "encoding",
        "header", "comment", "multiline", "given_use",
    ]),
    VALUES, max_size=4,
)  # fmt: skip
TYPES = st.sampled_from(["number", "integer", "boolean", "category", "date", "text", "x", 3])
SCHEMAS = st.fixed_dictionaries(
    {},
    optional={
        "file": st.one_of(SETTINGS, VALUES),
        "columns": st.one_of(
            st.dictionaries(
                st.sampled_from(NAMES),
                st.one_of(
                    TYPES,
                    VALUES,
                    st.tuples(TYPES, SETTINGS).map(lambda two: {"type": two[0], **two[1]}),
                ),
                max_size=4,
            ),
            VALUES,
        ),
        "more": VALUES,
    },
)


def read(path):
    """Read a schema, or the one line that refuses it; what was accepted is stored as it is."""
    found = attempt(lambda: nolook.Schema.read(path))
    if not isinstance(found, nolook.NolookError):
        check_kept(found)
    return found


def check_kept(schema):
    content = json.loads(json.dumps(schema.to_dict()))
    again = nolook.Schema.from_dict(content)
    assert again == schema
    assert again.digest == schema.digest


@pytest.mark.parametrize("name", TEXTS)
def test_odd_schemas_end_in_one_line(folder, name):
    path = folder / "s.toml"
    path.write_bytes(TEXTS[name])
    found = read(path)
    assert isinstance(found, nolook.ParameterError) != (name in ACCEPTED)
    if name not in ACCEPTED:
        assert len(str(found)) < 2_000
        assert str(found).isprintable()


def test_what_is_damaged_is_a_schema():
    assert nolook.Schema.from_dict(tomllib.loads(GOOD.decode("utf-8"))).used_as("target") == ("y",)


@inputs(200)
@given(content=damaged(GOOD))
def test_damaged_schemas_end_in_one_line(folder, content):
    path = folder / "s.toml"
    path.write_bytes(content)
    read(path)


def test_places_that_are_no_file(folder):
    (folder / "folder.toml").mkdir()
    os.mkfifo(folder / "pipe.toml")
    (folder / "loop.toml").symlink_to("loop.toml")
    for name in ("folder.toml", "pipe.toml", "loop.toml", "none.toml", "nul\0.toml", "x" * 5000):
        assert isinstance(read(folder / name), nolook.ParameterError), name
    for path in (None, 3, b"s.toml", [], nolook):
        assert isinstance(read(path), nolook.ParameterError)


@inputs(500)
@given(content=st.one_of(SCHEMAS, VALUES))
def test_any_content_is_a_schema_or_one_line(content):
    found = attempt(lambda: nolook.Schema.from_dict(content))
    if not isinstance(found, nolook.NolookError):
        check_kept(found)
        check_kept(found.only(list(found.columns)[:1]))
    else:
        assert isinstance(found, nolook.ParameterError)


@inputs(150)
@given(content=SCHEMAS, table=tables(), stored=st.booleans(), data=st.data())
def test_any_schema_of_any_table(folder, content, table, stored, data):
    """Reading ends in numbers or in one line, which a cell never decides or enters."""
    schema = attempt(lambda: nolook.Schema.from_dict(content))
    if isinstance(schema, nolook.NolookError):
        kinds = st.sampled_from(["number", "integer", "boolean", "date", "text", "datetime"])
        named = {name: data.draw(kinds) for name in dict.fromkeys(table.column_names) if name}
        schema = attempt(lambda: nolook.Schema(named))
    source = table
    if stored:
        source = folder / "t.csv"
        names = ",".join(json.dumps(name) for name in table.column_names)
        source.write_bytes(f"{names}\n".encode() + data.draw(st.binary(max_size=50)))

    def batches():
        opened = nolook.read_table(source, schema=schema, missing="zero")
        return [batch.copy() for batch in opened.batches()]

    attempt(batches)


@inputs(200)
@given(content=st.one_of(SCHEMAS, VALUES))
def test_a_models_schema_is_a_schema_or_one_line(folder, model, content):
    """Whatever a file says; `json.dumps` writes numbers that are no JSON too."""
    document = json.loads(model)
    document["read_options"]["schema"] = content
    path = folder / "m.json"
    path.write_text(json.dumps(document, default=str), "utf-8")
    found = attempt(lambda: nolook.load(path))
    if isinstance(found, nolook.NolookError):
        assert isinstance(found, nolook.ModelFileError)
        return
    again = folder / "again.json"
    nolook.save(found, again)
    assert (
        json.loads(again.read_text("utf-8"))["read_options"]
        == json.loads(path.read_text("utf-8"))["read_options"]
    )
    pq.write_table(pa.table({"a": [1.0], "b": [CANARY]}), folder / "t.parquet")
    run(folder, "predict", "--model", "m.json", "t.parquet", "--output", "p.parquet")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The text of a model's file."""
    table = pa.table({"a": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 3.0]})
    fitted = nolook.AdaSSPRegressor(1.0, 1e-6).fit(nolook.read_table(table, "y"))
    path = tmp_path_factory.mktemp("model") / "m.json"
    nolook.save(fitted, path)
    return path.read_text("utf-8")
