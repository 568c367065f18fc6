"""Two identifiers that differ are two units, or missing: no map before their comparison loses that.

If two persons became one unit, they would share its weight, and one of them could change more than
the guarantee allows.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nolook
from nolook.tables.schema import _ENCODINGS

TEXTS = st.text(st.characters(exclude_categories=(), exclude_characters='\r\n",\0'), max_size=4)
BYTES = st.binary(max_size=4).filter(lambda raw: not set(raw) & set(b'\r\n",\0 \t\x0b\x0c'))


def units(source: object, **options: object) -> int:
    table = nolook.read_table(source, features=["x"], unit="who", missing="drop-row", **options)
    return table.count_units()


@pytest.mark.parametrize("encoding", sorted(_ENCODINGS))
def test_bytes_of_any_encoding_stay_different(encoding, tmp_path):
    """Every byte beyond ASCII at the end of a cell; in UTF-16 every lone surrogate."""
    path = tmp_path / "t.csv"
    if encoding.startswith("utf-16"):
        order = "<u2" if encoding.endswith("le") else ">u2"
        ids = [np.array([0x6E, word], order).tobytes() for word in range(0xD7F0, 0xE010)]
    else:
        ids = [b"n" + bytes([byte]) for byte in range(0x80, 0x100)]
    line = ",1\n".encode(encoding)
    rows = ["who,x\n".encode(encoding), *(each + line for each in ids)]
    path.write_bytes(b"".join(rows))
    schema = {"file": {"encoding": encoding}, "columns": {"who": "identifier", "x": "number"}}
    assert units(path, schema=schema) == len(ids)


def test_bytes_of_a_statistics_program_stay_different(tmp_path):
    """Stata writes cp1252 up to version 13, in which five bytes are no character."""
    ids = [f"n{place:04}" for place in range(0x80, 0x100)]
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = pd.DataFrame({"who": ids, "x": 1.0})
    pyreadstat.write_dta(frame, str(tmp_path / "t.dta"), version=13)
    raw = (tmp_path / "t.dta").read_bytes()
    for place, each in enumerate(ids, 0x80):
        assert raw.count(each.encode()) == 1
        raw = raw.replace(each.encode(), b"n" + bytes([place]) + b"\0\0\0")
    (tmp_path / "t.dta").write_bytes(raw)
    assert units(tmp_path / "t.dta") == len(ids)


@given(st.lists(BYTES, min_size=1, max_size=6))
def test_bytes_that_are_no_text_stay_different_in_a_text_file(tmp_path_factory, ids):
    path = tmp_path_factory.mktemp("t") / "t.csv"
    for encoding in ("utf-8", "cp1252"):
        path.write_bytes(b"who,x\n" + b"".join(each + b",1\n" for each in ids))
        schema = {"file": {"encoding": encoding}, "columns": {"who": "identifier", "x": "number"}}
        assert units(path, schema=schema) == len({each for each in ids if each})


@pytest.mark.parametrize("other", ["b,3", '"b",3', 'b, "3"', '  "b",3'])
def test_blanks_around_an_identifier_count_whatever_others_put_in_quotes(tmp_path, other):
    path = tmp_path / "t.csv"
    path.write_text(f"who,x\na,1\n  a,2\na ,3\n{other}\n")
    assert units(path) == units(pd.DataFrame({"who": ["a", "  a", "a ", "b"], "x": 1.0})) == 4


@pytest.mark.parametrize("multiline", [False, True])
def test_of_texts_in_quotes_only_the_blanks_before_them_are_left_out(tmp_path, multiline):
    path, schema = tmp_path / "t.csv", {"file": {"multiline": multiline}}
    path.write_text('who,x\n "a, ""b",1\n"a, ""b",1\n"a,""b",1\n" a",1\n  " a", "2"\na "b,1\n')
    assert units(path, schema=schema) == 4


def test_lines_that_go_on_in_quotes_keep_their_blanks(tmp_path):
    path, schema = tmp_path / "t.csv", {"file": {"multiline": True}}
    path.write_text('who,x\n"a\n, ""b", "1"\n "a\n,""b",1\n"a\n "" b",1\n"a\n  "" b",1\n')
    assert units(path, schema=schema) == 4


def test_what_files_write_alike_is_one_unit_among_objects(tmp_path):
    frame = pd.DataFrame({"who": np.array([1, "1", "1.0", " 1"], dtype=object), "x": 1.0})
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert units(frame) == units(tmp_path / "t.csv") == 3


@pytest.mark.parametrize("kind", ["pandas", "object"])
@given(texts=st.lists(TEXTS, min_size=1, max_size=6))
def test_texts_of_frames_stay_different_whatever_surrogates_they_hold(kind, texts):
    dtype = object if kind == "object" else None
    try:
        frame = pd.DataFrame({"who": pd.Series(texts, dtype=dtype), "x": 1.0})
    except UnicodeEncodeError:  # pandas' own texts hold none
        return
    found = nolook.read_table(frame, features=["x"], unit="who").count_units()
    assert found == len(set(texts))


KEPT = {
    "arrow": lambda table, _: table,
    "arrow words": lambda table, _: table.set_column(
        0, "who", table["who"].combine_chunks().dictionary_encode()
    ),
    "arrow views": lambda table, _: table.set_column(0, "who", table["who"].cast(pa.string_view())),
    "pandas": lambda table, _: table.to_pandas(),
    "pandas objects": lambda table, _: table.to_pandas().astype({"who": object}),
    "pandas words": lambda table, _: table.to_pandas().astype({"who": "category"}),
    "pandas texts": lambda table, _: table.to_pandas().astype({"who": pd.StringDtype("python")}),
    "polars": lambda table, _: pl.from_arrow(table),
    "parquet": lambda table, folder: pq.write_table(table, folder / "t.parquet"),
}


@pytest.mark.parametrize("keep", KEPT.values(), ids=KEPT)
def test_identifiers_are_compared_as_written(keep, tmp_path):
    for i, texts in enumerate((
        *(["a ", "a"], [" a", "a"], ["a\t", "a"], ["a\u00a0", "a"], ["A", "a"]),
        *(["1", "1.0"], ["\u00e9", "e\u0301"]),
    )):  # fmt: skip
        folder = tmp_path / str(i)
        folder.mkdir()
        source = keep(pa.table({"who": texts, "x": [1.0, 2.0]}), folder)
        assert units(folder / "t.parquet" if source is None else source) == 2, texts


def test_values_of_folders_stay_different(tmp_path):
    for name in ("who=%81", "who=%8d", "who=n%81l", "who=n%8dl", "who=a"):
        (tmp_path / "t" / name).mkdir(parents=True)
        pq.write_table(pa.table({"x": [1.0]}), tmp_path / "t" / name / "a.parquet")
    assert units(tmp_path / "t") == 5
