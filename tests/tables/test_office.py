"""Sheets and files of SPSS, Stata and SAS are read as text files and typed files are."""

from __future__ import annotations

import datetime as dt
import pickle
import sys

import numpy as np
import openpyxl
import pandas as pd
import pyreadstat
import pytest

import nolook
from nolook.errors import ParameterError, TableError
from nolook.owner.draft import draft_schema

COLUMNS = {
    "x": [0.1 + 0.2, 1 / 3, None, 1e-12],
    "sex": [1.0, 2.0, None, 3.0],
    "age": [30.0, -99.0, 41.0, 22.0],
    "name": ["Zürich", "", "no\u00e9l", "x"],
    "day": pd.to_datetime(["2024-01-31", "1700-01-01", None, "1969-12-31"]).astype(
        "datetime64[ns]"
    ),
}
LABELS = {"sex": {1: "male", 2: "female"}, "age": {-99: "refused"}}


def cells(path, *names, **options):
    source = nolook.read_table(path, features=["x"], **options)._source.original
    rows = [row for batch in source.batches(list(names)) for row in batch.to_pylist()]
    return [[row[name] for row in rows] for name in names]


def sav(folder, labels=LABELS):
    pyreadstat.write_sav(
        pd.DataFrame(COLUMNS), folder / "t.sav", variable_value_labels=labels,
        variable_measure={"sex": "nominal", "age": "scale"}, variable_format={"day": "DATE11"},
    )  # fmt: skip
    return folder / "t.sav"


def dta(folder):
    pyreadstat.write_dta(pd.DataFrame(COLUMNS), folder / "t.dta", variable_value_labels=LABELS)
    return folder / "t.dta"


def test_columns_of_spss_are_numbers_dates_and_the_words_of_codes(tmp_path):
    x, sex, age, name, day = cells(sav(tmp_path), *COLUMNS)
    assert x == COLUMNS["x"]
    assert sex == ["male", "female", None, "3"]
    assert age == COLUMNS["age"]  # measured on a scale
    assert name == COLUMNS["name"]
    days = [dt.date(2024, 1, 31), dt.date(1700, 1, 1), None]
    assert day == [*days, dt.date(1969, 12, 31)]


def test_columns_of_stata(tmp_path):
    x, age, name, day = cells(dta(tmp_path), "x", "age", "name", "day")
    assert x == COLUMNS["x"]
    assert age == ["30", "refused", "41", "22"]  # as a number, a word is a missing value
    assert name == COLUMNS["name"]
    assert day[0].isoformat() == "2024-01-31T00:00:00"
    table = nolook.read_table(tmp_path / "t.dta", features=["age"], missing="drop-row",
                              schema=nolook.Schema({"age": "number"}))  # fmt: skip
    assert np.concatenate(list(table.batches()), axis=1).tolist() == [[30.0, 41.0, 22.0]]


def test_labels_are_drafted_as_levels(tmp_path):
    text = draft_schema(sav(tmp_path)).text
    assert '[columns."sex"]' in text
    assert 'levels = ["male", "female"]\n\n' in text  # another code has no label
    text = draft_schema(sav(tmp_path, {"sex": {1: "male", 2: "female", 3: "other"}})).text
    assert 'levels = ["male", "female", "other"]\nundeclared = "missing"\n' in text


def test_a_text_of_wrong_bytes_is_a_text_of_its_own(tmp_path):
    raw = sav(tmp_path).read_bytes()
    whole = cells(tmp_path / "t.sav", "x")
    assert raw.count("é".encode()) == 1
    for wrong in (b"\xff\xfe", b"\xfe\xff"):
        (tmp_path / "t.sav").write_bytes(raw.replace("é".encode(), wrong))
        assert cells(tmp_path / "t.sav", "x") == whole
        source = nolook.read_table(tmp_path / "t.sav", features=["x"])._source.original
        (batch,) = source.batches(["name"])
        assert batch.column(0).view("large_binary").to_pylist()[2] == b"no" + wrong + b"l"


def sheet(path, rows, **others):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for place, value in others.items():
        book.active[place] = value
    book.create_sheet("second").append(["another"])
    book.save(path)
    return path


ROWS = [
    ["x", "when", "n", "ok"],
    [1.5, dt.datetime.fromisoformat("2024-01-31 12:00"), 7, True],
    [None, None, None, None],
    [1 / 3, dt.datetime.fromisoformat("2024-02-01"), 8, False],
]


def test_cells_of_a_sheet_are_what_a_text_file_would_have(tmp_path):
    path = sheet(tmp_path / "t.xlsx", ROWS, G2="beside")
    x, when, n, ok = cells(path, "x", "when", "n", "ok")
    assert [float(each) for each in x] == [1.5, 1 / 3]
    assert when == ["2024-01-31 12:00:00", "2024-02-01 00:00:00"]
    assert n == ["7", "8"]
    assert ok == ["true", "false"]
    text = draft_schema(path).text
    assert 'type = "datetime"\npattern = "%Y-%m-%d %H:%M:%S"' in text
    assert "skip" not in text


def test_a_title_above_a_sheet_is_skipped(tmp_path):
    path = sheet(tmp_path / "t.xlsx", [["Ward report 2024"], [], *ROWS])
    draft = draft_schema(path)
    assert "skip = 1" in draft.text
    assert draft.found[0] == "A title stands above the header: skip = 1."
    assert cells(path, "n", schema=nolook.Schema({"x": "number"}, skip=1)) == [["7", "8"]]


def test_no_cell_of_a_sheet_decides_a_type_or_an_error(tmp_path):
    for cell in ("text", "=1/0", -5, dt.time(3, 4), dt.timedelta(2), 1e300, "a\nb"):
        path = sheet(tmp_path / "t.xlsx", ROWS, A4=cell)
        table = nolook.read_table(path, features=["x", "n"], missing="drop-row")
        assert [column.declared for column in table._source.columns][:1] == ["number"]
        assert np.concatenate(list(table.batches()), axis=1)[:, 0].tolist() == [1.5, 7.0]


@pytest.mark.parametrize("number", [1e10, -1e300])
@pytest.mark.parametrize("form", ["yyyy-mm-dd", "[h]:mm"])
def test_no_date_or_duration_of_a_sheet_is_an_error(form, number, tmp_path, capfd):
    path = sheet(tmp_path / "t.xlsx", ROWS)
    book = openpyxl.load_workbook(path)
    book.active["B3"], book.active["B3"].number_format = number, form
    book.save(path)
    table = nolook.read_table(path, features=["x", "n"], missing="drop-row")
    assert np.concatenate(list(table.batches()), axis=1)[1].tolist() == [7.0, 8.0]
    assert table.left_out() == 1
    assert capfd.readouterr() == ("", "")


def test_no_cell_of_a_sheet_moves_other_columns(tmp_path):
    schema = nolook.Schema({"died": "number", "x": "number"}, header=False)
    for cell in (None, 1.0):
        path = sheet(tmp_path / "t.xlsx", [[None, 5.0], [None, 6.0]], A2=cell)
        assert cells(path, "x", schema=schema) == [["5", "6"]]


def test_numbers_of_a_sheet_are_numbers_whatever_the_decimal_sign(tmp_path):
    rows = [["w", "t"], [211.137, "211,137"], [1.5, "1.234,5"], [2000.0, "3"], [1e-7, "x"]]
    path = sheet(tmp_path / "t.xlsx", rows)
    columns = {name: {"type": "number"} for name in ("w", "t")}
    schema = {"file": {"decimal": ",", "thousands": "."}, "columns": columns}
    table = nolook.read_table(path, features=["w", "t"], schema=schema, missing="zero")
    numbers = np.concatenate([each for each, *_ in table.batches_in_place()], axis=1)
    np.testing.assert_array_equal(numbers[0], [211.137, 1.5, 2000.0, 1e-7])
    np.testing.assert_array_equal(numbers[1], [211.137, 1234.5, 3.0, 0.0])


def test_a_column_of_a_sheet_may_have_a_decimal_sign_of_its_own(tmp_path):
    path = sheet(tmp_path / "t.xlsx", [["w", "t"], [1.5, 2.5], ["3,25", "4.25"]])
    for header in (True, False):
        columns = {"w": {"type": "number", "decimal": ","}, "t": {"type": "number"}}
        file = {} if header else {"header": False, "skip": 1}
        schema = {"file": file, "columns": columns}
        table = nolook.read_table(path, features=["w", "t"], schema=schema)
        (numbers,) = [each for each, *_ in table.batches_in_place()]
        np.testing.assert_array_equal(numbers, [[1.5, 3.25], [2.5, 4.25]])


@pytest.mark.parametrize("make", [sav, dta, lambda folder: sheet(folder / "t.xlsx", ROWS)])
def test_a_source_travels_without_what_is_kept_of_it(make, tmp_path):
    source = nolook.read_table(make(tmp_path), features=["x"])._source.original
    first = [batch.to_pylist() for batch in source.batches(["x"])]
    again = pickle.loads(pickle.dumps(source))
    assert [batch.to_pylist() for batch in again.batches(["x"])] == first


@pytest.mark.parametrize("name", ["t.xlsx", "t.sav", "t.dta", "t.sas7bdat", "t.ods"])
def test_a_damaged_file_is_refused_in_one_line(name, tmp_path):
    (tmp_path / name).write_bytes(b"nothing of the kind")
    with pytest.raises(TableError, match="is not a readable") as caught:
        nolook.read_table(tmp_path / name, features=["x"])
    assert "\n" not in str(caught.value)
    with pytest.raises(TableError, match="is not a readable"):
        draft_schema(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "module"), [("t.xlsx", "python_calamine"), ("t.sav", "pyreadstat")]
)
def test_a_library_that_is_not_installed_is_named(name, module, tmp_path, monkeypatch):
    (tmp_path / name).write_bytes(b"")
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ParameterError, match=r"pip install 'nolook\[files\]'"):
        nolook.read_table(tmp_path / name, features=["x"])


def test_whole_numbers_of_spss_may_identify_persons(tmp_path):
    ids = [7.0, 7.0, 8.5, None, 2.0**53, 9.0]
    pyreadstat.write_sav(
        pd.DataFrame({"who": ids, "x": ids, "y": ids}), tmp_path / "t.sav",
        variable_format={"who": "F8.0", "x": "F8.0"}, variable_measure={"x": "scale"},
    )  # fmt: skip
    assert cells(tmp_path / "t.sav", "who", "x", "y") == [[7, 7, None, None, None, 9], ids, ids]
    assert nolook.read_table(tmp_path / "t.sav", features=["x"], unit="who").count_units() == 2
    with pytest.raises(TableError, match="expected text or integers"):
        nolook.read_table(tmp_path / "t.sav", features=["x"], unit="y")


def test_labels_of_columns_are_drafted_unless_two_are_alike(tmp_path):
    labels = ["Income", "Same", "Same", "a"]
    pyreadstat.write_sav(
        pd.DataFrame({name: [1.0, 2.0] for name in "abcd"}),
        tmp_path / "t.sav",
        column_labels=labels,
    )
    drafted = draft_schema(tmp_path / "t.sav").content["columns"]
    assert [drafted[name].get("label") for name in "abcd"] == ["Income", None, None, None]
    nolook.Schema(drafted)


def test_two_codes_with_one_label_are_two_units(tmp_path):
    ids = [1.0, 2.0, 3.0, 5.0, 6.0]
    labels = {1: "Ann Lee", 2: "Ann Lee", 3: "5"}
    pyreadstat.write_sav(
        pd.DataFrame({"x": ids, "who": ids}), tmp_path / "t.sav",
        variable_value_labels={"who": labels}, variable_measure={"who": "nominal"},
    )  # fmt: skip
    table = nolook.read_table(tmp_path / "t.sav", features=["x"], unit="who")
    assert table.count_units() == 5
    assert cells(tmp_path / "t.sav", "who")[0][:2] == ["Ann Lee (1)", "Ann Lee (2)"]


def test_a_text_is_no_number_of_a_sheet_where_units_are_compared(tmp_path):
    book = openpyxl.Workbook()
    found = [1, "1", "1 ", 2.5, "2.5", True, "true", "x", "x "]
    for row in [["x", "who"], *([i, each] for i, each in enumerate(found))]:
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    table = nolook.read_table(tmp_path / "t.xlsx", features=["x"], unit="who")
    assert table.count_units() == len(found)
    schema = nolook.Schema({"who": {"type": "category", "levels": ["1", "2.5"]}, "x": "number"})
    read = nolook.read_table(tmp_path / "t.xlsx", features=["who"], schema=schema)
    codes = np.concatenate(list(read.batches()), axis=1)
    assert codes.tolist()[0] == [0, 0, 0, 1, 1, 0, 0, 0, 0]
