"""Tables as people bring them: what the command line says of each, in the first lines and after.

`test_cli_words.py` has those about words, `tables/test_as_brought.py` those about how tables are
written. y is 3 + 0.5 x + 2 z + noise of 1 here, and budgets are so large that noise
explains nothing.
"""

from __future__ import annotations

import re

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nolook import load

ROWS = 600
BUDGET = ("-e", "20", "-d", "1e-6")
RNG = np.random.default_rng(8)
X, Z = RNG.normal(50, 10, ROWS).round(1), RNG.normal(size=ROWS).round(2)
Y = (3 + 0.5 * X + 2 * Z + RNG.normal(size=ROWS)).round(1)


def written(path, names, *columns):
    lines = [",".join(names), *(",".join(map(str, line)) for line in zip(*columns, strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


def said(done, words=300):
    """What is said before the tables."""
    return " ".join(done.out.split()[:words])


def test_probabilities_in_percent_are_asked_about(tmp_path, cli):
    shares = RNG.uniform(2, 99, ROWS).round(1)
    out = (RNG.random(ROWS) < shares / 100).astype(int)
    path = written(tmp_path / "t.csv", ["p", "out"], shares, out)
    done = cli("calibration", path, "--probability", "p", "-t", "out", "-e", "20")
    assert done.status == 0
    assert "have a probability of 1 or more" in said(done)
    assert "percent = true" in said(done)
    path = written(tmp_path / "u.csv", ["p", "out"], shares / 100, out)
    done = cli("calibration", path, "--probability", "p", "-t", "out", "-e", "20")
    assert "percent" not in said(done, 60)


def test_values_above_a_grid_are_said_to_be_there(tmp_path, cli):
    path = written(tmp_path / "t.csv", ["x"], X)
    done = cli("ecdf", path, "-c", "x", "-e", "5", "--grid", "0:10:0.1")
    assert "at least 9.9" in said(done)
    assert "The declared thresholds go from 0 to 10 in steps of 0.1" in said(done)
    assert done.out.count("wider grid") == 1
    assert "up to 10" not in said(done)
    assert done.out.count("no upper end") >= 5


def test_of_quantiles_at_the_ends_only_a_side_is_known(tmp_path, cli):
    path = written(tmp_path / "t.csv", ["x"], X)
    done = cli("quantiles", path, "-c", "x", "--at", "0,1", "-e", "1")
    assert done.status == 0
    assert "at most" in done.out
    assert "at least" in done.out
    assert "e+30" not in done.out


@pytest.mark.parametrize("command", ["ecdf", "quantiles", "roc"])
def test_a_header_alone_says_nothing(tmp_path, cli, command):
    (tmp_path / "t.csv").write_text("x,y\n")
    words = {
        "ecdf": ("-c", "x"),
        "quantiles": ("-c", "x", "--at", "0.5"),
        "roc": ("--score", "x", "-t", "y", "-p", "1"),
    }[command]
    done = cli(command, tmp_path / "t.csv", *words, "-e", "1")
    assert done.status == 0, done
    assert "Half of the rows" not in done.out
    assert re.search(r"values of x lie is not known|better than guessing is not known", said(done))
    assert not re.search(r"0 to 100 %|0\.0 to 1\.0", done.out)


def ends(done):
    return done.status, done.err


def test_a_word_for_nothing_is_no_question_about_somebody(tmp_path, cli):
    """Whether a cell is such a word does not change how a fit ends."""
    path = written(tmp_path / "t.csv", ["x", "z", "y"], X, Z, Y)
    found = []
    for word in (str(X[7]), "1234.5"):
        (tmp_path / "s.toml").write_text(
            f'columns.x = {{type = "number", missing = ["{word}"]}}\n'
            'columns.z.type = "number"\ncolumns.y.type = "number"\n'
        )
        fit = ("fit", path, "-t", "y", "-s", tmp_path / "s.toml", "-e", "0.001", "-d", "1e-9")
        found.append(ends(cli(*fit, "-o", "m.json", "--force")))
    assert found[0] == found[1]
    assert found[0][0] in {0, 5}


def test_a_conversion_is_no_question_about_somebody(tmp_path, cli):
    """A text declared to be a number, read of one person alone if that one has the secret."""
    with duckdb.connect(str(tmp_path / "t.duckdb")) as made:
        made.execute(
            "CREATE TABLE p AS SELECT i AS id, i * 0.1 AS x, i * 0.05 + 1 AS y, i % 97 = 0 AS ill, "
            "'n' || i AS note FROM range(1, 601) t(i)"
        )
    (tmp_path / "s.toml").write_text('columns.note.type = "number"\n')
    fit = ("fit", f"duckdb:{tmp_path / 't.duckdb'}#p", "-t", "y", "-f", "x,note")
    options = ("--schema", tmp_path / "s.toml", "-e", "0.001", "-d", "1e-9", "--unit", "id")
    found = []
    for person in (97, 98):
        where = ("--where", f"id = {person}", "--where", "ill = true")
        done = cli(*fit, *options, *where, "-o", "m.json", "--force")
        found.append(ends(done))
    assert found[0] == found[1]
    assert found[0][0] in {0, 5}


def test_a_column_added_later_is_named_with_both_files(tmp_path, cli):
    for year, more in ((2020, {}), (2021, {"z": Z})):
        (tmp_path / "t" / f"year={year}").mkdir(parents=True)
        table = pa.table({"x": X, "y": Y, **more})
        pq.write_table(table, tmp_path / "t" / f"year={year}" / "a.parquet")
    fit = ("fit", tmp_path / "t", "-t", "y", "-f", "x,z", *BUDGET, "-o", tmp_path / "m.json")
    done = cli(*fit)
    assert done.status == 2
    for word in ("'z'", "file 1", "file 2", "optional = true"):
        assert word in done.err
    (tmp_path / "s.toml").write_text('columns.z = {type = "number", optional = true}\n')
    assert cli(*fit, "-s", tmp_path / "s.toml").status == 0


def test_rows_lost_to_line_breaks_are_said_first(tmp_path, cli):
    notes = ['"seen,\nagain"' if i % 4 == 0 else "ok" for i in range(ROWS)]
    path = written(tmp_path / "t.csv", ["x", "z", "y", "note"], X, Z, Y, notes)
    fit = ("fit", path, "-t", "y", "-f", "x,z", *BUDGET, "-o", tmp_path / "m.json")
    done = cli(*fit)
    assert done.status == 0
    assert re.search(r"About \d\d % of the rows were left out", said(done, 60))
    assert "multiline = true" in said(done, 110)
    assert "nolook schema --check" in said(done, 110)


def test_a_category_whose_empty_cells_cost_rows_is_named(tmp_path, cli):
    groups = RNG.choice(["north", "south", ""], ROWS)
    path = written(tmp_path / "t.csv", ["x", "grp", "y"], X, groups, Y)
    fit = ("fit", path, "-t", "y", "-f", "x,grp", *BUDGET, "-o", tmp_path / "m.json", "--force")
    closed = ("--categories", "grp=north,south")
    assert "can cause that: x, grp and y;" in said(cli(*fit, *closed))
    (tmp_path / "s.toml").write_text(
        'columns.grp = {type = "category", levels = ["north", "south"], undeclared = "missing"}\n'
    )
    declared = cli(*fit, "-s", tmp_path / "s.toml", "--missing", "centre")
    assert "can cause that: grp and y;" in said(declared)


@pytest.mark.parametrize("command", ["fit", "roc", "calibration"])
def test_a_word_that_no_row_has_is_asked_about(tmp_path, cli, command):
    """Noise may be all that was counted, of either class."""
    shares = RNG.uniform(0, 1, ROWS).round(2)
    out = np.where(RNG.random(ROWS) < shares, "yes", "no")
    path = written(tmp_path / "t.csv", ["p", "out"], shares, out)
    words = {
        "fit": ("-f", "p"),
        "roc": ("--score", "p"),
        "calibration": ("--probability", "p"),
    }[command]
    for positive, negative, unseen in (("Jes", "no", "Jes"), ("yes", "nein", "nein")):
        given = ("-t", "out", "-p", positive, "-n", negative, "-e", "20")
        done = cli(command, path, *given, *words, "--force")
        assert done.status in {0, 5}
        assert f"About 0 rows have out = {unseen}: check the word." in said(done)
    done = cli(command, path, "-t", "out", "-p", "Jes", "-n", "Nein", "-e", "20", *words, "--force")
    assert "cause that: p and out (check the words given for them); so" in said(done)
    done = cli(command, path, "-t", "out", "-p", "yes", "-n", "no", "-e", "20", *words, "--force")
    assert "check the word" not in done.out


@pytest.mark.parametrize(
    ("command", "words", "left_out"),
    [
        ("compare-groups", ("--value", "x", "--by", "grp"), 0.1 + 0.9 * 0.5),
        ("survival", ("--time", "x", "--event", "out", "--by", "grp"), 0.1 + 0.9 * 0.75),
    ],
)
def test_rows_without_a_value_or_a_declared_level_are_counted(
    tmp_path, cli, command, words, left_out
):
    """A tenth have no value, half no level of `grp`, and half no declared event."""
    places = np.arange(2_000)
    x = ["" if i % 10 == 0 else f"{i % 97}.5" for i in places]
    groups, out = np.array(["a", "b", "z", ""])[places // 10 % 4], np.array(["0", "1", "9", ""])
    path = written(tmp_path / "t.csv", ["x", "grp", "out"], x, groups, out[places // 40 % 4])
    levels = ("--categories", "grp=a,b", "--categories", "out=0,1")
    done = cli(command, path, *words, *levels[: 2 * (len(words) // 2 - 1)], "-e", "20")
    assert done.status == 0
    counts = [
        int("".join(number).replace(",", ""))
        for number in re.findall(
            r"About ([\d,]+) rows used|values: about ([\d,]+) rows", said(done)
        )
    ]
    assert counts == [pytest.approx(2_000 * share, abs=25) for share in (1 - left_out, left_out)]
    assert "Missing or undeclared values of these columns can cause that: x" in said(done)
    assert "check the word" not in said(done)


@pytest.mark.parametrize("unseen", ["grp=a,B7", "out=0,7"])
def test_a_level_that_no_row_has_is_asked_about(tmp_path, cli, unseen):
    words = RNG.choice(["a", "b"], ROWS)
    path = written(tmp_path / "t.csv", ["x", "grp", "out"], X, words, RNG.integers(0, 2, ROWS))
    column, level = unseen.split("=")[0], unseen.split(",")[1]
    command = {
        "grp": ("compare-groups", path, "--value", "x", "--by", "grp"),
        "out": ("survival", path, "--time", "x", "--event", "out"),
    }[column]
    done = cli(*command, "--categories", unseen, "-e", "20")
    assert done.status == 0
    assert f"About 0 rows have {column} = {level}: check the word." in said(done)


@pytest.mark.parametrize("command", ["tabulate", "describe"])
def test_levels_of_a_column_that_hardly_a_row_has_are_asked_about(tmp_path, cli, command):
    words = RNG.choice(["a", "b"], ROWS)
    path = written(tmp_path / "t.csv", ["grp", "own"], words, words)
    levels = ("--categories", "grp=c,d", "--categories", "own=a,e")
    by = {"tabulate": ("--by", "grp,own"), "describe": ("-f", "grp,own")}[command]
    done = cli(command, path, *by, *levels, "-e", "20")
    assert done.status == 0, done.err
    assert done.out.count("check the word") == 1
    assert "About 0 rows have grp = c, d: check the word." in said(done)
    (tmp_path / "u.csv").write_text("grp,own\n")
    done = cli(command, tmp_path / "u.csv", *by, *levels, "-e", "20")
    assert "check the word" not in done.out


def test_letter_case_makes_no_other_level(tmp_path, cli):
    groups = RNG.choice(["north", "south", "east"], ROWS)
    y = (Y + 5.0 * (groups == "south") - 9.0 * (groups == "east")).round(1)
    told = np.where(RNG.random(ROWS) < 0.4, np.char.capitalize(groups), groups)
    path = written(tmp_path / "t.csv", ["y", "grp"], y, told)
    done = cli("fit", path, "-t", "y", "-f", "grp", *BUDGET, "-o", tmp_path / "m.json",
               "--categories", "grp=north,south,east")  # fmt: skip
    assert done.status == 0
    model = load(tmp_path / "m.json")
    south, east = model.coef_[:2]
    assert abs(south - 5.0) < 2.5
    assert abs(east + 9.0) < 2.5


def test_line_breaks_in_cells_are_named_by_the_draft_and_by_the_check(tmp_path, cli):
    notes = ['"seen,\nagain"' if i % 4 == 0 else "ok" for i in range(ROWS)]
    path = written(tmp_path / "t.csv", ["x", "z", "y", "note"], X, Z, Y, notes)
    done = cli("schema", path, "-o", tmp_path / "t.toml")
    assert "multiline = true" in done.out
    assert "multiline = true" in (tmp_path / "t.toml").read_text()
    assert "multiline = true" in cli("schema", "--check", path).out


def test_a_file_is_checked_as_it_would_be_drafted(tmp_path, cli):
    path = tmp_path / "t.csv"
    path.write_text("größe;straße\n" + "1,5;Süd\n2,5;Nord\n" * 45 + "krumm;Ost\n" * 10, "cp1252")
    done = cli("schema", "--check", path)
    assert (done.status, done.err) == (0, "")
    assert "größe (number): 10.0 % not as declared; first row 91" in said(done)
    assert "straße (" not in done.out


def test_a_decimal_comma_on_the_command_line_is_named(tmp_path, cli):
    path = written(tmp_path / "t.csv", ["x"], X)
    for given, right in (("0,5", "0.5"), (",25", "0.25")):
        done = cli("ecdf", path, "-c", "x", "-e", given)
        assert done.status == 2
        assert f"write {right} (see nolook ecdf --help)" in done.err
    assert "write" not in cli("quantiles", path, "-c", "x", "--at", "0,5", "-e", "one").err


def test_of_the_ends_of_a_column_nothing_empty_is_said(tmp_path, cli):
    path = written(tmp_path / "t.csv", ["x"], [*X[1:], "none"])
    done = cli("quantiles", path, "-c", "x", "--at", "0,1", "-e", "200", "--force")
    assert done.status == 0
    assert "0 % or more" not in done.out
    assert "values: about 1 row." in said(done)
