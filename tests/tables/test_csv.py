"""CSV: a row gives the same numbers whatever its neighbours hold, and nothing is an error."""

from __future__ import annotations

import csv
import io
import math
import re
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nolook.errors import ParameterError, TableError
from nolook.tables import csv as text
from nolook.tables import read_table, words
from nolook.tables.read import read_scores
from nolook.tables.schema import Schema

ANY_BYTES = st.text('01.5,,\n\n\r"" eENA-+\x00éÿ\t', max_size=60).map(
    lambda body: body.encode("latin-1")
)
MULTILINE = Schema(multiline=True)
NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
in_one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def write(tmp_path, body, header=b"a,b,c\n"):
    path = tmp_path / "t.csv"
    path.write_bytes(header + body)
    return path


def rows_of(path, *, multiline=False, **options):
    """Every row of numbers, NaN where one is missing."""
    names, schema = options.pop("features", ["a", "b", "c"]), Schema(multiline=multiline)
    opened = read_table(path, features=names, schema=schema, **options)
    found = [
        np.where(complete, numbers, math.nan) for numbers, complete, _ in opened.batches_in_place()
    ]
    return np.concatenate(found, axis=1).T if found else np.empty((0, opened.n_columns))


def by_brute_force(body, *, multiline):
    """The same rows with the standard library, one cell at a time."""
    whole = body.decode("latin-1").replace("\r\n", "\n").replace("\r", "\n")
    lines = [f"{line}\n" for line in whole.split("\n")]
    records = []
    for part in [lines] if multiline else [[line] for line in lines]:
        # A record of its own stands behind, unless a quote that is not closed takes it in.
        *found, end = csv.reader([*part, "end\n"], skipinitialspace=True)
        records += found if end == ["end"] else [*found, None]
    rows = []
    for record in records:
        if record == []:
            continue
        row = [math.nan] * 3
        if record is not None and len(record) == 3:
            cells = [cell.encode("latin-1").strip() for cell in record]
            if all(NUMBER.fullmatch(cell) for cell in cells):
                read = [float(cell) for cell in cells]
                row = read if np.isfinite(read).all() else row
        rows.append(row)
    return np.array(rows, dtype=float).reshape(-1, 3)


@in_one_folder
@given(body=ANY_BYTES, block=st.integers(1, 20), multiline=st.booleans())
def test_any_bytes_are_read_as_the_standard_library_reads_them(tmp_path, body, block, multiline):
    path = write(tmp_path, body)
    expected = by_brute_force(body, multiline=multiline)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "_BLOCK", block)
        np.testing.assert_array_equal(rows_of(path, multiline=multiline), expected)
    np.testing.assert_array_equal(rows_of(path, multiline=multiline), expected)


@in_one_folder
@given(
    body=st.text("1.5,,,\n \tx\x00é", max_size=60).map(lambda body: body.encode("latin-1")),
    longest=st.integers(1, 6),
    multiline=st.booleans(),
)
def test_both_paths_find_the_same_cells(tmp_path, body, longest, multiline):
    # A quote at the end sends the whole block through the slow one.
    slow = write(tmp_path, body + b'\n"7",8,9\n').rename(tmp_path / "slow.csv")
    fast = write(tmp_path, body + b"\n7,8,9\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "_LONGEST_CELL", longest)
        rows = rows_of(fast, multiline=multiline)
        np.testing.assert_array_equal(rows, rows_of(slow, multiline=multiline))
    assert rows[-1].tolist() == [7, 8, 9]


@in_one_folder
@given(lines=st.lists(st.text('15.,"\r é', max_size=12), max_size=8), data=st.data())
def test_a_line_does_not_depend_on_its_neighbours_whatever_its_quotes(tmp_path, lines, data):
    lines = [f"1{line}".replace("\r", "").encode() + b"\n" for line in lines]
    place = data.draw(st.integers(0, len(lines)))
    one = data.draw(st.sampled_from([b'"\n', b'1,2,"3\n', b'1,"2\r', b'"",""",""\r\n']))
    without = rows_of(write(tmp_path, b"".join(lines)))
    rows = rows_of(write(tmp_path, b"".join([*lines[:place], one, *lines[place:]])))
    assert np.isnan(rows[place]).all()
    np.testing.assert_array_equal(np.delete(rows, place, 0), without)


@in_one_folder
@given(
    lines=st.lists(st.lists(st.text('15.,NA"é', max_size=5), min_size=1, max_size=4), max_size=8),
    data=st.data(),
)
def test_what_a_row_gives_does_not_depend_on_its_neighbours(tmp_path, lines, data):
    def written(records):
        stream = io.StringIO()
        csv.writer(stream, lineterminator="\n").writerows(records)
        return write(tmp_path, stream.getvalue().encode())

    lines = [[*cells, "1"] for cells in lines]
    left_out = data.draw(st.integers(0, len(lines)))
    all_rows = rows_of(written(lines))
    neighbour = rows_of(written(lines[:left_out] + lines[left_out + 1 :]))
    np.testing.assert_array_equal(np.delete(all_rows, slice(left_out, left_out + 1), 0), neighbour)


@pytest.mark.parametrize(
    "texts",
    [["1", "x", "3"], ["1", "NA", "3"], ["", "", "2"], ["1", "2", "3"], ["nan", "inf", "-1e999"]],
)
def test_cells_that_are_not_numbers_are_null(texts):
    found = words.plain_numbers(pa.array(texts, pa.large_string())).to_pylist()
    assert [None if x is None or not math.isfinite(x) else x for x in found] == [
        float(c) if c.isdigit() else None for c in texts
    ]


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (b"\xef\xbb\xbfa,b,c\n1,2,3\n", [[1, 2, 3]]),
        (b"a,b,c\r\n1,2,3\r\n\r\n4,5,6", [[1, 2, 3], [4, 5, 6]]),
        (b"a,b,c\r1,2,3\r4,5,6\r", [[1, 2, 3], [4, 5, 6]]),
        (b"\n\na , b,c\n 1,\t2 ,3\n", [[1, 2, 3]]),
        (b'"a","b","c"\n"1","2","3"\n', [[1, 2, 3]]),
        (b'a,b,c,note\n1,2,3,"a line, ""quoted"""\n4,5,6,x\n', [[1, 2, 3], [4, 5, 6]]),
        (b'a,b,c,note\n1,2,3,"a"" line\n4,5,6,"x"y"\n', [[math.nan] * 3, [4, 5, 6]]),
        (b'a,b,c\n1, "2",\t3\n', [[1, 2, 3]]),
        (b"a,b,c\n", np.empty((0, 3))),
        (b"a,b,c", np.empty((0, 3))),
        (b"c,x,b,a\n3,?,2,1\n", [[1, 2, 3]]),
    ],
)
def test_ways_to_write_a_file(tmp_path, content, rows):
    np.testing.assert_array_equal(rows_of(write(tmp_path, content, header=b"")), rows)


@pytest.mark.parametrize("beside", [b"1", b"NA", b"no number"])
def test_infinite_numbers_count_whatever_is_beside_them(tmp_path, numbers_of, beside):
    body = b"inf\n1e999\n-Infinity\n" + beside + b"\n"
    opened = read_table(write(tmp_path, body, header=b"a\n"), features=["a"], missing="zero")
    largest = np.finfo(np.float64).max
    assert numbers_of(opened.keeping_infinite())[0, :3].tolist() == [largest, largest, -largest]


def test_malformed_lines_are_rows_of_missing_values(tmp_path, numbers_of):
    path = write(tmp_path, b"1,2,3\n1,2\n1,2,3,4\n\xff,5,6\n7,8,9\n")
    missing = [math.nan] * 3
    np.testing.assert_array_equal(rows_of(path), [[1, 2, 3], missing, missing, missing, [7, 8, 9]])
    names = ["a", "b"]
    dropped = read_table(path, "c", features=names, missing="drop-row")
    np.testing.assert_array_equal(numbers_of(dropped), [[1, 7], [2, 8], [3, 9]])
    zero = read_table(path, "c", features=names, missing="zero")
    np.testing.assert_array_equal(numbers_of(zero), [[1, 0, 7], [2, 5, 8], [3, 6, 9]])


def test_declared_categories_in_any_bytes(tmp_path, numbers_of):
    body = 'x,Ä\n1,"say ""hi"""\n2, Ä \n3,Z\n4,\n'.encode() + b"5,\xff\xfe\n"
    path = write(tmp_path, body, header=b"n,word\n")
    opened = read_table(path, categories={"word": [None, "Ä", 'say "hi"']}, missing="zero")
    np.testing.assert_array_equal(numbers_of(opened), [[1, 0, 1, 0, 0, 0], [0, 1, 0, 0, 0, 0]])
    assert opened.feature_names == ("word=Ä", 'word=say "hi"')


@pytest.mark.parametrize("block", range(1, 12))
def test_a_line_end_in_a_cell_cut_by_a_block(tmp_path, block, monkeypatch, numbers_of):
    monkeypatch.setattr(text, "_BLOCK", block)
    path = write(tmp_path, b'1,"two\r\nlines"\r\n', header=b"n,word\r\n")
    levels = {"word": ["two\nlines"]}
    opened = read_table(path, features=["n", "word"], categories=levels, schema=MULTILINE)
    np.testing.assert_array_equal(numbers_of(opened), [[1], [1]])


@pytest.mark.parametrize("multiline", [False, True])
def test_a_quote_that_is_never_closed_spoils_its_line_or_no_more_than_a_long_cell(
    tmp_path, multiline
):
    lines = b"1,2,3\n" * 60_000
    path = write(tmp_path, b'"1,2,3\n' + lines)
    rows = rows_of(path, multiline=multiline)
    assert np.isnan(rows[0]).all()
    spoilt = text._LONGEST_CELL // len("1,2,3\n") + 3 if multiline else 0
    assert 60_001 - spoilt <= len(rows) <= 60_001
    assert (rows[1:] == [1, 2, 3]).all()


@pytest.mark.parametrize("multiline", [False, True])
def test_a_quote_in_the_header_that_is_never_closed(tmp_path, multiline):
    path = write(tmp_path, b"1,2,3\n", header=b'a,b,"c\n')
    with pytest.raises(TableError, match="a quote in its header that is not closed"):
        rows_of(path, multiline=multiline)


def test_a_name_with_a_line_break(tmp_path):
    path = write(tmp_path, b"1,2\n", header=b'a,"b\nc"\n')
    rows = rows_of(path, features=["a", "b\nc"], multiline=True)
    np.testing.assert_array_equal(rows, [[1, 2]])


def test_blanks_before_a_text_in_quotes_are_no_part_of_its_length(tmp_path):
    blanks = b" " * text._LONGEST_CELL
    rows = rows_of(write(tmp_path, b"1," + blanks + b'  "2",3\n'))
    np.testing.assert_array_equal(rows, [[1, 2, 3]])


@pytest.mark.parametrize(
    ("line", "besides", "multiline"),
    [
        (b"1,%b,3\n", 0, False),
        (b'1,"%b",3\n', 0, False),
        (b'1,"%b",3\n', 0, True),
        (b'1, "\n%b\n"x,3\n', 3, True),
    ],
)
def test_the_longest_cell(tmp_path, line, besides, multiline):
    room = text._LONGEST_CELL - besides
    for extra in (0, 1):
        path = write(tmp_path, line % (b"y" * (room + extra)) + b'"4",5,6\n')
        rows = rows_of(path, features=["a", "c"], missing="zero", multiline=multiline)
        np.testing.assert_array_equal(rows, [[0, 0] if extra else [1, 3], [4, 6]])


def test_quotes_in_a_cell_of_several_lines_count_once(tmp_path):
    half = text._LONGEST_CELL // 2
    cell = b'""' * half + b"\n" + b'""' * (half - 1)
    rows = rows_of(write(tmp_path, b'1,"' + cell + b'",3\n'), features=["a"], multiline=True)
    np.testing.assert_array_equal(rows, [[1]])
    rows = rows_of(write(tmp_path, b'1,"' + cell + b'""",3\n'), features=["a"], multiline=True)
    np.testing.assert_array_equal(rows, [[math.nan]])


def test_the_limit_of_the_standard_library_does_not_matter(tmp_path):
    path = write(tmp_path, b'1,"2",345678\n1,2,"three"\n')
    expected = rows_of(path)
    before = csv.field_size_limit(2)
    try:
        np.testing.assert_array_equal(rows_of(path), expected)
    finally:
        csv.field_size_limit(before)


def test_a_larger_limit_of_the_standard_library_stays(tmp_path):
    path = write(tmp_path, b'1,"2",' + b"3" * (text._LONGEST_CELL + 1) + b'\n1,2,"3"\n')
    expected = rows_of(path)
    before = csv.field_size_limit(10**9)
    try:
        np.testing.assert_array_equal(rows_of(path), expected)
        assert csv.field_size_limit() == 10**9
    finally:
        csv.field_size_limit(before)


def test_a_cell_too_long_for_the_reader_spoils_its_row_alone(tmp_path):
    long = b"1,2,3\n" + b"4,5," + b"x" * (text._LONGEST_CELL + 1) + b"\n"
    for tail in (b"7,8,9\n", b'7,8,"9"\n'):
        rows = rows_of(write(tmp_path, long + tail))
        np.testing.assert_array_equal(rows, [[1, 2, 3], [math.nan] * 3, [7, 8, 9]])
    rows = rows_of(write(tmp_path, long), features=["a", "b"], missing="zero")
    np.testing.assert_array_equal(rows, [[1, 2], [0, 0]])


def test_columns_must_be_named(tmp_path):
    with pytest.raises(ParameterError, match="a CSV file declares no types"):
        read_table(write(tmp_path, b"1,2,3\n"), "a")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        *((content, "is not a readable CSV file") for content in (b"", b"\n\n", b"\xef\xbb\xbf")),
        (b"\xff\xfe\x00a", "is not in the encoding utf-8; try 'cp1252', in a schema"),
    ],
)
def test_a_file_without_a_header(tmp_path, content, words):
    path = write(tmp_path, content, header=b"")
    with pytest.raises(TableError, match=words):
        read_table(path, "a", features=["b"])


def test_memory_does_not_grow_with_the_file(tmp_path):
    def peak(lines):
        path = write(tmp_path, b"0.123456789,12345.6789,-1\n" * lines)
        opened = read_table(path, "c", features=["a", "b"])
        tracemalloc.start()
        for _ in opened.batches():
            pass
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(10)
    assert peak(600_000) < 1.2 * peak(200_000)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("block", [16, 64, 1 << 21])
@pytest.mark.parametrize("quotes", ["", '"'])
def test_a_line_far_too_long_is_a_row_of_missing_values(
    tmp_path, numbers_of, monkeypatch, end, block, quotes
):
    monkeypatch.setattr(text, "_LONGEST", 100)
    monkeypatch.setattr(text, "_BLOCK", block)
    rows = [
        "a,b",
        f"{quotes}1{quotes},2",
        "7," + "8" * 97,
        "7," + "8" * 98,
        "3," + "9" * 5000,
        "5,6",
    ]
    path = tmp_path / "t.csv"
    path.write_text(end.join(rows), newline="")
    read = numbers_of(read_table(path, features=["a", "b"], missing="zero"))
    assert read[0].tolist() == [1, 7, 0, 0, 5]
    assert read[1].tolist() == [2, float("8" * 97), 0, 0, 6]


def test_a_row_that_never_ends_is_cut_off(tmp_path, numbers_of, monkeypatch):
    monkeypatch.setattr(text, "_LONGEST", 100)
    path = tmp_path / "t.csv"
    path.write_text('a,b\n1,2\n"' + 40 * '\n","' + "\n3,4\n")
    opened = read_table(path, features=["a", "b"], missing="zero", schema=MULTILINE)
    read = numbers_of(opened)
    assert read[:, 0].tolist() == [1, 2]
    assert read[:, -1].tolist() == [3, 4]
    assert not read[:, 1:-1].any()


def test_memory_is_bounded_however_long_a_line(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "_LONGEST", 1 << 15)
    monkeypatch.setattr(text, "_BLOCK", 1 << 12)
    for content in (b"9" * (1 << 23), b'"' + b'\n","' * (1 << 16)):
        path = tmp_path / "t.csv"
        path.write_bytes(b"a,b\n1,2\n" + content)
        opened = read_table(path, features=["a", "b"], missing="zero", schema=MULTILINE)
        tracemalloc.start()
        rows = sum(batch.shape[1] for batch in opened.batches())
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert rows > 1
        assert peak < 1 << 22


@pytest.mark.parametrize("positive", ["1", "yes"])
def test_targets_beside_quoted_line_breaks(tmp_path, numbers_of, positive):
    content = f'{positive},0.5,"two\nlines"\n'.encode()
    path = write(tmp_path, content, header=b"label,score,note\n")
    for multiline, expected in ((False, [[], []]), (True, [[0.5], [1.0]])):
        schema = Schema(multiline=multiline)
        read = read_scores(path, "score", "label", positive, "...", schema=schema)
        assert numbers_of(read).tolist() == expected
        assert ("multiline" in str(read.read_options())) == multiline
