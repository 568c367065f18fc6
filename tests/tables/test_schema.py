"""A schema is read from parameters or TOML, kept as it was declared, and refused in one line."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import nolook
from nolook.errors import ParameterError
from nolook.tables import read_table

FULL = {
    "file": {"delimiter": ";", "quote": None, "encoding": "cp1252", "header": False,
             "comment": "#", "multiline": True, "decimal": ",", "thousands": ".",
             "missing": ["NA"]},
    "columns": {
        "n": {"type": "number", "decimal": ".", "thousands": ",", "currency": ["€"],
              "percent": True, "missing": ["-"]},
        "i": {"type": "integer", "use": "unit"},
        "b": {"type": "boolean", "true": ["JA"], "false": ["NEIN"]},
        "c": {"type": "category", "levels": ["A", "...", "B"]},
        "d": {"type": "date", "pattern": "%d.%m.%Y"},
        "t": {"type": "datetime", "origin": "2020-01-01", "use": "nothing"},
        "y": {"type": "number", "use": "target"},
        "k": {"type": "identifier"},
        "x": {"type": "text"},
    },
}  # fmt: skip
TOML = """
[file]
delimiter = ";"
[columns]
a = "number"
"b, c" = {type = "boolean", true = ["JA"], false = ["NEIN"]}
[columns."d.e"]
type = "date"
origin = 2020-01-01
"""


def test_what_was_declared_is_kept_and_no_more():
    schema = nolook.Schema.from_dict(FULL)
    assert schema.to_dict() == FULL
    assert nolook.Schema.from_dict(json.loads(json.dumps(FULL))) == schema
    assert nolook.Schema().to_dict() == {}


def test_a_file_says_what_parameters_say(tmp_path):
    path = tmp_path / "people.toml"
    path.write_text(TOML, "utf-8")
    columns = {
        "a": "number",
        "b, c": {"type": "boolean", "true": ["JA"], "false": ["NEIN"]},
        "d.e": {"type": "date", "origin": "2020-01-01"},
    }
    schema = nolook.Schema(columns, delimiter=";")
    assert nolook.Schema.read(path) == nolook.Schema.read(str(path)) == schema
    assert schema.columns["d.e"].origin == dt.date(2020, 1, 1).isoformat()


def test_digests_tell_schemas_apart_and_no_more():
    schemas = [nolook.Schema.from_dict(FULL), nolook.Schema()]
    for name, settings in FULL["columns"].items():
        columns = {**FULL["columns"], name: {**settings, "missing": ["other"]}}
        schemas.append(nolook.Schema.from_dict({**FULL, "columns": columns}))
    for name in FULL["file"].keys() - {"header", "decimal"}:
        file = {key: value for key, value in FULL["file"].items() if key != name}
        schemas.append(nolook.Schema.from_dict({**FULL, "file": file}))
    assert len({schema.digest for schema in schemas}) == len(schemas)
    again = nolook.Schema.from_dict(json.loads(json.dumps(FULL)))
    assert again.digest == schemas[0].digest
    spelt = nolook.Schema({"a": {"type": "number", "decimal": None}}, encoding="UTF8")
    assert spelt.digest == nolook.Schema({"a": "number"}).digest


def test_columns_by_use():
    schema = nolook.Schema.from_dict(FULL)
    assert schema.used_as("feature") == ("n", "b", "c", "d")
    assert schema.used_as("target") == ("y",)
    assert schema.used_as("unit") == ("i",)
    assert schema.used_as("nothing") == ("t", "k", "x")


def test_what_a_model_keeps_reads_the_same_features():
    with_header = {**FULL, "file": {**FULL["file"], "header": True}}
    schema = nolook.Schema.from_dict(with_header)
    some = schema.only(["d", "n", "i"])
    assert list(some.columns) == ["n", "i", "d"]
    assert some.used_as("feature") == ("n", "d")
    assert some.used_as("unit") == ("i",)
    assert some.file == schema.file
    assert "levels" not in json.dumps(some.to_dict())


@pytest.mark.parametrize("header", [True, False])
def test_a_models_schema_reads_a_file_without_a_header(tmp_path, header):
    columns = {"k": "identifier", "a": "number", "y": {"type": "number", "use": "target"},
               "b": {"type": "boolean", "use": "nothing"}}  # fmt: skip
    path = tmp_path / "t.csv"
    path.write_text(("k,a,y,b\n" if header else "") + "u,1,2,true\nv,3,4,true\n", "utf-8")
    opened = read_table(path, schema=nolook.Schema(columns, header=header))
    assert opened.column_names == ("a", "y")
    again = read_table(path, **json.loads(json.dumps(opened.read_options())))
    (read,) = again.batches()
    assert again.column_names == ("a",)
    assert read.tolist() == [[1, 3]]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"columns": {"a": "nmber"}}, "in column 'a', type is 'nmber'; expected one of 'number'"),
        ({"columns": {"a": {"use": "target"}}}, "in column 'a', type is None"),
        ({"columns": {"a": {"use": "nothing", "levels": []}}}, "'levels' is not a setting"),
        ({"columns": {"a": {"type": "number", "patern": "x"}}}, "'patern' is not a setting"),
        ({"columns": {"a": {"type": "date", "patern": "x"}}}, "do you mean pattern?"),
        ({"columns": {"a": {"type": "text", "use": "feature"}}}, "expected 'nothing' or 'unit'"),
        ({"columns": {"a": {"type": "category", "levels": ["A", "A"]}}}, "expected each name once"),
        ({"columns": {"a": {"type": "boolean", "true": "yes"}}}, 'for example true = ["yes"]'),
        ({"columns": {"a": {"type": "boolean", "true": ["0"]}}}, "have a word in common"),
        ({"columns": {"a": {"type": "number", "currency": ["."]}}}, "not be part of a number"),
        (
            {"columns": {"a": {"type": "number", "thousands": "."}}},
            "decimal and thousands are both",
        ),
        (
            {"columns": {"a": {"type": "date", "pattern": "%y"}}},
            "expected a string with %Y, %m and",
        ),
        ({"columns": {"a": {"type": "date", "origin": "soon"}}}, "expected a day"),
        ({"file": {"encoding": "utf-7"}}, "expected an encoding such as 'utf-8'"),
        ({"file": {"encoding": "shift_jis"}}, "or save the file as UTF-8"),
        ({"file": {"delimiter": ";;"}}, "in file, delimiter is ';;'"),
        ({"file": {"header": 0}}, "header is 0; expected true or false"),
        ({"file": {"separator": ";"}}, "'separator' is not a setting"),
        ({"column": {}}, "'column' is not a setting; expected one of file, columns; do you mean"),
        ({"columns": ["a"]}, "expected a mapping"),
        ({"columns": {"": "number"}}, "expected non-empty strings"),
        ([], "expected settings by name"),
    ],
)
def test_mistakes_are_named_in_one_line(content, words):
    with pytest.raises(ParameterError) as caught:
        nolook.Schema.from_dict(content)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_numbers_may_have_the_signs_of_their_file():
    schema = nolook.Schema({"a": {"type": "number", "thousands": "."}}, decimal=",")
    assert schema.columns["a"].within(schema.file).decimal == ","
    nolook.Schema({"a": {"type": "integer", "thousands": "."}})
    own = nolook.Schema({"a": {"type": "number", "decimal": "."}}, decimal=",", thousands=".")
    assert own.columns["a"].within(own.file).thousands is None
    with pytest.raises(ParameterError, match="in column 'a', decimal and thousands are both ','"):
        nolook.Schema({"a": {"type": "number", "thousands": ","}}, decimal=",")


@pytest.mark.parametrize(
    ("target", "schema", "words"),
    [
        ("b", {"a": {"type": "number", "use": "target"}}, "but the schema's is 'a'"),
        ("a", {"b": "date"}, "'b' is declared to be of type date, but the table has number there"),
        (
            "a",
            {"b": {"type": "boolean", "true": ["ja"], "false": ["..."]}},
            "true of 'b' is ja, which no cell",
        ),
    ],
)
def test_a_schema_of_another_table(target, schema, words):
    table = pa.table({"a": np.ones(2), "b": np.ones(2)})
    with pytest.raises(nolook.NolookError) as caught:
        read_table(table, target, schema=nolook.Schema(schema))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("declared", "words"), [("z", "names 'z', but"), ("bb", "do you mean 'b'?")]
)
def test_a_declared_column_that_a_text_file_does_not_have(tmp_path, declared, words):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n", "utf-8")
    with pytest.raises(nolook.TableError) as caught:
        read_table(path, "a", schema=nolook.Schema({declared: "number"}))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", [str, Path])
def test_a_schema_may_be_given_by_its_path(tmp_path, kind):
    (tmp_path / "t.csv").write_text("age;cost\n1,5;2\n")
    (tmp_path / "t.toml").write_text(
        '[file]\ndelimiter = ";"\ndecimal = ","\n[columns]\nage = "number"\n'
        'cost = {type = "number", use = "target"}\n'
    )
    place = tmp_path / "t.toml"
    opened = read_table(tmp_path / "t.csv", schema=kind(place))
    same = read_table(tmp_path / "t.csv", schema=nolook.Schema.read(place))
    assert opened.read_options() == same.read_options()
    assert next(opened.batches()).ravel().tolist() == [1.5, 2.0]
    with pytest.raises(ParameterError, match=r"none\.toml"):
        read_table(tmp_path / "t.csv", schema=kind(tmp_path / "none.toml"))


def test_a_column_that_the_table_lacks_is_refused_with_the_closest_name(tmp_path):
    import pandas as pd

    from nolook.errors import TableError
    from nolook.tables import read_table

    frame = pd.DataFrame({"age": [1.0], "cost": [2.0]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    schema = {"columns": {"age": "number", "cots": {"type": "number", "use": "nothing"}}}
    for source in (frame, tmp_path / "t.csv"):
        with pytest.raises(TableError, match=r"schema names 'cots'.*'cost'"):
            read_table(source, schema=schema)
        # Who names the features, as a model's file does, needs no other column.
        assert read_table(source, features=["age"], schema=schema).feature_names == ("age",)


def test_white_space_around_a_level_means_nothing():
    declared = {"c": {"type": "category", "levels": [" b", "a\t"]}}
    assert nolook.Schema(declared).columns["c"].levels == ("b", "a")
    table = read_table(pa.table({"c": ["a ", "b"]}), features=["c"], schema={"columns": declared})
    assert np.concatenate([*table.batches()], axis=1).tolist() == [[1.0, 0.0], [0.0, 0.0]]
