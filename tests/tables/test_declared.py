"""A declared table gives each row by itself, however it is written, cut or compressed."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import math
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nolook
from nolook.errors import ParameterError, TableError
from nolook.tables import csv, read_table
from nolook.tables.csv import CsvFile
from nolook.tables.files import place_of

in_one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])

COLUMNS = {
    "a": {"type": "number", "decimal": ",", "thousands": ".", "currency": ["€"]},
    "b": {"type": "boolean", "true": ["ja"], "false": ["nein"]},
    "c": {"type": "category", "levels": ["Ä", "B"]},
    "d": {"type": "date", "pattern": "%d.%m.%Y"},
}
ENCODINGS = ("utf-8", "latin-1", "cp1252", "utf-16-le", "utf-16-be", "iso8859-15", "mac-roman")
ENDINGS = (".csv", ".csv.gz", ".csv.zst")
LETTERS = "0123456789.,;|\"'#% \tÄB€jaNA-+e\x00\ufffd"
CELL = st.one_of(
    st.sampled_from(
        ["1.234,5 €", "-7,25", "ja", "nein", "Ä", "B", "29.02.2024", "", '"ja"', "'B'"]
    ),
    st.text(LETTERS, max_size=8),
)
LINE = st.one_of(st.lists(CELL, min_size=4, max_size=4), st.lists(CELL, min_size=1, max_size=6))


def store(path, content):
    """Write bytes, compressed as the path's name says."""
    if path.name.endswith(".gz"):
        path.write_bytes(gzip.compress(content, 1))
    elif path.name.endswith(".zst"):
        with pa.CompressedOutputStream(str(path), "zstd") as stream:
            stream.write(content)
    else:
        path.write_bytes(content)
    return path


def rows_of(path, schema, **options):
    """Every row of numbers, NaN where one is missing."""
    opened = read_table(path, schema=schema, missing="zero", **options)
    found = [numbers.copy() for numbers, *_ in opened.batches_in_place()]
    return np.concatenate(found, axis=1).T if found else np.empty((0, opened.n_columns))


@st.composite
def forms(draw):
    """How a file may be written."""
    return {
        "delimiter": draw(st.sampled_from([";", "\t", "|", ",", "^", "~", ":"])),
        "quote": draw(st.sampled_from(['"', "'", None])),
        "comment": draw(st.sampled_from([None, "#", "%"])),
        "encoding": draw(st.sampled_from(ENCODINGS)),
    }


def is_row(line, form):
    """Whether a line is neither blank nor a comment."""
    return bool(line) and not (form["comment"] and line.startswith(form["comment"]))


@in_one_folder
@given(
    form=forms(), lines=st.lists(LINE, max_size=8), ending=st.sampled_from(ENDINGS),
    block=st.sampled_from([1, 5, 16, 1 << 21]), data=st.data(),
)  # fmt: skip
def test_a_row_gives_what_its_line_says_alone(tmp_path, form, lines, ending, block, data):
    schema = nolook.Schema(COLUMNS, **form)
    lines = [form["delimiter"].join(cells) for cells in lines]
    end = data.draw(st.sampled_from(["\n", "\r\n", "\r"]))

    def read(some):
        text = end.join([form["delimiter"].join("abcd"), *some]) + end
        content = text.encode(form["encoding"], "replace")
        return rows_of(store(tmp_path / f"t{ending}", content), schema)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv, "_BLOCK", block)
        whole = read(lines)
    alone = [read([line]) for line in lines]
    assert [len(rows) for rows in alone] == [is_row(line, form) for line in lines]
    np.testing.assert_array_equal(whole, np.concatenate([np.empty((0, 5)), *alone]))
    left_out = data.draw(st.integers(0, len(lines)))
    without = read(lines[:left_out] + lines[left_out + 1 :])
    np.testing.assert_array_equal(
        without, np.concatenate([np.empty((0, 5)), *alone[:left_out], *alone[left_out + 1 :]])
    )


@in_one_folder
@given(
    body=st.binary(max_size=60), encoding=st.sampled_from(ENCODINGS[:3]), form=forms(),
    ending=st.sampled_from(ENDINGS), block=st.integers(1, 20), multiline=st.booleans(),
)  # fmt: skip
def test_any_bytes_are_rows(tmp_path, body, encoding, form, ending, block, multiline):
    """However many bytes are read at a time."""
    form["encoding"] = encoding
    schema = nolook.Schema(COLUMNS, **form, multiline=multiline)
    content = (form["delimiter"].join("abcd") + "\n").encode() + body
    path = store(tmp_path / f"t{ending}", content)
    whole = rows_of(path, schema)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv, "_BLOCK", block)
        np.testing.assert_array_equal(rows_of(path, schema), whole)


@in_one_folder
@given(lines=st.lists(st.binary(max_size=8), max_size=6), order=st.sampled_from(["le", "be"]))
def test_half_letters_of_utf_16_spoil_their_own_line(tmp_path, lines, order):
    """Pairs of bytes that are no letter, such as lone surrogates, are replaced one by one."""
    ends = ("\n".encode(f"utf-16-{order}"), "\r".encode(f"utf-16-{order}"))
    pairs = [[line[i : i + 2] for i in range(0, len(line) - 1, 2)] for line in lines]
    odd = [b"".join(pair for pair in line if pair not in ends) for line in pairs]
    good = "1;ja;Ä;29.02.2024".encode(f"utf-16-{order}")
    kept = [line for row in odd for line in (row, good)]
    content = ends[0].join(["a;b;c;d".encode(f"utf-16-{order}"), *kept])
    schema = nolook.Schema(COLUMNS, delimiter=";", encoding=f"utf-16-{order}")
    rows = rows_of(store(tmp_path / "t.csv", content), schema)
    day = (dt.date(2024, 2, 29) - dt.date(1970, 1, 1)).days
    assert (rows == [1, 1, 0, 0, day]).all(axis=1).sum() == len(lines)


@pytest.mark.parametrize("quote", ['"', "'"])
@pytest.mark.parametrize("delimiter", [";", "\t", "|", ",", "^", "~", ":"])
@in_one_folder
@given(cells=st.lists(st.text(LETTERS + "\n", max_size=6), min_size=2, max_size=5))
def test_quoted_cells_may_hold_anything(tmp_path, quote, delimiter, cells):
    cells = [cell.strip() for cell in cells]
    text = delimiter.join(f"{quote}{cell.replace(quote, 2 * quote)}{quote}" for cell in cells)
    names = [f"x{i}" for i in range(len(cells))]
    (tmp_path / "t.csv").write_text(delimiter.join(names) + f"\n{text}\n", "utf-8")
    form = nolook.Schema(delimiter=delimiter, quote=quote, multiline=True).file
    (batch,) = CsvFile(place_of(tmp_path / "t.csv"), form).batches(names)
    assert [column[0].as_py() for column in batch.columns] == cells


def test_a_file_without_a_header_has_the_schemas_columns(tmp_path):
    path = store(tmp_path / "t.csv", b"1,7,x\n2,8,y\n")
    columns = {"a": "number", "b": "integer", "c": {"type": "category", "levels": ["x", "y"]}}
    rows = rows_of(path, nolook.Schema(columns, header=False))
    assert rows.tolist() == [[1, 7, 0, 0], [2, 8, 1, 0]]
    with pytest.raises(ParameterError, match="expected the schema to declare all columns"):
        nolook.Schema(header=False)


def test_what_a_file_declares_is_for_columns_that_declare_no_other(tmp_path):
    columns = {
        "a": "number",
        "b": {"type": "number", "decimal": ".", "thousands": ","},
        "c": {"type": "integer", "missing": ["none"]},
        "d": {"type": "category", "levels": ["k. A.", "B", "..."]},
    }
    schema = nolook.Schema(columns, delimiter=";", decimal=",", thousands=".", missing=["k. A."])
    body = "a;b;c;d\n1.234,5;1,234.5;1.234;B\nk. A.;k. A.;k. A.;k. A.\n1;1;none;x\n"
    opened = read_table(store(tmp_path / "t.csv", body.encode()), schema=schema, missing="zero")
    assert opened.feature_names == ("a", "b", "c", "d=B", "d=...")
    (read,) = opened.batches()
    assert read.T.tolist() == [[1234.5, 1234.5, 1234, 1, 0], [0, 0, 0, 0, 0], [1, 1, 0, 0, 1]]


MERGED = {
    "type": "category",
    "levels": ["north", "south"],
    "merge": {"north": ["N", "Nord"], "south": ["S", "7"]},
}


@pytest.mark.parametrize("stored", ["csv", "text", "categorical"])
def test_words_of_a_level_are_merged_into_it_again_with_a_models_own_options(tmp_path, stored):
    cells = ["Nord", "S", " n ", "south", "7.0", "east", "North", ""]
    source = pa.table({"region": cells, "y": [*map(float, range(8))]})
    if stored == "csv":
        lines = [f"{cell},{y}" for y, cell in enumerate(cells)]
        source = store(tmp_path / "t.csv", "\n".join(["region,y", *lines]).encode())
    elif stored == "categorical":
        source = source.to_pandas().astype({"region": "category"})
    schema = nolook.Schema({"region": MERGED, "y": "number"})
    assert nolook.Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema
    opened = read_table(source, "y", schema=schema, missing="zero")
    again = read_table(source, "y", **opened.read_options())
    for each in (opened, again):
        assert each.feature_names == ("region=south", "region=...")
        (read,) = each.batches()
        assert read[0].tolist() == [0, 1, 0, 1, 1, 0, 0, 0]
        assert read[1].tolist() == [0, 0, 0, 0, 0, 1, 0, 1]
    for word in ("north", "Nord"):
        where = [("region", "=", word)]
        kept = read_table(source, "y", schema=schema, missing="zero", where=where)
        assert next(kept.batches())[-1].tolist() == [0, 2, 6]


@pytest.mark.parametrize(
    "merge", [{"west": ["W"]}, {"north": ["N"], "south": ["N"]}, {"north": ["south"]}, {"north": 3}]
)
def test_words_that_are_of_no_level_or_of_two_are_refused(merge):
    with pytest.raises(ParameterError, match=r"merge|north is 3"):
        nolook.Schema({"region": MERGED | {"merge": merge}})


DAYS = ["29.02.2024", "01.01.2023", "none", "31.12.2024"]
DATED = {
    "day": {"type": "date", "pattern": "%d.%m.%Y", "use": "nothing"},
    "year": {"year_of": "day"},
    "month": {"month_of": "day"},
    "weekday": {"weekday_of": "day"},
}


@pytest.mark.parametrize("origin", ["1970-01-01", "2024-01-01"])
@pytest.mark.parametrize("stored", ["csv", "text", "date"])
def test_parts_of_a_date_are_categories(tmp_path, stored, origin):
    days = [None if d == "none" else dt.date(*map(int, d.split(".")[::-1])) for d in DAYS]
    source = pa.table({"day": DAYS if stored == "text" else days})
    if stored == "csv":
        source = store(tmp_path / "t.csv", "\n".join(["day", *DAYS]).encode())
    schema = nolook.Schema(DATED | {"day": {**DATED["day"], "origin": origin}})
    opened = read_table(source, schema=schema, missing="zero")
    months = [f"month={i}" for i in range(2, 13)]
    weekdays = [f"weekday={day}" for day in ("Tue", "Wed", "Thu", "Fri", "Sat", "Sun")]
    assert opened.feature_names == ("year", *months, *weekdays)
    assert opened.binary[1:].all()
    (read,) = opened.batches()
    days = [day for day in days if day is not None]  # no month stands for one that is missing
    for day, (year, *marks) in zip(days, read.T, strict=True):
        expected = {f"month={day.month}", f"weekday={day:%a}"}
        found = {n for n, one in zip(opened.feature_names[1:], marks, strict=True) if one}
        assert found == expected & set(opened.feature_names)
        assert year == day.year


def test_features_name_the_date_or_its_parts(tmp_path):
    table = pa.table({"day": DAYS, "x": [1.0, 2.0, 3.0, 4.0]})
    schema = nolook.Schema({**DATED, "x": "number"})
    whole = read_table(table, features=["day", "month", "x"], schema=schema)
    assert whole.n_columns == 1 + 11 + 1
    part = read_table(table, features=["x", "weekday"], schema=schema)
    assert part.n_columns == 1 + 6
    assert {*part.read_options()["schema"]["columns"]} == {"day", "weekday", "x"}
    again = read_table(table, **part.read_options())
    assert again.feature_names == part.feature_names
    np.testing.assert_array_equal(next(again.batches()), next(part.batches()))


@pytest.mark.parametrize(
    ("use", "kind"),
    [("unit", "identifier"), *(("nothing", kind) for kind in ("identifier", "integer", "number"))],
)
def test_a_column_of_another_use_is_no_feature(tmp_path, use, kind):
    table = pa.table({"who": [1, 2], "x": [1.0, 2.0], "z": [True, False], "y": [3.0, 4.0]})
    some = nolook.Schema({"who": {"type": kind, "use": use}, "y": {"type": "number",
                          "use": "target"}})  # fmt: skip
    path = tmp_path / "t.parquet"
    pq.write_table(table, path)
    for source in (table, path):
        opened = read_table(source, schema=some)
        assert opened.feature_names == ("x", "z")
        assert opened.target_name == "y"
        assert "who" not in repr(opened.read_options())


def test_booleans_and_levels_are_known_to_be_0_or_1(tmp_path):
    path = store(tmp_path / "t.csv", b"a;b;c;d\n1;ja;B;01.01.1970\n")
    opened = read_table(path, schema=nolook.Schema(COLUMNS, delimiter=";"))
    assert opened.binary.tolist() == [False, True, True, True, False]


@pytest.mark.parametrize("positive", ["ja", "nein", "Ä"])
def test_the_positive_word_of_a_target(tmp_path, positive):
    words = ["ja", "nein", "", "Ä", " ja "]
    path = store(tmp_path / "t.csv", "\n".join(["a,w", *(f"1,{w}" for w in words)]).encode())
    options = {"positive": positive, "negative": "...", "missing": "drop-row"}
    opened = read_table(path, "w", features=["a"], **options)
    (read,) = opened.batches()
    assert read[1].tolist() == [word.strip() == positive for word in words if word]


@pytest.mark.parametrize("ending", [".csv.gz", ".csv.zst"])
@pytest.mark.parametrize("frames", [1, 3])
def test_a_compressed_file_that_is_cut_short_is_one_plain_line(tmp_path, ending, frames):
    """Wherever it is cut, but for between the frames that a file may consist of."""
    body = [f"{i},1.25\n".encode() for i in range(150)]
    path, content, ends = tmp_path / f"t{ending}", b"", []
    for i in range(frames):
        content += store(path, (b"a,b\n" if i == 0 else b"") + b"".join(body)).read_bytes()
        ends.append(len(content))
    for end in range(len(content) + 1):
        path.write_bytes(content[:end])
        if end in ends:
            opened = read_table(path, features=["a", "b"])
            assert sum(batch.shape[1] for batch in opened.batches()) == 150 * (1 + ends.index(end))
            continue
        with pytest.raises(TableError) as caught:
            read_table(path, features=["a"]).read_through()
        assert "is not a readable CSV file (" in str(caught.value)
        assert "cut short?)" in str(caught.value)
        assert caught.value.__context__ is None


@pytest.mark.parametrize("ending", [".csv.gz", ".csv.zst"])
def test_a_damaged_compressed_file_is_never_more_than_one_plain_line(tmp_path, ending):
    path = store(tmp_path / f"t{ending}", b"a\n" + b"".join(b"%d\n" % i**3 for i in range(300)))
    whole = path.read_bytes()
    for place in range(0, 400, 7):
        content = bytearray(whole)
        content[place : place + 2] = b"\xff\x00"
        path.write_bytes(content)
        with suppress(TableError):
            list(read_table(path, features=["a"]).batches())


@pytest.mark.parametrize("ending", [".csv.gz", ".csv.zst"])
def test_memory_is_bounded_however_well_a_file_is_compressed(tmp_path, ending, monkeypatch):
    monkeypatch.setattr(csv, "_LONGEST", 1 << 16)
    path = store(tmp_path / f"t{ending}", b"a,b\n1,2\n" + b" " * (1 << 25) + b"\n3,4\n")
    assert path.stat().st_size < 1 << 18
    rows = rows_of(path, nolook.Schema({"a": "number", "b": "number"}))
    assert rows.tolist() == [[1, 2], [0, 0], [3, 4]]


def test_a_signs_meaning_does_not_pass_from_one_table_to_another(tmp_path):
    """Expressions are kept between tables, by all that was declared."""
    path = store(tmp_path / "t.csv", b"a\n'1,234.5\n")
    for settings_, value in (({}, math.nan), ({"thousands": ","}, 1234.5)) * 2:
        for quote in (None, "'"):
            schema = nolook.Schema({"a": {"type": "number", **settings_}}, delimiter=";",
                                   quote=quote)  # fmt: skip
            path.write_bytes(b"a\n" + (b"1,234.5\n" if quote is None else b"'1,234.5'\n"))
            (read,) = rows_of(path, schema)
            assert read[0] == (0 if math.isnan(value) else value)
