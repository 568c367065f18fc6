"""Folders as somebody may find or make them: read as they should be, or refused in one line."""

from __future__ import annotations

import os
import pickle
import re
import shutil
import time
import tracemalloc
from itertools import chain
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv, feather

from nolook import read_table
from nolook.errors import NolookError, TableError
from nolook.owner.draft import draft_schema
from nolook.tables import files, folders, spool
from nolook.tables.folders import label_of, would_read
from nolook.tables.read import read_scores
from tests.tables.buckets import SECRET, Bucket

PERSON = "Anna-Muster"


def numbers(rows: int = 4, start: int = 0) -> pa.Table:
    x = np.arange(start, start + rows, dtype=float)
    return pa.table({"x": x, "y": 2 * x})


def stored(path: Path, table: pa.Table | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(numbers() if table is None else table, path)
    return path


def xs(source: object, **options: object) -> list[float]:
    batches = read_table(source, features=["x"], **options).batches()
    return [x for batch in batches for x in batch[0].tolist()]


def refusal(source: object, **options: object) -> str:
    with pytest.raises(NolookError) as caught:
        read_table(source, "y", features=["x"], **options).read_through()
    message = str(caught.value)
    assert "\n" not in message
    assert PERSON not in message
    assert ";" in message or message.endswith(")")  # says what to do or what may have happened
    return message


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of two files."""
    stored(tmp_path / "t" / "a.parquet")
    stored(tmp_path / "t" / "b.parquet", numbers(start=10))
    return tmp_path / "t"


WHOLE = [0.0, 1.0, 2.0, 3.0, 10.0, 11.0, 12.0, 13.0]


def test_what_is_hidden_or_being_written_is_no_part(folder):
    for name in (".c.parquet", "_c.parquet", "_temporary/0/c.parquet", ".trash/c.parquet"):
        stored(folder / name)
    (folder / "_SUCCESS").touch()
    (folder / ".a.parquet.crc").write_bytes(b"crc")
    assert xs(folder) == WHOLE
    assert xs(folder / "**" / "*.parquet") == WHOLE


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.parquet", 0),
        ("*/*.parquet", 1),
        ("**/*.parquet", 5),
        ("**", 5),
        ("year=*", 4),
        ("year=*/**", 4),
        ("year=2024/[ab].parquet", 2),
        ("year=202?/month=1/*", 1),
        ("**/month=1/*.parquet", 1),
        ("other/*.parquet", 1),
    ],
)
def test_a_pattern_finds_what_the_library_of_python_finds(pattern, found, tmp_path):
    for name in (
        "year=2024/a.parquet",
        "year=2024/b.parquet",
        "year=2025/c.parquet",
        "year=2025/month=1/d.parquet",
        "other/e.parquet",
    ):
        stored(tmp_path / name, numbers(1))
    if not found:
        assert "does not contain a table" in refusal(tmp_path / pattern)
        return
    for source in (tmp_path / pattern, str(tmp_path / pattern)):
        try:
            assert len(xs(source)) == found
        except TableError as error:  # folders that tell different columns
            assert "with the columns of other files" in str(error)  # noqa: PT017
    for path in tmp_path.rglob("*.parquet"):
        inside = path in {*tmp_path.glob(pattern)} or any(
            each in path.parents and each != tmp_path for each in tmp_path.glob(pattern)
        )
        if "**" not in pattern:
            assert would_read(tmp_path / pattern, path) == inside


def test_names_need_not_be_utf8(folder):
    (folder / "a.parquet").rename(folder / os.fsdecode(b"\xff.parquet"))
    for source in (folder, folder / "*.parquet", sorted(folder.iterdir())):
        assert xs(source) == WHOLE[4:] + WHOLE[:4]


def test_a_file_whose_name_looks_like_a_pattern_is_a_file(tmp_path):
    stored(tmp_path / "a[1].parquet", numbers(3))
    stored(tmp_path / "a1.parquet")
    assert len(xs(tmp_path / "a[1].parquet")) == 3


def test_names_of_folders_are_text_whatever_they_look_like(tmp_path):
    for day in ("01", "1", "x y", "__HIVE_DEFAULT_PARTITION__", "100%25"):
        stored(tmp_path / "t" / f"day={day}" / "a.parquet", numbers(1))
    # As pandas, Polars and pyarrow would not: "01" is not 1, and no type depends on the others.
    opened = read_table(tmp_path / "t", "y")
    assert opened.feature_names == ("x",)
    levels = {"day": ["1", "01", "x y", "100%", None]}
    told = read_table(tmp_path / "t", "y", features=["day"], categories=levels)
    assert told.feature_names == ("day=01", "day=x y", "day=100%", "day=...")
    found = np.concatenate(list(told.batches()), axis=1)[:4].T.tolist()
    # Hive's word for no value is none, and its row is left out.
    assert sorted(found) == sorted(np.vstack([np.eye(4)[:3], np.zeros(4)]).tolist())


def test_values_of_folders_are_in_no_message(tmp_path):
    first = tmp_path / "t" / f"name={PERSON}" / "a.parquet"
    stored(tmp_path / "t" / "name=Aa" / "a.parquet")
    stored(first, pa.table({"x": ["text"], "y": [1.0]}))
    assert "name=.../a.parquet' (file 2) has a column 'x' of type string" in refusal(tmp_path / "t")
    first.write_bytes(b"PAR1")
    assert "name=.../a.parquet' is not a readable Parquet file" in refusal(tmp_path / "t")
    first.unlink()
    os.mkfifo(first)
    assert "not a regular file" in refusal(tmp_path / "t")


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"x": [1.0]}, "has no column 'y', which"),
        ({"x": [1.0], "y": ["1"]}, "has a column 'y' of type string, which in"),
        ({"x": [1.0], "y": [1.0], "z": [1.0]}, "has a column 'z' that"),
        ({"x": [1.0], "z": [1.0]}, "has no column 'y'"),
    ],
)
def test_columns_that_differ_are_refused_at_opening(folder, table, words):
    stored(folder / "sub" / "late.parquet", pa.table(table))
    with pytest.raises(TableError, match=words) as caught:
        read_table(folder, "y")
    assert "late.parquet" in str(caught.value)


def test_columns_may_be_in_another_order_nullable_or_texts_of_another_kind(tmp_path):
    kinds = [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())]
    for i, kind in enumerate(kinds):
        fields = [pa.field("y", pa.float64(), nullable=i > 0), pa.field("g", kind)]
        cells = [pa.array([1.0]), pa.array(["a"], pa.string()).cast(kind)]
        order = [1, 0] if i else [0, 1]
        schema = pa.schema([fields[j] for j in order])
        stored(tmp_path / f"{i}.parquet", pa.table([cells[j] for j in order], schema=schema))
    opened = read_table(tmp_path, "y", features=["g"], categories={"g": ["b", "a"]})
    assert opened.column_names == ("g=a", "g=...", "y")
    numbers = np.concatenate(list(opened.batches()), axis=1)
    assert numbers.tolist() == [[1.0] * 3, [0.0] * 3, [1.0] * 3]
    assert {column.name: column.nullable for column in opened._source.columns}["y"]


def test_a_first_row_in_place_of_a_header_is_not_quoted(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text(f"{PERSON},7\n1,2\n")
    assert "b.csv' has no column 'x'" in refusal(tmp_path)
    (tmp_path / "b.csv").write_text(f"x,y,{PERSON}\n1,2,3\n")
    assert "b.csv' has a column that" in refusal(tmp_path)


def test_links_are_refused_wherever_they_lead(folder, tmp_path):
    outside = stored(tmp_path / "outside.parquet")
    for target in (outside, folder / "a.parquet", tmp_path / "none", folder):
        link = folder / "link.parquet"
        link.symlink_to(target)
        if target != folder:
            assert "link.parquet' in " in refusal(folder)
            assert "is a link" in refusal(folder / "*.parquet")
        else:
            assert "is a link" in refusal(folder)
            assert "is a link" in refusal(folder / "*" / "a.parquet")
        link.unlink()
    # Named one by one they are the user's own choice.
    (tmp_path / "link.parquet").symlink_to(outside)
    assert len(xs([tmp_path / "link.parquet"])) == 4


def test_no_file_counts_twice(folder, tmp_path):
    (folder / "again.parquet").hardlink_to(folder / "a.parquet")
    (tmp_path / "link.parquet").symlink_to(folder / "a.parquet")
    names = [folder / "again.parquet", folder / ".." / "t" / "a.parquet", tmp_path / "link.parquet"]
    a, *others = [folder / "a.parquet", *names]
    for other in others:
        assert "twice, perhaps" in refusal([a, other])
    assert "twice, perhaps" in refusal(folder)


@pytest.mark.parametrize("log", ["_delta_log", ".hoodie", "metadata", "_spark_metadata"])
def test_tables_of_a_log_are_refused_from_wherever_they_are_named(log, tmp_path):
    file = stored(tmp_path / "t" / "data" / "day=1" / "a.parquet")
    (tmp_path / "t" / log).mkdir()
    (tmp_path / "t" / log / "v1.metadata.json").touch()
    (tmp_path / "link.parquet").symlink_to(file)
    for place in ("t", "t/data", "t/data/*/*.parquet", "t/**/*.parquet", file, "link.parquet"):
        assert "Delta Lake" in refusal(tmp_path / place)
    for chosen in ([file], [tmp_path / "link.parquet"]):
        assert "Delta Lake" in refusal(chosen)
    bucket = Bucket()
    bucket.put_folder(tmp_path / "t", "t")
    bucket.put(f"t/{log}/x.metadata.json", b"{}")
    for path in ("t", "t/data/day=1/a.parquet"):
        assert "Delta Lake" in refusal(bucket.address(path))
    assert "Delta Lake" in refusal([bucket.address("t/data/day=1/a.parquet")])


def test_paths_need_not_be_absolute(folder, monkeypatch):
    folder.rename(folder.parent / "t[1]")
    monkeypatch.chdir(folder.parent / "t[1]")
    sources = (".", "*.parquet", "b.parquet", ["a.parquet"])
    tables = [read_table(source, "y") for source in sources]
    monkeypatch.chdir("/")
    rows = [sum(batch.shape[1] for batch in table.batches()) for table in tables]
    assert rows == [8, 8, 4, 4]


def test_a_relative_path_shows_the_log_above(tmp_path, monkeypatch):
    stored(tmp_path / "t" / "day=1" / "a.parquet")
    (tmp_path / "t" / "_delta_log").mkdir()
    monkeypatch.chdir(tmp_path / "t" / "day=1")
    assert "Delta Lake" in refusal("*.parquet")


def test_an_address_of_a_database_is_no_pattern():
    with pytest.raises(NolookError) as caught:
        read_table(f"postgresql://me:{SECRET}@127.0.0.1:1/d?sslmode=disable", "y")
    assert SECRET not in str(caught.value)


def test_a_folder_called_metadata_may_hold_a_table(folder):
    folder.rename(folder.parent / "metadata")
    assert xs(folder.parent) == WHOLE


@pytest.mark.parametrize("name", ["notes.txt", "a.csv", "a", "part-0.parquet.tmp"])
def test_files_of_other_kinds_are_refused(folder, name):
    (folder / name).write_text("x,y\n1,2\n")
    assert "expected files of one kind" in refusal(folder)
    assert xs(folder / "[ab].parquet") == WHOLE


@pytest.mark.parametrize("make", [lambda path: path.write_bytes(b""), os.mkfifo])
@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".arrow"])
def test_empty_files_and_pipes(tmp_path, make, suffix):
    (tmp_path / "t").mkdir()
    make(tmp_path / "t" / f"a{suffix}")
    refusal(tmp_path / "t")


def test_very_many_files_take_neither_memory_nor_time(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "_MOST_ENTRIES", 2_000)
    for i in range(4_000):
        (tmp_path / f"{i}.parquet").touch()
    tracemalloc.start()
    start = time.monotonic()
    assert "has more than 2,000 files" in refusal(tmp_path)
    assert "has more than 2,000 files" in refusal(tmp_path / "*.parquet")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5e6
    assert time.monotonic() - start < 60


def test_a_pattern_reaches_folders_far_below(tmp_path):
    far = tmp_path.joinpath(*["d"] * 1500)
    assert would_read(tmp_path / "**" / "d" / "*.parquet", far / "a.parquet")
    assert not would_read(tmp_path / "**" / "d" / "*.parquet", far / "a.csv")


def test_a_pattern_of_many_folders_is_compared_at_once(tmp_path):
    far = tmp_path.joinpath(*["d"] * 40)
    assert would_read(tmp_path / ("**/" * 20 + "*.parquet"), far / "a.parquet")
    assert not would_read(tmp_path / ("**/d/" * 20 + "*.parquet"), far / "a.csv")


def test_folders_in_folders_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "_MOST_ENTRIES", 50)
    (tmp_path / "/".join("d" * 100)).mkdir(parents=True)
    assert "has more than 50 files and folders" in refusal(tmp_path)


def test_a_column_in_files_and_names_is_refused(tmp_path):
    stored(tmp_path / "t" / "x=1" / "a.parquet")
    assert "has a column 'x' in its files and in the names of folders" in refusal(tmp_path / "t")


def test_folders_that_tell_different_columns_are_refused(tmp_path):
    stored(tmp_path / "t" / f"name={PERSON}" / "a.parquet")
    stored(tmp_path / "t" / "a.parquet")
    assert "with the columns of other files" in refusal(tmp_path / "t")


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_changes_between_passes_is_refused(folder, replaced):
    opened = read_table(folder, "y")
    opened.read_through()
    if replaced:
        stored(folder / "b.parquet", numbers(7))
    else:
        (folder / "b.parquet").unlink()
    with pytest.raises(TableError, match="start again"):
        opened.read_through()


def linked(path: Path) -> None:
    """Put a link to a copy in place of a file."""
    copy = path.parent.parent / "copy"
    shutil.copy2(path, copy)
    path.unlink()
    path.symlink_to(copy)


HARMS = {
    "gone": Path.unlink,
    "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
    "longer": lambda path: path.write_bytes(path.read_bytes() * 2),
    "another": lambda path: path.rename(path.with_suffix(".old")) or path.write_bytes(b"x"),
    "a folder": lambda path: path.unlink() or path.mkdir(),
    "a pipe": lambda path: path.unlink() or os.mkfifo(path),
    "a link": linked,
}


@pytest.mark.parametrize(
    ("which", "suffix", "harm"),
    [
        # Every harm to a file of every kind, to one of the two.
        pytest.param(which, suffix, harm, marks=[pytest.mark.slow] * ((i + j + k) % 2))
        for i, which in enumerate("ab")
        for j, suffix in enumerate([".parquet", ".csv", ".feather"])
        for k, harm in enumerate(HARMS)
    ],
)
def test_a_file_that_changes_in_mid_pass_is_refused(which, suffix, harm, tmp_path):
    (tmp_path / "t").mkdir()
    for name in "ab":
        path, table = tmp_path / "t" / f"{name}{suffix}", numbers(200_000)
        if suffix == ".csv":
            csv.write_csv(table, path)
        elif suffix == ".feather":
            feather.write_feather(table, path, compression="uncompressed")
        else:
            pq.write_table(table, path, row_group_size=50_000)
    batches = read_table(tmp_path / "t", "y", features=["x"])._source.batches(["x"])
    next(batches)
    HARMS[harm](tmp_path / "t" / f"{which}{suffix}")
    with pytest.raises(TableError) as caught:
        for _ in batches:
            pass
    message = str(caught.value)
    assert f"{which}{suffix}'" in message
    assert "was changed or removed" in message or "cut short" in message
    assert "\n" not in message


def test_files_that_come_later_are_no_part(folder):
    opened = read_table(folder, "y")
    stored(folder / "c.parquet")
    assert sum(batch.shape[1] for batch in opened.batches()) == len(WHOLE)


def test_parts_in_order_are_the_folder_and_travel(tmp_path):
    for day in "123":
        path = tmp_path / f"day={day}" / "a.parquet"
        path.parent.mkdir()
        pq.write_table(numbers(90, int(day) * 100), path, row_group_size=30)
    source = read_table(tmp_path, "y")._source
    parts = [pickle.loads(pickle.dumps(part)) for part in source.parts()]
    assert len(parts) == 9
    names = ["day", "x"]
    apart = pa.Table.from_batches([b for part in parts for b in part.batches(names)])
    whole = pa.Table.from_batches(list(source.batches(names)))
    assert apart.combine_chunks() == whole.combine_chunks()


def test_very_many_files_are_parts_together(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "MOST_PARTS", 3)
    for i in range(7):
        stored(tmp_path / f"{i}.parquet", numbers(2, 10 * i))
    source = read_table(tmp_path, "y")._source
    assert len(source.parts()) == 3
    rows = [b.column("x").to_pylist() for part in source.parts() for b in part.batches(["x"])]
    assert list(chain.from_iterable(rows)) == [10.0 * i + j for i in range(7) for j in range(2)]


@pytest.mark.parametrize(
    ("source", "label"),
    [
        ("data/people.parquet", "people.parquet"),
        ("data/people", "people"),
        ("data/people/", "people"),
        ("data/people/*.parquet", "people"),
        ("data/people/**/year=*/x.csv", "people"),
        ("s3://bucket/people/*.parquet?region=x", "people"),
        ("s3://key:secret@bucket", "bucket"),
        ("gs://bucket/a/people.csv?x=/y", "people.csv"),
    ],
)
def test_what_a_table_is_called_in_ledgers(source, label):
    assert label_of(source) == label


def test_subjects_name_no_folder_above(folder):
    assert read_table(folder, "y").subject().table == "t"
    assert read_table(folder / "*.parquet", "y").subject().table == "t"
    both = sorted(folder.iterdir())
    assert read_table(both, "y").subject().table == "a.parquet and 1 more"


def test_drafts_and_scores_of_folders(tmp_path):
    for city in ("Bern", "Basel"):
        (tmp_path / "t" / f"city={city}").mkdir(parents=True)
        (tmp_path / "t" / f"city={city}" / "1.csv").write_text("score,y\n0.5,1\n0.25,0\n" * 9)
    draft = draft_schema(tmp_path / "t")
    assert draft.levels["city"] == ["Basel", "Bern"]
    assert "Bern" not in draft.text
    found = read_scores(tmp_path / "t", "score", "city", "Bern", "...")
    assert sorted({*np.concatenate(list(found.batches()), axis=1)[1]}) == [0.0, 1.0]


def test_what_the_names_of_folders_say_is_text(tmp_path):
    for day in ("01", "2"):
        stored(tmp_path / f"day={day}" / "a.parquet", numbers(1))
    opened = read_table(tmp_path, "y", features=["day"], categories={"day": ["2", "01"]})
    assert np.concatenate(list(opened.batches()), axis=1)[0].tolist() == [1.0, 0.0]


def test_a_stream_is_read_once_and_kept():
    read = 0

    def batches():
        nonlocal read
        read += 1
        yield from numbers(5).to_batches(max_chunksize=2)

    opened = read_table(pa.RecordBatchReader.from_batches(numbers().schema, batches()), "y")
    assert not read  # not before the first pass
    for _ in range(2):
        assert np.concatenate(list(opened.batches()), axis=1)[0].tolist() == [0, 1, 2, 3, 4]
    assert read == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: pl.LazyFrame({"x": range(9_000)}).select(
            pl.col("x").shuffle().cast(float), y=pl.lit(1.0)
        ),
        lambda: duckdb.sql("SELECT random() AS x, 1.0::DOUBLE AS y FROM range(9000)"),
    ],
    ids=["lazy frame", "relation"],
)
def test_a_query_with_other_rows_each_time_gives_the_same_in_each_pass(make):
    opened = read_table(make(), "y")
    first, second = (np.concatenate(list(opened.batches()), axis=1) for _ in range(2))
    assert (first == second).all()
    assert np.unique(first[0]).size == 9_000


def test_parts_of_a_stream(monkeypatch):
    monkeypatch.setattr(spool, "ROWS", 4)
    source = read_table(numbers(11).to_reader(), "y")._source
    parts = source.parts()
    assert len(parts) == 3
    starts = [part.batches(["y"]) for part in parts]
    rows = [next(start).column("y").to_pylist() for start in reversed(starts)]
    assert list(chain.from_iterable(reversed(rows))) == [2.0 * i for i in range(11)]


def test_a_stream_without_end_leaves_room_on_the_disk(monkeypatch):
    free = spool.shutil.disk_usage(spool.gettempdir()).free
    monkeypatch.setattr(spool, "_LEFT_FREE", free - (1 << 25))

    def endless():
        while True:
            yield numbers(30_000).to_batches()[0]

    stream = pa.RecordBatchReader.from_batches(numbers().schema, endless())
    assert re.search(r"need more than the \d+ GB that were free on the disk of", refusal(stream))


def test_a_stream_that_fails_is_not_read_again():
    def failing():
        yield numbers().to_batches()[0]
        raise ValueError(PERSON)

    stream = pa.RecordBatchReader.from_batches(numbers().schema, failing())
    opened = read_table(stream, "y")
    for _ in range(2):
        with pytest.raises(TableError, match="start again") as caught:
            opened.read_through()
        assert PERSON not in str(caught.value)


def test_nested_columns_are_no_part():
    table = numbers(2).append_column("deep", pa.array([[1.0], [2.0]]))
    assert read_table(table.to_reader(), "y").feature_names == ("x",)


def test_words_of_every_batch():
    cells = [pa.array(["b"]), pa.array(["a"])]
    batches = [pa.record_batch({"g": cell.dictionary_encode(), "y": [1.0]}) for cell in cells]
    stream = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    opened = read_table(stream, "y", features=["g"], categories={"g": ["b", "a"]})
    assert np.concatenate(list(opened.batches()), axis=1)[0].tolist() == [0.0, 1.0]


def test_patterns_and_folders(folder):
    bucket = Bucket()
    bucket.put_folder(folder, "t")
    bucket.put("t/_SUCCESS", b"")
    assert xs(bucket.address("t")) == WHOLE
    assert xs(bucket.address("t/*.parquet")) == WHOLE
    assert xs(bucket.address("t/b.parquet")) == WHOLE[4:]
    assert xs([bucket.address("t/b.parquet"), folder / "a.parquet"]) == WHOLE[4:] + WHOLE[:4]


def test_no_message_holds_a_secret_or_a_folders_value(folder):
    bucket = Bucket()
    bucket.put(f"t/name={PERSON}/a.parquet", b"PAR1")
    bucket.put("d/_delta_log/0.json", b"{}")
    bucket.put("d/a.parquet", (folder / "a.parquet").read_bytes())
    for path in ("t", "t/*/*.parquet", "none", "d", "d/*.parquet", "t/none.parquet", ""):
        message = refusal(bucket.address(path))
        assert SECRET not in message
        assert "holder" not in message
        assert f"s3://{bucket.name}" in message
    assert "name=.../a.parquet' is not a readable Parquet file" in refusal(bucket.address("t"))


@pytest.mark.slow  # Arrow tries again for six seconds
def test_a_server_that_does_not_answer():
    settings = "endpoint_override=127.0.0.1:1&scheme=http&region=us-east-1"
    message = refusal(f"s3://holder:{SECRET}@bucket/t?{settings}")
    assert SECRET not in message


def test_a_bucket_without_credentials(monkeypatch):
    """The path to Google's storage is taken, and its refusal is told in one line."""
    monkeypatch.setattr(files, "_SECONDS", 1)
    for name in ("GOOGLE_APPLICATION_CREDENTIALS", "HOME"):
        monkeypatch.setenv(name, "/nowhere")
    monkeypatch.setenv("GCE_METADATA_ROOT", "127.0.0.1:1")
    for settings in ("", "?scheme=http&endpoint_override=127.0.0.1:1"):
        message = refusal(f"gs://bucket/people.parquet{settings}")
        assert "'gs://bucket/people.parquet' does not exist or cannot be opened" in message
        assert "how you sign in" in message


@pytest.mark.parametrize("address", ["s3://", "s3:///t", "gs://", "s3://a b?c=d", "s3://b?x=y"])
def test_addresses_that_are_none(address):
    assert "expected an address" in refusal(address)


def test_an_object_that_is_replaced_is_refused(folder):
    bucket = Bucket()
    opened = read_table(bucket.put_folder(folder, "t"), "y")
    opened.read_through()
    # Of the same size, perhaps within the same second.
    bucket.put("t/b.parquet", (folder / "a.parquet").read_bytes())
    with pytest.raises(TableError, match="start again"):
        opened.read_through()


def test_row_groups_are_fetched_one_by_one(tmp_path):
    pq.write_table(numbers(100), tmp_path / "t.parquet", row_group_size=10)
    bucket = Bucket()
    bucket.put("t.parquet", (tmp_path / "t.parquet").read_bytes())
    assert xs(bucket.address("t.parquet")) == list(range(100))
