"""Conditions choose rows, each judged by itself, and the same ones wherever the table is."""

from __future__ import annotations

import datetime as dt
import html
import itertools
import json
import operator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nolook
import nolook.cli
from nolook.errors import NolookError, ParameterError
from nolook.tables.filter import check_where, read_condition
from tests.tables.database_places import DATABASES

ROWS = 60
SIGNS = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda cell, values: cell in values,
    "not in": lambda cell, values: cell not in values,
}


def rows() -> pa.Table:
    rng = np.random.default_rng(3)
    words = ["a", "it's", "A", "x,y", "Ä", "North East", None]

    def gaps(cells):
        missing = rng.random(ROWS) < 0.2
        return [None if gap else cell for cell, gap in zip(cells, missing, strict=True)]

    return pa.table(
        {
            "id": pa.array(range(ROWS)),
            "n": pa.array(gaps(rng.integers(-3, 4, ROWS).tolist())),
            "x": pa.array(gaps(rng.normal(size=ROWS).round(1).tolist())),
            "word": pa.array([words[i] for i in rng.integers(0, len(words), ROWS)]),
            "flag": pa.array(gaps((rng.random(ROWS) < 0.5).tolist())),
        }
    )


TABLE = rows()


def chosen(source: object, where: object, **options: object) -> list[int]:
    table = nolook.read_table(source, features=["id"], where=where, **options)
    return [int(x) for batch in table.batches() for x in batch[0]]


def as_declared(cell, value):
    """Return a text as the one word of a condition that differs from it in case only, if any."""
    words = {*value} if isinstance(value, list) else {value}
    alike = [] if cell in words else [w for w in words if str(w).lower() == str(cell).lower()]
    return alike[0] if len(alike) == 1 else cell


def expected(where) -> list[int]:
    def meets(row, name, sign, value):
        cell = as_declared(row[name], value) if name == "word" else row[name]
        return row[name] is not None and SIGNS[sign](cell, value)

    return [row["id"] for row in TABLE.to_pylist() if all(meets(row, *each) for each in where)]


NUMBERS = st.sampled_from([0, -1, 2, 1.5, -0.3, 99999999999, 2**70, -1e300])
WORDS = st.sampled_from(["a", "it's", "", "Ä", "zz", "A", "North East"])
ORDERS = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
AMONG = st.sampled_from(["in", "not in"])
CONDITION = st.one_of(
    st.tuples(st.sampled_from(["n", "x", "id"]), ORDERS, NUMBERS),
    st.tuples(st.sampled_from(["n", "x", "id"]), AMONG, st.lists(NUMBERS, min_size=1, max_size=3)),
    st.tuples(st.just("word"), st.sampled_from(["=", "!="]), WORDS),
    st.tuples(st.just("word"), AMONG, st.lists(WORDS, min_size=1, max_size=3)),
    st.tuples(st.just("flag"), st.sampled_from(["=", "!="]), st.booleans()),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(CONDITION, min_size=1, max_size=3))
def test_the_rows_are_those_that_meet_every_condition(where):
    assert chosen(TABLE, where) == expected(where)


MIXED = [("n", ">=", -1), ("word", "not in", ["a", "zz"]), ("flag", "=", True)]


@pytest.mark.parametrize("name", ["parquet", "pandas", "stream", *DATABASES])
def test_the_rows_are_the_same_wherever_the_table_is(name, tmp_path):
    pq.write_table(TABLE, tmp_path / "t.parquet")
    source = {
        "parquet": lambda: tmp_path / "t.parquet",
        "pandas": lambda: TABLE.to_pandas().convert_dtypes(),
        "stream": TABLE.to_reader,
        **{each: lambda keep=keep: keep(TABLE, tmp_path) for each, keep in DATABASES.items()},
    }[name]()
    assert sorted(chosen(source, MIXED)) == expected(MIXED) != []


def test_cells_of_a_text_file_are_compared_as_declared(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "id,age,region,day,cost,sex\n"
        "0,20,North,01.02.2024,1 234,yes\n"
        "1,17,South,31.12.2023,900,no\n"
        "2,,North,,x,\n"
        "3,50,NA,01.03.2024,5,perhaps\n"
        "4,18, North ,02.02.2024,1 235,yes\n"
        "5,41,,05.02.2024,2,no\n"
    )
    schema = {
        "file": {"missing": ["NA"]},
        "columns": {
            "id": "number",
            "day": {"type": "date", "pattern": "%d.%m.%Y"},
            "cost": {"type": "number", "thousands": " "},
            "sex": {"type": "boolean", "true": ["yes"], "false": ["no"]},
        },
    }
    for where, found in [
        ([("age", ">=", 18)], [0, 3, 4, 5]),  # nothing declared, and compared with a number
        ([("age", ">=", "18")], [0, 3, 4, 5]),
        ([("region", "=", "North")], [0, 2, 4]),
        ([("region", "!=", "North")], [1]),
        ([("day", ">", "2024-01-31"), ("day", "<", "2024-02-05")], [0, 4]),
        ([("day", "<=", dt.date(2024, 2, 1))], [0, 1]),
        ([("cost", ">", 1234)], [4]),
        ([("sex", "=", "yes")], [0, 4]),
        ([("sex", "!=", True)], [1, 5]),
        ([("sex", "in", ["no", "true"])], [0, 1, 4, 5]),
    ]:
        assert chosen(path, where, schema=schema) == found, where


def test_dates_and_long_integers_are_compared_as_they_are():
    days = [dt.datetime.fromisoformat(f"2024-01-0{i}") for i in (1, 2, 3)]
    kinds = (pa.timestamp("ns"), pa.timestamp("s", "UTC"), pa.date32(), pa.date64())
    for kind, coded in itertools.product(kinds, (False, True)):
        cells = pa.array(days).cast(kind)
        cells = cells.dictionary_encode() if coded else cells
        table = pa.table({"id": [0, 1, 2], "day": cells})
        assert chosen(table, [("day", ">=", "2024-01-02")]) == [1, 2]
        assert chosen(table, [("day", "in", [dt.date(2024, 1, 3)])]) == [2]
    wide = pa.table({"id": [0, 1], "k": [2**53, 2**53 + 1]})
    assert chosen(wide, [("k", "=", 2**53 + 1)]) == [1]
    assert chosen(wide, [("k", ">", str(2**53))]) == [1]
    unsigned = pa.table({"id": [0, 1], "k": pa.array([1, 2**64 - 1], pa.uint64())})
    assert chosen(unsigned, [("k", ">", 2)]) == [1]
    infinite = pa.table({"id": [0, 1, 2], "k": [np.inf, np.nan, 3.0]})
    assert chosen(infinite, [("k", "!=", 5)]) == [2]
    coded = pa.table({"id": [0, 1], "k": pa.array(["a", "b"]).dictionary_encode()})
    assert chosen(coded, [("k", "=", "b")]) == [1]
    broken = pa.array([b"\xff", b"b"]).view(pa.string())
    assert chosen(pa.table({"id": [0, 1], "k": broken}), [("k", "!=", "a")]) == [0, 1]


@pytest.mark.parametrize("sign", ["=", "!=", "<", "<=", ">", ">=", "in", "not in"])
def test_no_number_is_an_error_for_a_number_of_another_kind(sign):
    """Whatever the cells: an error would tell of them."""
    wide = 2**60 + 1
    columns = {
        "int64": pa.array([1, 2, wide]),
        "uint64": pa.array([1, 2, wide], pa.uint64()),
        "int8": pa.array([1, 2, 127], pa.int8()),
        "double": pa.array([1.0, 2.0, 1e300]),
        "decimal": pa.array([1, 2, wide]).cast(pa.decimal128(30, 2)),
    }
    orders = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
    equal = {"=": operator.eq, "in": operator.eq}.get(sign, operator.ne)
    for name, cells in columns.items():
        table = pa.table({"id": [0, 1, 2], "k": cells})
        for word in (1.5, 2, 1e30, 2**53 + 1, -(2**70), "9007199254740993"):
            compare = orders.get(sign, equal)
            expected = [i for i, cell in enumerate(cells) if compare(cell.as_py(), float(word))]
            value = [word] if "in" in sign else word
            assert chosen(table, [("k", sign, value)]) == expected, (name, word)


@pytest.mark.parametrize("unit", ["us", "ns"])
def test_times_are_compared_to_the_microsecond(unit):
    first = dt.datetime.fromisoformat("2024-03-10T17:05:03.123456")
    times = [first + dt.timedelta(microseconds=7 * i) for i in range(150)]
    table = pa.table({"id": range(150), "k": pa.array(times).cast(pa.timestamp(unit))})
    for i in range(0, 150, 11):
        assert chosen(table, [("k", "=", times[i].isoformat())]) == [i]
        assert chosen(table, [("k", "<=", times[i].isoformat())]) == [*range(i + 1)]
        assert chosen(table, [("k", "<", times[i].isoformat())]) == [*range(i)]


def test_cells_of_every_kind_of_column_can_be_left_out():
    """Also views, which Arrow cannot choose among, and texts that are not UTF-8."""
    words = [b"a", b"\xff", b"c"]
    kinds = {
        "view": pa.array(["a", "b", "c"]).cast(pa.string_view()),
        "coded": pa.array(["a", "b", "a"]).dictionary_encode(),
        "coded view": pa.DictionaryArray.from_arrays(
            pa.array([0, 1, 0], pa.int8()), pa.array(["a", "b"]).cast(pa.string_view())
        ),
        "raw": pa.array(words).view(pa.string()),
    }
    for cells in kinds.values():
        table = pa.table({"x": [0.0, 1.0, 2.0], "who": cells, "k": [1, 2, 1]})
        read = nolook.read_table(table, features=["x"], unit="who", where=[("k", "=", 1)])
        assert [batch.tolist() for batch, *_ in read.batches_of_units()] == [[[0.0, 2.0]]]
        assert chosen(table.rename_columns(["id", "who", "k"]), [("who", "!=", "b")])


def test_a_missing_value_in_another_row_is_no_error():
    table = pa.table({"id": [0.0, None, 2.0], "k": [1, 2, 1]})
    assert chosen(table, [("k", "=", 1)]) == [0, 2]
    empty = nolook.read_table(table, features=["id"], where=[("k", "=", 2)])
    assert not list(empty.batches())
    assert empty.left_out() == 1  # of the rows that meet the condition


def test_the_number_of_rows_that_are_left_is_private():
    table = nolook.read_table(TABLE, features=["id"], where=[("id", "<", 5)])
    assert table.may_drop_rows()
    model = nolook.ECDF(epsilon=1.0, relation="replace")
    with pytest.raises(ParameterError, match="relation"):
        model.fit(table)


def test_units_and_folds_are_those_of_the_rows_in_use():
    table = pa.table({"x": np.arange(12.0), "person": [1, 1, 2, 2, 3, 3] * 2})
    read = nolook.read_table(table, features=["x"], unit="person", where=[("person", "!=", 2)])
    assert read.count_units() == 2
    assert sum(np.bincount(units).tolist()[0] for *_, units in read.batches_of_units()) == 4


def test_columns_kept_beside_are_those_of_the_same_rows():
    read = nolook.read_table(TABLE, features=["x"], where=MIXED, missing="drop-row")
    (batch,) = read.batches_in_place(["id", "word"])
    assert batch[2][0].to_pylist() == expected(MIXED)
    assert len(batch[1]) == len(batch[2][1]) == len(expected(MIXED))
    views = pa.table({"x": [1.0, 2.0], "who": pa.array(["a", "b"]).cast(pa.string_view())})
    read = nolook.read_table(views, features=["x"], where=[("x", ">", 1)])
    ((_, _, (cells,)),) = read.batches_in_place(["who"])
    assert cells.to_pylist() == ["b"]
    assert read.fields_beside(["who"]) == [pa.field("who", cells.type)]


@pytest.mark.parametrize(
    ("where", "words"),
    [
        (5, "a list of at most 200 conditions"),
        ({"x": 0}, "a list of at most 200 conditions"),
        ([("x", "=", 0)] * 201, "a list of at most 200 conditions"),
        ("age", "COLUMN SIGN VALUE"),
        (("age", ">=", 18), "COLUMN SIGN VALUE"),
        ([("x", "=")], "not a column, a sign and a value"),
        ([("x", "~", 1)], "not a column, a sign and a value"),
        ([(1, "=", 1)], "not a column, a sign and a value"),
        ([("x", "in", 5)], "expected a list"),
        ([("x", "=", [5])], "expected one value"),
        ([("x", "in", [])], "none, or more than"),
        ([("x", "=", None)], "a missing value"),
        ([("x", "=", float("nan"))], "a missing value"),
        ([("absent", "=", 1)], "no such column"),
        ([("x", "=", "word")], "expected a number"),
        ([("word", "<", "b")], "strings or booleans"),
        ([("flag", "=", "perhaps")], "expected true or false"),
        ([("flag", ">", True)], "strings or booleans"),
    ],
)
def test_what_is_no_condition_is_refused_in_one_line(where, words):
    with pytest.raises(NolookError, match=words) as caught:
        nolook.read_table(TABLE, features=["id"], where=where)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("age >= 18", ("age", ">=", "18")),
        ("age>=18", ("age", ">=", "18")),
        ("region = 'North East'", ("region", "=", "North East")),
        ('"odd = name" != a=b', ("odd = name", "!=", "a=b")),
        ("region in North, South", ("region", "in", ["North", "South"])),
        ("region not  in (1,2)", ("region", "not in", ["1", "2"])),
        ("in = 5", ("in", "=", "5")),
        ("day == 2024-01-31", ("day", "==", "2024-01-31")),
    ],
)
def test_conditions_are_read_as_they_are_written(text, read):
    assert read_condition(text) == read
    assert check_where([read]) == check_where([text]) == check_where(text)


@pytest.mark.parametrize("text", ["", "age", "age >=", ">= 5", "age ~ 5", "in North"])
def test_what_is_not_written_so_is_refused(text):
    with pytest.raises(ParameterError, match="COLUMN SIGN VALUE"):
        read_condition(text)


@pytest.mark.parametrize(
    "words",
    [
        ("ecdf", "--column", "x", "--missing", "drop-row"),
        ("compare-groups", "--value", "x", "--by", "flag"),
        ("survival", "--time", "x", "--event", "flag"),
    ],
)
def test_a_release_says_which_rows_it_is_about(tmp_path, monkeypatch, capfd, words):
    """On the page, in the terminal, the summary, the frame, the file and the ledger."""

    def first_words():
        return " ".join(capfd.readouterr().out.split())[:120]

    monkeypatch.chdir(tmp_path)
    pq.write_table(TABLE, tmp_path / "survey.parquet")
    nolook.Ledger.create("l", nolook.Budget(9.0, 1e-3), name="l").close()
    said = "survey.parquet, rows where word in a, A and n >= -1"
    command = (words[0], "survey.parquet", *words[1:], "--epsilon", "5")
    where = ("--where", "word in a,A", "--where", "n >= -1")
    assert nolook.cli._run([*command, *where, "--dry-run"]) == 0
    assert f"of {said}." in first_words()
    written = ("--ledger", "l", "--output", "x.json", "--report", "x.html")
    assert nolook.cli._run([*command, *where, *written]) == 0
    assert said in first_words()
    page = html.unescape((tmp_path / "x.html").read_text())
    assert said in page
    assert '"nolook tabulate --by" releases all groups at the cost of one.' in page
    found = nolook.load("x.json")
    assert said in " ".join(str(found.summary()).split())
    assert found.to_frame().attrs == {
        "table": "survey.parquet",
        "where": "word in a, A and n >= -1",
    }
    privacy = json.loads((tmp_path / "x.json").read_text())["privacy"]
    assert (privacy["table"], privacy["where"]) == ("survey.parquet", "word in a, A and n >= -1")
    with nolook.Ledger("l") as ledger:
        (entry,) = ledger.history()
    assert entry.details.table == said
    assert nolook.cli._run(["show", "x.json"]) == 0
    assert said in first_words()


def test_disjoint_filters_add_up_in_a_ledger(tmp_path):
    with nolook.Ledger.create(tmp_path / "l", nolook.Budget(3.0, 1e-3), name="l") as ledger:
        for sign in ("<", ">="):
            read = nolook.read_table(TABLE, features=["id"], where=[("id", sign, 30)])
            nolook.ECDF(epsilon=1.0).fit(read, ledger=ledger)
        assert ledger.spent.epsilon == 2.0


def test_predictions_are_of_the_rows_in_use(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(TABLE, tmp_path / "t.parquet")
    rng = np.random.default_rng(0)
    data = pa.table({"id": rng.normal(size=900), "y": rng.normal(size=900)})
    model = nolook.LinearRegression(epsilon=9.0, delta=1e-6).fit(nolook.read_table(data, "y"))
    nolook.save(model, "m.json")
    command = ["predict", "--model", "m.json", "t.parquet", "--where", "id < 7", "--keep", "id"]
    assert nolook.cli._run([*command, "--output", "p.parquet"]) == 0
    assert pq.read_table("p.parquet").column("id").to_pylist() == [*range(7)]


@pytest.mark.parametrize(("sign", "met"), [("=", 3), ("in", 3), ("!=", 1), ("not in", 1)])
def test_blanks_around_a_word_are_left_out_as_they_are_around_cells(sign, met):
    rows = pa.table({"x": [1.0] * 5, "w": ["north", " north", "North ", "south", None]})
    for word in (" north", "north\t", "NORTH "):
        value = [word] if sign.endswith("in") else word
        read = nolook.read_table(rows, False, features=["x"], where=[("w", sign, value)])
        assert sum(batch.shape[1] for batch in read.batches()) == met
