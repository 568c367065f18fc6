"""Tables as people bring them: `nolook schema` finds how they are written, and they are read."""

from __future__ import annotations

import re
import tomllib

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nolook
from nolook.errors import ParameterError, TableError
from nolook.owner.draft import draft_schema

RNG = np.random.default_rng(44)
X, Z = RNG.normal(50, 10, 60).round(1), RNG.normal(size=60).round(2)
Y = (3 + 0.5 * X + 2 * Z).round(1)
LINES = [f"{x},{z},{y}" for x, z, y in zip(X, Z, Y, strict=True)]


def written(folder, *lines, encoding="utf-8", name="t.csv"):
    (folder / name).write_bytes("\n".join([*lines, ""]).encode(encoding))
    return folder / name


def read(path, *names):
    """The numbers of columns by the drafted schema, once its holder has read it."""
    draft = draft_schema(path)
    (path.parent / "d.toml").write_text(draft.text.replace("draft = true", ""), "utf-8")
    table = nolook.read_table(
        path, features=list(names), schema=path.parent / "d.toml", missing="drop-row"
    )
    return np.concatenate(list(table.batches()), axis=1), draft


def settings(draft):
    return tomllib.loads(draft.text)


TITLES = {
    "title": ["Ward report 2024", "", "x,z,y"],
    "title of all columns": ["Ward report 2024,,", "x,z,y"],
    "several": ["Ward report, 2024", "printed by, somebody, on, 1.1.2024, and so on", "x,z,y"],
    "none": ["x,z,y"],
}


@pytest.mark.parametrize("name", TITLES)
def test_titles_above_the_header(name, tmp_path):
    found, draft = read(written(tmp_path, *TITLES[name], *LINES), "x", "z", "y")
    np.testing.assert_array_equal(found, [X, Z, Y])
    titles = len([line for line in TITLES[name] if line]) - 1
    assert settings(draft)["file"].get("skip", 0) == titles
    assert ("A title stands above the header" in " ".join(draft.found)) == (titles > 0)


def test_a_title_is_asked_about_where_a_column_is_not_found(tmp_path):
    path = written(tmp_path, *TITLES["title"], *LINES)
    with pytest.raises(TableError, match=r"a title above the header\? .skip = 1"):
        nolook.read_table(path, "y", features=["x"])


@pytest.mark.parametrize("head", [",x,z,y", "Unnamed: 0,x,z,y", "rownames,x,z,y", '"","x","z","y"'])
@pytest.mark.parametrize("start", [0, 1])
def test_row_numbers_are_left_out_and_said(head, start, tmp_path):
    lines = [f"{i},{line}" for i, line in enumerate(LINES, start)]
    found, draft = read(written(tmp_path, head, *lines), "x", "z", "y")
    np.testing.assert_array_equal(found, [X, Z, Y])
    schema = nolook.Schema.read(tmp_path / "d.toml")
    assert schema.used_as("feature") == ("x", "z", "y")
    assert re.search("row number|numbers the rows", draft.found[0])


@pytest.mark.parametrize("quoted", [False, True])
def test_a_delimiter_at_the_end_of_lines(quoted, tmp_path):
    lines = [f'"{line.replace(",", chr(34) + ",", 1)}' if quoted else line for line in LINES]
    for head in ("x,z,y", "x,z,y,"):
        path = written(tmp_path, head, *(f"{line}," for line in lines))
        np.testing.assert_array_equal(read(path, "x", "z", "y")[0], [X, Z, Y])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "cp1252"])
def test_encodings_of_programs(encoding, tmp_path):
    path = written(tmp_path, "größe,z,y", *LINES, encoding=encoding)
    np.testing.assert_array_equal(read(path, "größe", "y")[0], [X, Y])


@pytest.mark.parametrize("ending", ["+02:00", "+0200", "+02", "-09:30", "Z"])
def test_offsets_of_times(ending, tmp_path):
    hours = {"+": 2.0, "-": -9.5, "Z": 0.0}[ending[0]]
    lines = [f"2021-01-{1 + i % 28:02} 12:30:00{ending},{y}" for i, y in enumerate(Y)]
    (days, y), _ = read(written(tmp_path, "when,y", *lines), "when", "y")
    first = 18628  # 2021-01-01
    expected = [first + i % 28 + (12.5 - hours) / 24 for i in range(60)]
    np.testing.assert_allclose(days, expected, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(y, Y)


@pytest.mark.parametrize(("days", "doubt"), [(range(1, 13), True), (range(1, 29), False)])
def test_two_readings_of_a_date(days, doubt, tmp_path):
    lines = [f"{days[i % len(days)]:02}/03/2021,{y}" for i, y in enumerate(Y)]
    _, draft = read(written(tmp_path, "when,y", *lines), "when", "y")
    assert ("day and month cannot be told apart" in " ".join(draft.found)) == doubt


def test_numbers_in_brackets_are_negative(tmp_path):
    lines = [f"({abs(z)})" if z < 0 else str(z) for z in Z]
    found, draft = read(
        written(tmp_path, "z,y", *map(",".join, zip(lines, map(str, Y), strict=True))), "z"
    )
    np.testing.assert_array_equal(found, [Z])
    assert settings(draft)["columns"]["z"]["type"] == "number"


def test_line_breaks_in_cells(tmp_path):
    lines = [f'{line},"seen,\nagain"' if i % 3 else f"{line},ok" for i, line in enumerate(LINES)]
    found, draft = read(written(tmp_path, "x,z,y,note", *lines), "x", "z", "y")
    np.testing.assert_array_equal(found, [X, Z, Y])
    assert settings(draft)["file"]["multiline"] is True
    assert "Cells hold line breaks: multiline = true." in draft.found
    path = written(tmp_path, "x,z,y,note", *(f'{line},"ok"' for line in LINES))
    assert "multiline" not in settings(draft_schema(path))["file"]


@pytest.mark.parametrize(
    ("code", "values", "is_code"),
    [("-99", X, True), ("999", X, True), ("99", X, False), ("-99", 100 * Z, False)],
)
def test_codes_for_missing_values(code, values, is_code, tmp_path):
    cells = [code if i % 6 == 0 else f"{value:.6g}" for i, value in enumerate(values)]
    path = written(tmp_path, "a,y", *(f"{a},{y}" for a, y in zip(cells, Y, strict=True)))
    found, draft = read(path, "a")
    assert found.size == (50 if is_code else 60)
    assert ("may stand for a missing value" in " ".join(draft.found)) == is_code


def test_what_the_first_rows_show_is_said_to_the_holder_and_not_in_the_draft(tmp_path):
    lines = [
        f"{['Nord', 'nord '][i % 2]},{['ja', 'nein', 'k. A.'][i % 3]},P{i},same,{y}"
        for i, y in enumerate(Y)
    ]
    draft = draft_schema(written(tmp_path, "place,ill,case,all,y", *lines))
    said = " ".join(draft.found)
    assert "Identifiers, not features: case." in said
    assert "place: some differ only in case (ignored but in identifiers)" in said
    assert "Missing in the sampled rows: ill 33 %." in said
    assert "Only one value in the sampled rows: all." in said
    assert settings(draft)["columns"]["ill"]["missing"] == ["k. A."]
    assert not re.search("Nord|nord|same|33 %", draft.text)


FOLLOWING = {
    "logarithm": lambda y: [f"{each:.12g}" for each in np.log(y)],
    "opposite": lambda y: [f"{-3 * each:.6g}" for each in y],
    "class": lambda y: [str(int(each > 28)) for each in y],
}


@pytest.mark.parametrize("name", FOLLOWING)
def test_columns_that_follow_from_the_target(name, tmp_path):
    cells = FOLLOWING[name](Y)
    path = written(tmp_path, "x,z,y,w", *(f"{a},{w}" for a, w in zip(LINES, cells, strict=True)))
    draft = draft_schema(path, "y")
    columns = settings(draft)["columns"]
    assert columns["y"]["use"] == "target"
    assert columns["w"]["use"] == "nothing"
    assert "use" not in columns["x"]
    assert "w may follow from y" in " ".join(draft.found)
    with pytest.raises(ParameterError, match="has no such column"):
        draft_schema(path, "v")


def test_a_text_that_says_the_same_as_the_target(tmp_path):
    lines = [
        f"{x},{int(y > 28)},{'alive' if y > 28 else 'dead'}" for x, y in zip(X, Y, strict=True)
    ]
    columns = settings(draft_schema(written(tmp_path, "x,out,alive", *lines), "out"))["columns"]
    assert columns["alive"]["use"] == "nothing"
    assert "use" not in columns["x"]


def stored(folder, **files):
    for name, table in files.items():
        (folder / "t").mkdir(exist_ok=True)
        pq.write_table(pa.table(table), folder / "t" / f"{name}.parquet")
    return folder / "t"


MIXED = {
    "double": pa.array([0.5, 1.5]),
    "float": pa.array([0.5, 1.5], pa.float32()),
    "small": pa.array([3, 4], pa.int8()),
    "unsigned": pa.array([3, 4], pa.uint64()),
    "decimal": pa.array([3, 4], pa.int64()).cast(pa.decimal128(24, 2)),
    "all null": pa.nulls(2),
}


@pytest.mark.parametrize("other", MIXED)
@pytest.mark.parametrize("turned", [False, True])
def test_files_of_other_numbers_are_one_table(other, turned, tmp_path):
    names = ["b", "a"] if turned else ["a", "b"]
    path = stored(tmp_path, **{
        names[0]: {"x": pa.array([1, 2]), "y": [1.0, 2.0]},
        names[1]: {"x": MIXED[other], "y": [1.0, 2.0]},
    })  # fmt: skip
    found = np.concatenate(
        list(nolook.read_table(path, "y", features=["x"], missing="drop-row").batches()), axis=1
    )
    expected = [1.0, 2.0, *(float(x) for x in MIXED[other].to_pylist() if x is not None)]
    assert sorted(found[0].tolist()) == sorted(expected)


def test_large_identifiers_of_mixed_files_are_not_merged(tmp_path):
    path = stored(
        tmp_path,
        a={"who": pa.array([2**60, 2**60 + 1]), "y": [1.0, 2.0]},
        b={"who": pa.array([1.0, 2.0]), "y": [1.0, 2.0]},
    )
    with pytest.raises(TableError, match="who"):
        nolook.read_table(path, features=["y"], unit="who")


def test_a_column_added_later(tmp_path):
    for year, more in ((2020, {}), (2021, {"z": [1.0, 2.0]})):
        (tmp_path / "t" / f"year={year}").mkdir(parents=True)
        table = pa.table({"x": [1.0, 2.0], "y": [1.0, 2.0], **more})
        pq.write_table(table, tmp_path / "t" / f"year={year}" / "a.parquet")
    with pytest.raises(TableError, match=r"\(file 2\) has a column 'z' that .*\(file 1\) lacks"):
        nolook.read_table(tmp_path / "t", "y", features=["x", "z"])
    draft = draft_schema(tmp_path / "t")
    assert settings(draft)["columns"]["z"] == {"type": "number", "optional": True}
    schema = nolook.Schema({"z": {"type": "number", "optional": True}})
    table = nolook.read_table(
        tmp_path / "t", "y", features=["x", "z"], schema=schema, missing="drop-row"
    )
    assert np.concatenate(list(table.batches()), axis=1).tolist() == [[1, 2]] * 3


def test_a_column_added_later_to_text_files(tmp_path):
    (tmp_path / "t").mkdir()
    written(tmp_path / "t", "x,y", "1,2", name="a.csv")
    written(tmp_path / "t", "y,x,z", "3,4,5", name="b.csv")
    columns = {"x": "number", "z": {"type": "number", "optional": True}}
    table = nolook.read_table(tmp_path / "t", schema=nolook.Schema(columns), missing="zero")
    assert np.concatenate(list(table.batches()), axis=1).tolist() == [[1, 4], [0, 5]]


@pytest.mark.parametrize("name", ["t.tsv", "t.txt", "t.tsv.gz"])
def test_other_names_of_text_files(name, tmp_path):
    import gzip

    delimiter = "\t" if ".tsv" in name else ","
    text = "\n".join(["x,z,y", *LINES]).replace(",", delimiter).encode()
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    table = nolook.read_table(tmp_path / name, "y", features=["x"])
    np.testing.assert_array_equal(np.concatenate(list(table.batches()), axis=1), [X, Y])
    np.testing.assert_array_equal(read(tmp_path / name, "x", "y")[0], [X, Y])


OBJECTS = [True, False, None, 1, 2.5, "3", np.float32(0.5), 4.0, np.nan, "true", np.bool_(True)]
READ = {
    "number": [1, 0, None, 1, 2.5, 3, 0.5, 4, None, 1, 1],
    "integer": [1, 0, None, 1, None, 3, None, 4, None, 1, 1],
    "boolean": [1, 0, None, 1, None, None, None, None, None, 1, 1],
}


@pytest.mark.parametrize("kind", READ)
def test_cells_of_objects_are_what_they_are_in_a_column_of_their_own(kind):
    frame = pd.DataFrame({"c": pd.Series(OBJECTS, dtype=object)})
    table = nolook.read_table(frame, features=["c"], schema={"columns": {"c": kind}})
    ((numbers, complete, _),) = table.batches_in_place()
    found = [n if known else None for n, known in zip(numbers[0], complete, strict=True)]
    assert found == READ[kind]


def test_objects_are_compared_with_levels_by_value():
    cells = [4, 4.0, "4", np.float64(4), 4.5, float("nan"), np.timedelta64("NaT")]
    frame = pd.DataFrame({"c": pd.Series(cells, dtype=object)})
    table = nolook.read_table(frame, categories={"c": [1, 4]})
    ((numbers, complete, _),) = table.batches_in_place()
    assert numbers.T[:5].tolist() == [[1, 0]] * 4 + [[0, 1]]
    assert complete.tolist() == [True] * 5 + [False] * 2


def test_equal_numbers_among_objects_are_one_unit():
    found = []
    for other in (1, 1.0, np.float32(1)):
        frame = pd.DataFrame(
            {"id": pd.Series([1, other, 2] * 50, dtype=object), "x": [1.0, 2, 3] * 50}
        )
        table = nolook.read_table(frame, features=["x"], unit="id")
        found.append(nolook.describe(table, epsilon=1.0, random_state=0).to_frame())
    assert found[0].equals(found[1])
    assert found[0].equals(found[2])


@pytest.mark.parametrize("missing", ["drop-row", "zero"])
def test_a_prediction_says_which_cells_were_not_as_declared(missing, tmp_path, cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{i % 7},{20 + i % 3},{'ab'[i % 2]},{i % 7 + i % 3}" for i in range(400)]
    written(tmp_path, "n,level,word,y", *rows)
    (tmp_path / "s.toml").write_text(
        '[columns]\nn = "integer"\nlevel = {type = "category", levels = ["20", "21", "22"]}\n'
        'word = {type = "category", levels = ["a", "b"]}\ny = "number"'
    )
    fit = ("fit", "t.csv", "-t", "y", "-e", "5", "--schema", "s.toml", "-o", "m", "--quiet")
    assert cli(*fit, "--missing", missing).status in {0, 5}
    new = ["1,20.0,a", "1.5, 21,B ", "70.5,22,c", ",20,a", "x,23,d", "1,20.5,a"]
    written(tmp_path, "n,level,word", *new, name="new.csv")
    done = cli("predict", "new.csv", "-m", "m", "-o", "p.csv")
    assert "Cells that are not as declared, taken as missing: n 3." in done.out
    undeclared = "level 1" if missing == "drop-row" else "level 2, word 2"
    assert f"Values that are not declared, predicted as such: {undeclared}." in done.out
    some = cli("predict", "new.csv", "-m", "m", "-o", "q.csv", "--where", "level = 20")
    assert "not as declared" not in some.out
    assert not cli("predict", "new.csv", "-m", "m", "-o", "r.csv", "--quiet").out
