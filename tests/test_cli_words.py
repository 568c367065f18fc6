"""Words as people write them: what they mean in a fit, whatever the table's types."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nolook
from nolook.errors import ParameterError
from nolook.tables.words import places

ROWS = 600
BUDGET = ("-e", "20", "-d", "1e-6", "--random-state", "1", "-q")


@pytest.fixture
def data():
    """An outcome in half of the rows, and a number that groups shift: south +5, east -9."""
    rng = np.random.default_rng(4)
    x, group = rng.normal(50, 10, ROWS), rng.choice(["north", "south", "east"], ROWS)
    shift = np.array([{"north": 0.0, "south": 5.0, "east": -9.0}[each] for each in group])
    yes = rng.random(ROWS) < 0.5
    return {"x": x, "grp": group, "y": 3 + 0.5 * x + shift + rng.normal(size=ROWS), "yes": yes}


def stored(path, columns):
    """Write a table as CSV or Parquet."""
    table = pa.table(columns)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        lines = zip(*(column.to_pylist() for column in table.columns), strict=True)
        text = "\n".join(",".join("" if c is None else str(c) for c in line) for line in lines)
        path.write_text(",".join(columns) + f"\n{text}\n")
    return path


def written(yes, no, marks):
    return pa.array([yes if mark else no for mark in marks])


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize(
    ("yes", "no", "words"),
    [
        (1.0, 0.0, ("-p", "1")),
        (1, 0, ("-p", "1.0")),
        ("1.0", "0.0", ("-p", "1")),
        ("TRUE", "False", ("-p", "true")),
        ("YES", " no ", ("-p", "yes", "-n", "No")),
        (2, 1, ("-p", "2", "-n", "1.0")),
        ("yes", "no", ("-p", "yes", "-n", "...")),
    ],
)
def test_a_class_is_found_however_it_is_written(tmp_path, data, cli, ending, yes, no, words):
    path = stored(tmp_path / f"t{ending}", {"x": data["x"], "out": written(yes, no, data["yes"])})
    model = tmp_path / "m.json"
    assert cli("fit", path, "-t", "out", "-f", "x", *words, *BUDGET, "-o", model).status in {0, 5}
    assert nolook.load(model).base_rate_ == pytest.approx(data["yes"].mean(), abs=0.02)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_what_is_neither_class_is_missing(tmp_path, data, cli, ending):
    words = np.where(data["yes"], "yes", "no").astype(object)
    words[::3] = "unknown"
    path = stored(tmp_path / f"t{ending}", {"x": data["x"], "out": pa.array(words.tolist())})
    fit = ("fit", path, "-t", "out", "-f", "x", "-p", "yes", "--missing", "drop-row", *BUDGET)
    asked = cli(*fit, "-o", tmp_path / "a.json")
    assert asked.status == 2
    assert "--negative is not given" in asked.err
    assert cli(*fit, "-n", "no", "-o", tmp_path / "m.json").status in {0, 5}
    exact = (words == "yes").sum() / (words != "unknown").sum()
    assert nolook.load(tmp_path / "m.json").base_rate_ == pytest.approx(exact, abs=0.02)


@pytest.mark.parametrize(
    ("declared", "positive"),
    [
        ({"type": "boolean", "true": ["yes"], "false": ["no"]}, "1"),
        ({"type": "boolean", "true": ["yes"], "false": ["no"]}, "true"),
        ({"type": "category", "levels": ["no", "yes"]}, "maybe"),
        ({"type": "integer"}, "yes"),
        ({"type": "date"}, "yes"),
    ],
)
def test_what_a_schema_rules_out_is_refused_unread(tmp_path, declared, positive):
    gone = stored(tmp_path / "t.csv", {"x": [1.0], "out": ["yes"]})
    with pytest.raises(ParameterError, match=r"'out' (has the declared values|is of type)"):
        nolook.read_table(gone, "out", positive=positive, schema={"columns": {"out": declared}})


def test_one_word_of_a_boolean_needs_the_other():
    with pytest.raises(ParameterError, match="only one of true and false is given"):
        nolook.Schema({"out": {"type": "boolean", "true": ["yes"]}})


def difference(tmp_path, cli, grp, y, x, levels, name, missing="drop-row"):
    """What a fit says of south, compared with north."""
    path = stored(tmp_path / "t.csv", {"x": x, "grp": grp, "y": y})
    model = tmp_path / f"{name}.json"
    fit = ("fit", path, "-t", "y", "-f", "x,grp", "--categories", f"grp={levels}", *BUDGET)
    assert cli(*fit, "--missing", missing, "-o", model).status == 0
    found = nolook.load(model)
    return dict(zip(found.feature_names_in_, found.coef_, strict=True))


def test_an_empty_cell_of_a_category_is_missing(tmp_path, data, cli):
    grp = [None if one == "east" else str(one) for one in data["grp"]]
    args = grp, data["y"], data["x"], "north,south"
    for missing in ("drop-row", "zero", "centre"):
        found = difference(tmp_path, cli, *args, missing, missing)
        assert found["grp=south"] == pytest.approx(5.0, abs=0.6)
    assert found["grp=..."] == pytest.approx(-9.0, abs=0.6)


def test_a_level_nobody_declared_is_a_level_of_its_own(tmp_path, data, cli):
    found = difference(tmp_path, cli, data["grp"], data["y"], data["x"], "north,south", "a")
    assert found["grp=south"] == pytest.approx(5.0, abs=0.6)
    assert found["grp=..."] == pytest.approx(-9.0, abs=0.6)


def test_predictions_of_values_nobody_declared_are_counted(tmp_path, data, cli):
    difference(tmp_path, cli, data["grp"], data["y"], data["x"], "north,south", "a")
    grp = ["north", "North ", "east", "west", None]
    new = stored(tmp_path / "new.csv", {"x": [50.0] * 5, "grp": grp})
    done = cli("predict", "--model", tmp_path / "a.json", new, "-o", tmp_path / "p.parquet")
    assert "Values that are not declared, predicted as such: grp 2." in done.out
    assert "lack a value the model needs, left empty: 1." in done.out
    found = pq.read_table(tmp_path / "p.parquet")["prediction"].to_pylist()
    assert found[0] == found[1] == pytest.approx(28.0, abs=1.0)
    assert found[2] == found[3] == pytest.approx(19.0, abs=1.0)
    assert found[4] is None


def test_letter_case_does_not_matter(tmp_path, data, cli):
    grp = [word.title() if i % 2 else f"{word}  " for i, word in enumerate(data["grp"].tolist())]
    found = difference(tmp_path, cli, grp, data["y"], data["x"], "north,south,east", "a")
    assert found["grp=south"] == pytest.approx(5.0, abs=0.6)
    assert found["grp=east"] == pytest.approx(-9.0, abs=0.6)


@pytest.mark.parametrize(("policy", "rows"), [("other", 4), ("missing", 2)])
def test_a_schema_says_what_other_values_are(policy, rows):
    table = pa.table({"c": ["a", "B", "z", "?"], "y": [1.0, 2.0, 3.0, 4.0]})
    column = {"type": "category", "levels": ["A", "B"], "undeclared": policy}
    read = nolook.read_table(table, "y", schema={"columns": {"c": column}}, missing="drop-row")
    assert sum(batch.shape[1] for batch in read.batches()) == rows
    assert read.feature_names == ("c=B", "c=...")[: 1 + (policy == "other")]
    again = nolook.read_table(table, "y", **read.read_options())
    assert again.feature_names == read.feature_names


def test_a_model_keeps_the_words_of_its_outcome(tmp_path, data, cli):
    out = written("ja", "nein", data["yes"])
    path = stored(tmp_path / "t.csv", {"x": data["x"], "out": out})
    model = tmp_path / "m.json"
    words = ("-t", "out", "-f", "x", "-p", "ja", "-n", "nein")
    assert cli("fit", path, *words, *BUDGET[:4], "-q", "-o", model).status in {0, 5}
    done = cli("evaluate", path, "-m", model, "-e", "20", "-q", "-o", tmp_path / "e.json")
    assert done.status == 0, done
    found = nolook.load(tmp_path / "e.json").roc
    assert found.n_positive_ == pytest.approx(data["yes"].sum(), abs=30)
    assert cli("predict", "--model", model, path, "-o", tmp_path / "p.csv").status == 0


NUMBERS = ["-99", "-99.0", " -99 ", "5"]


@pytest.mark.parametrize("kind", [pa.string(), pa.float64(), pa.int64(), pa.float32()])
def test_a_word_for_nothing_is_compared_as_a_number(kind):
    cells = pa.array(NUMBERS) if kind == pa.string() else pa.array([-99, -99, -99, 5], kind)
    table = pa.table({"a": cells, "y": [1.0, 2.0, 3.0, 4.0]})
    schema = {"columns": {"a": {"type": "number", "missing": ["-99"]}}}
    read = nolook.read_table(table, "y", schema=schema, missing="drop-row")
    assert [batch.tolist() for batch in read.batches()] == [[[5.0], [4.0]]]


WORDS = st.lists(st.sampled_from(["a", "A", "b", "1", "1.0", "01", "x y", "É"]), unique=True)
CELLS = st.lists(st.none() | st.sampled_from(["a", " a", "B", "1", "1.00", "é", "X Y", "\x00"]))


def place(cell, words):
    """The rule, for one cell."""
    cell = cell.strip() if cell is not None else None
    for key in (
        str,
        str.lower,
        lambda text: float(text) if text.strip(".0123456789") == "" else None,
    ):
        if cell is None:
            return None
        alike = [
            i for i, word in enumerate(words) if key(word) is not None and key(word) == key(cell)
        ]
        if len(alike) == 1:
            return alike[0]
    return None


@given(words=WORDS, cells=CELLS)
def test_a_cell_is_the_word_it_says_or_the_one_it_is_like(words, cells):
    array = pa.array(cells, pa.string())
    assert places(array, words).to_pylist() == [place(cell, words) for cell in cells]
    coded = pc.dictionary_encode(array)
    assert places(coded, words).to_pylist() == places(array, words).to_pylist()


@given(st.binary(max_size=6), st.binary(max_size=6))
def test_identifiers_that_differ_in_any_byte_are_two_units(one, other):
    """Whatever a schema declares, but for cells of blanks alone, which are missing."""
    cells = pa.array([one, other], pa.binary()).view(pa.string())
    table = pa.table({"who": cells, "x": [1.0, 2.0]})
    for schema in (None, {"columns": {"who": {"type": "identifier", "use": "unit"}}}):
        read = nolook.read_table(
            table, unit="who", features=["x"], schema=schema, missing="drop-row"
        )
        named = {cell for cell in (one, other) if schema is None or cell.strip(b" \t\n\r\x0b\x0c")}
        assert read.count_units() == len(named)
