"""What a schema becomes where columns are left out, or a model keeps its part of one."""

from __future__ import annotations

import pyarrow as pa
import pytest

import nolook
from nolook.errors import ParameterError, TableError
from nolook.tables import read_table
from nolook.tables.read import read_scores

DECLARED = {
    "age": "number",
    "born": {"type": "date"},
    "note": "text",
    "died": {"type": "boolean", "true": ["yes"], "false": ["no"], "use": "target"},
}


@pytest.mark.parametrize("name", ["age", "born", "note", "city"])
def test_a_column_left_out_is_of_no_use_and_all_else_stays(name):
    before = nolook.Schema(DECLARED, delimiter=";")
    after = before.without([name])
    assert after.columns[name].use == "nothing"
    others = {key: each for key, each in after.columns.items() if key != name}
    assert others == {key: each for key, each in before.columns.items() if key != name}
    assert after.file == before.file
    assert before.without([]) == before


def test_leaving_out_every_declared_feature_brings_no_other_in(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,y\n1,2,3\n")
    schema = nolook.Schema({"a": "number", "y": {"type": "number", "use": "target"}})
    with pytest.raises(ParameterError, match="features is not given"):
        read_table(tmp_path / "t.csv", schema=schema.without(["a"]))


def test_an_identifier_is_no_number_whatever_is_asked_of_it(tmp_path):
    (tmp_path / "t.csv").write_text("pid,y\n1,3\n")
    schema = nolook.Schema({"pid": "identifier"}).only(["pid"])
    assert schema.columns["pid"].use == "nothing"
    with pytest.raises(TableError, match=r"'pid', which in .* has type identifier"):
        read_table(tmp_path / "t.csv", features=["pid"], schema=schema)


@pytest.mark.parametrize("kind", ["identifier", "text"])
def test_a_unit_stays_one_in_a_schema_of_some_columns(kind):
    declared = {"pid": {"type": kind, "use": "unit"}, "score": "number", "died": "integer"}
    table = pa.table({"pid": [1, 1, 2], "score": [0.1, 0.2, 0.3], "died": [0, 1, 0]})
    schema = nolook.Schema(declared)
    assert schema.only(["pid", "score"]).used_as("unit") == ("pid",)
    assert schema.only(["score"]).used_as("unit") == ()
    assert read_scores(table, "score", "died", "1", schema=schema).unit.column == "pid"
    assert read_table(table, "score", schema=schema).read_options()["schema"]["columns"].keys() == {
        *("score", "died")
    }


def test_a_model_keeps_the_order_of_columns_that_have_no_header():
    kept = nolook.Schema(DECLARED, header=False).only(["born"])
    assert list(kept.columns) == list(DECLARED)
    assert kept.used_as("feature") == ("born",)
    assert kept.used_as("target") == ()
    assert list(nolook.Schema(DECLARED).only(["born"]).columns) == ["born"]


@pytest.mark.parametrize(
    ("positive", "marks"), [(None, [1, 0, 1]), (" YES", [1, 0, 1]), ("no", [0, 1, 0])]
)
def test_a_declared_class_is_named_by_its_words(tmp_path, positive, marks):
    (tmp_path / "t.csv").write_text("age,died\n1,yes\n2,no\n3,yes\n")
    schema = nolook.Schema({"died": DECLARED["died"]})
    opened = read_scores(tmp_path / "t.csv", "age", "died", positive, schema=schema)
    assert [batch.tolist() for batch in opened.batches()] == [[[1, 2, 3], marks]]
    for wrong in ("1", "true", "..."):
        with pytest.raises(ParameterError, match="'died' has the declared values yes, no; "):
            read_scores(tmp_path / "t.csv", "age", "died", wrong, schema=schema)


def test_a_column_of_no_use_needs_no_type(tmp_path):
    (tmp_path / "t.csv").write_text("a,note,y\n1,x,3\n2,,4\n")
    columns = {"a": "number", "note": {"use": "nothing"}, "y": {"type": "number", "use": "target"}}
    schema = nolook.Schema(columns)
    assert schema.used_as("nothing") == ("note",)
    assert nolook.Schema.from_dict(schema.to_dict()) == schema
    for source in (tmp_path / "t.csv", pa.table({"a": [1, 2], "note": [[1], [2]], "y": [3, 4]})):
        assert read_table(source, schema=schema).column_names == ("a", "y")


@pytest.mark.parametrize("stored", [False, True])
def test_levels_may_be_empty_where_no_release_uses_them(tmp_path, stored):
    (tmp_path / "t.csv").write_text("a,city,y\n1,A,3\n2,B,4\n")
    source = pa.table({"a": [1, 2], "city": ["A", "B"], "y": [3, 4]})
    source = source if stored else tmp_path / "t.csv"
    city = {"type": "category", "levels": []}
    schema = nolook.Schema({"a": "number", "city": city, "y": {"type": "number", "use": "target"}})
    assert nolook.Schema.from_dict(schema.to_dict()) == schema
    for options in ({}, {"features": ["a"]}, {"schema": schema.without(["city"])}):
        assert read_table(source, **{"schema": schema} | options).feature_names == ("a",)
    with_levels = read_table(source, schema=schema, categories={"city": ["A", "B"]})
    assert with_levels.feature_names == ("a", "city=B", "city=...")
    with pytest.raises(ParameterError, match=r"levels of 'city' is empty \(.*\[\"A\", \"B\"\]"):
        read_table(source, schema=schema, features=["city"])


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("levels", [[], ["A", "B"]])
def test_a_declared_category_may_be_the_target_of_a_release(tmp_path, stored, levels):
    (tmp_path / "t.csv").write_text("a,city\n1,A\n2,B\n")
    source = pa.table({"a": [1, 2], "city": ["A", "B"]}) if stored else tmp_path / "t.csv"
    schema = {"columns": {"a": "number", "city": {"type": "category", "levels": levels}}}
    negative = None if levels else "A"  # the other one of two levels
    opened = read_table(source, "city", positive="B", negative=negative, schema=schema)
    assert opened.column_names == ("a", "city")
    assert next(opened.batches()).tolist() == [[1, 2], [0, 1]]


@pytest.mark.parametrize("stored", [False, True])
def test_a_date_of_no_use_is_no_feature(tmp_path, stored):
    (tmp_path / "t.csv").write_text("a,born,y\n1,2020-01-01,3\n")
    source = pa.table({"a": [1], "born": pa.array([0], pa.date32()), "y": [3]})
    born = {"type": "date", "use": "nothing"}
    columns = {"a": "number", "born": born, "y": {"type": "number", "use": "target"}}
    opened = read_table(source if stored else tmp_path / "t.csv", schema=nolook.Schema(columns))
    assert opened.feature_names == ("a",)


@pytest.mark.parametrize(
    ("header", "hint"),
    [
        ("a;b", r"a ; in it: is that the delimiter\? schema=nolook.Schema\(delimiter=';'\)"),
        ("a\tb", r"a tab in it: .*delimiter='\\t'"),
        ("a|b", r"a \| in it: .*delimiter='\|'"),
        ("a;b,c", "check the name"),
    ],
)
def test_a_header_of_one_name_asks_about_the_delimiter(tmp_path, header, hint):
    (tmp_path / "t.csv").write_text(f"{header}\n1\n")
    with pytest.raises(TableError, match=hint):
        read_table(tmp_path / "t.csv", features=["x"])


@pytest.mark.parametrize(
    ("values", "positive", "message"),
    [
        ([1.5, 2.5], "yes", "positive is 'yes', but 'y' is of type number; expected"),
        ([1, 2], "yes", "positive is 'yes', but 'y' is of type integer; expected"),
        ([True, False], "yes", "'y' has the declared values true"),
        (["a", "b"], "a", "negative is not given, but 'y' may have several values other than 'a'"),
        ([1, 2], "2", "negative is not given"),
        (["a", "b"], "", "is not a string"),
        (["a", "b"], 1, "is not a string"),
    ],
)
def test_a_value_that_cannot_count_as_one_is_refused(values, positive, message):
    table = pa.table({"a": [1.0, 2.0], "y": values})
    with pytest.raises(ParameterError, match=message):
        read_table(table, "y", positive=positive)


def test_words_for_nothing_stay_missing_in_a_target_of_words(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n1,yes\n2,no\n3,NA\n")
    schema = nolook.Schema({"y": {"type": "text", "missing": ["NA"]}})
    opened = read_table(
        tmp_path / "t.csv", "y", features=["a"], schema=schema, missing="drop-row",
        positive="yes", negative="...",
    )  # fmt: skip
    assert [batch.tolist() for batch in opened.batches()] == [[[1, 2], [1, 0]]]


def test_false_stands_for_no_target_and_no_unit_whatever_is_declared():
    columns = {"y": {"type": "number", "use": "target"}, "who": {"type": "text", "use": "unit"}}
    frame = pa.table({"x": [1.0, 2.0], "y": [3.0, 4.0], "who": ["a", "a"]})
    schema = nolook.Schema(columns)
    whole = nolook.read_table(frame, features=["x"], schema=schema)
    assert (whole.target_name, whole.unit.column) == ("y", "who")
    alone = nolook.read_table(frame, False, features=["y"], schema=schema, unit=False)
    assert (alone.column_names, alone.unit.column) == (("y",), None)


def test_survey_weights_are_those_of_the_schema_unless_others_are_given():
    columns = {"w": {"type": "number", "use": "weights"}, "a": "number"}
    declared = nolook.Schema(columns)
    table = pa.table({"a": [1.0, 2.0], "w": [3.0, 4.0], "v": [1.0, 1.0], "y": [0.0, 1.0]})
    opened = read_table(table, "y", schema=declared)
    assert opened.unit.weighting.column == "w"
    assert opened.feature_names == ("a", "v")
    without = read_table(table, "y", schema=declared, weights=False)
    assert (without.unit.weighting, without.feature_names) == (None, ("a", "v"))
    assert read_table(table, "y", schema=declared.without(["w"])).unit.weighting is None
    with pytest.raises(ParameterError, match="weights is 'v', but the schema's is 'w'"):
        read_table(table, "y", schema=declared, weights="v")
    kept = opened.read_options()["schema"]["columns"]
    assert kept.keys() == {"a"}
    with pytest.raises(ParameterError, match="takes no weights"):
        nolook.KendallSelector(1).fit(opened)


@pytest.mark.parametrize("kind", ["category", "text", "identifier"])
def test_weights_are_numbers(kind):
    with pytest.raises(ParameterError, match="use is 'weights' for"):
        nolook.Schema({"w": {"type": kind, "use": "weights"}})
