"""``nolook tabulate`` and ``nolook describe``."""

from __future__ import annotations

import csv
import re

import pandas as pd
import pytest

import nolook
from nolook.report.findings import plain
from tests.report.command import write_table
from tests.test_cli_show import columns

BY = ("--by", "word", "--categories", "word=yes,no", "--epsilon", "2")


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "people.parquet", columns())


def test_a_table_is_printed_kept_and_exported(cli):
    words = ("tabulate", "people.parquet", *BY, "--mean", "income", "--median", "age")
    done = cli(*words, "--share", "word=yes")
    assert (done.status, done.err.count("error")) == (0, 0), done.err
    assert "Mean of income" in done.out
    assert "people.word.tabulation.json" in done.out
    found = nolook.load("people.word.tabulation.json")
    exported = {
        form: cli("show", "people.word.tabulation.json", "--format", form).out
        for form in ("csv", "md", "latex")
    }
    rows = [*csv.DictReader(exported["csv"].splitlines())]
    assert [row["word"] for row in rows] == ["all", "yes", "no", "...", "missing"]
    assert len(rows) == len(found.to_frame())
    assert "| yes |" in exported["md"]
    assert r"yes & " in exported["latex"]
    for form in ("md", "latex"):
        *_, last = exported[form].rstrip().splitlines()
        assert last.startswith(found.privacy.in_words()[:20])
        assert "differential privacy with epsilon = " in last
        assert "take most of the budget" in exported[form]
    said = cli("show", "people.word.tabulation.json").out
    assert re.search(r"highest (mean of income|median of age|share of word)", said)


def test_a_table_of_two_columns_has_a_column_for_each_level(cli):
    levels = [f"--categories={each}" for each in ("word=yes,no", "died=0,1")]
    words = ("tabulate", "people.parquet", *levels, "--epsilon", "5", "--output", "a.json")
    done = cli(*words, "--by", "word,died", "--mean", "income", "--share", "died=1")
    assert done.status == 0, done.err
    assert re.search(r"^ +word +0 +1 +all", done.out, re.MULTILINE)
    assert re.search(r"^ +word +Share of died = 1", done.out, re.MULTILINE)
    shown = cli("show", "a.json", "--format", "md").out
    heads = [line for line in shown.splitlines() if line.startswith("| word |")]
    # Rows, mean and sum; the share of a column of groups is by the other.
    assert heads == ["| word | 0 | 1 | all |"] * 3 + ["| word | Share of died = 1 (known values) |"]
    assert cli("show", "a.json", "--format", "csv").out.count("differential privacy with") == 1


def test_a_picture_says_how_many_groups_it_leaves_out():
    levels = [f"l{place}" for place in range(50)]
    table = nolook.read_table(pd.DataFrame({"a": levels * 90}), categories={"a": levels})
    found = nolook.tabulate(table, "a", epsilon=5.0, random_state=0)
    (picture,) = (each for each in found.content().sections[0].figures)
    assert "the first 40 of 50 groups" in str(picture.caption)


def test_groups_that_may_be_the_largest_are_not_told_apart():
    def said(*cells):
        table = nolook.read_table(pd.DataFrame({"a": cells}), categories={"a": ["x", "y", "z"]})
        found = nolook.tabulate(table, "a", epsilon=0.5, random_state=0)
        return plain(*found.content().conclusion)

    first = r"The largest group is y \(not clearly larger than x\) with .* rows"
    assert re.fullmatch(f"{first}; the smallest is z with .* rows\\.", said(*"xy" * 500, *"zzzzz"))
    alike = "No group is clearly the largest: the intervals of y, x and z overlap."
    assert said(*"xyz" * 300) == alike


def test_the_largest_group_is_one_of_a_declared_level(cli):
    for levels, largest in (("yes", "yes"), ("no", "no")):  # most rows have the other one
        words = ("--by", "word", "--categories", f"word={levels}", "--output", f"{levels}.json")
        done = cli("tabulate", "people.parquet", *words, "--epsilon", "3")
        assert f"The largest group is {largest} with" in done.out, done.err


def test_several_tables_and_a_share_of_a_value_that_no_schema_declares(cli):
    done = cli(
        "tabulate", "people.parquet", *BY, "--by", "", "--share", "died=1", "--output", "a.json"
    )
    assert done.status == 2
    done = cli("tabulate", "people.parquet", *BY, "--share", "died=1", "--output", "a.json")
    assert done.status == 0, done.err
    frame = nolook.load("a.json").to_frame()
    assert frame.share_died_1["yes"] - frame.share_died_1["no"] > 0.2


def test_distributions_and_quantiles_of_each_group(cli):
    done = cli("ecdf", "people.parquet", "--column", "income", *BY, "--output", "a.json")
    assert done.status == 0, done.err
    frame = nolook.load("a.json").to_frame()
    values = frame.filter(regex="^income_q[^_]*_[0-9]*$")
    assert values.shape == (5, 21)
    assert (values.loc[["all", "yes", "no"]].diff(axis=1).iloc[:, 1:] >= 0.0).all(axis=None)
    words = ("quantiles", "people.parquet", "--columns", "age,income", *BY, "--at", "0.1,0.9")
    assert cli(*words, "--output", "b.json").status == 0
    assert {"age_q0_1", "income_q0_9"} < set(nolook.load("b.json").to_frame())


def test_the_distribution_of_a_category_is_its_counts(cli):
    options = ("--column", "word", "--categories", "word=yes,no", "--epsilon", "2")
    assert cli("ecdf", "people.parquet", *options, "--output", "a.json").status == 0
    found = nolook.load("a.json")
    assert (found.kind, [each.name for each in found.measured]) == ("tabulation", ["count"])


@pytest.mark.parametrize(
    "words",
    [
        ("ecdf", "--column", "income", "--grid", "0:9:1"),
        ("ecdf", "--column", "income", "--missing", "drop-row"),
        ("quantiles", "--columns", "income", "--grid", "income=0:9:1"),
    ],
)
def test_groups_refuse_what_belongs_to_one_distribution(cli, words):
    command, *own = words
    done = cli(command, "people.parquet", *BY, *own, "--output", "a.json")
    assert done.status == 2
    assert f"{own[2]} does not apply to groups" in done.err


def test_a_description_draws_small_distributions(cli):
    words = ("describe", "people.parquet", "--features", "age,income", "--epsilon", "9")
    done = cli(*words, "--output", "a.json")
    assert done.status == 0, done.err
    found = nolook.load("a.json")
    _, quantiles = found.content().sections[0].tables
    shapes = [row[-1] for row in quantiles.rows]
    assert all(len(each) == 12 and "█" in each for each in shapes)
    assert cli("show", "a.json", "--format", "latex").out.count(r"\rule{.4em}") == 24


def test_all_pairs_of_columns(cli):
    levels = [f"--categories={each}" for each in ("word=yes,no", "died=0,1", "age=20,30,40")]
    words = ("tabulate", "people.parquet", *levels, "--epsilon", "2", "--output", "b.json")
    done = cli(*words, "--all-pairs", "word,died,age")
    assert done.status == 0, done.err
    assert "Cramér's V" in done.out
    assert len(nolook.load("b.json").associations()) == 3
    done = cli(*words, "--all-pairs", "word,died,age", "--by", "word", "--force")
    assert done.status == 2
    assert "--all-pairs is given next to other tables" in done.err


def test_levels_that_nobody_declared_are_found(cli):
    words = ("tabulate", "people.parquet", "--by", "word", "--epsilon", "2", "--output", "b.json")
    done = cli(*words)
    assert done.status == 2
    done = cli(*words, "--find-levels")
    assert done.status == 0, done.err
    told = " ".join(done.out.split())
    assert "one of 50 rows with a probability of at least 95 %. " in told
    assert nolook.load("b.json").levels["word"] == ("no", "yes", "...", "missing")
    more = cli(*words, "--find-levels", "--epsilon", "20", "--force")
    assert "one of 10 rows with a probability" in " ".join(more.out.split())
    done = cli("tabulate", "people.parquet", *BY, "--find-levels")
    assert done.status == 2
    assert done.err.count("\n") == 1


def test_a_description_names_what_it_leaves_out(cli):
    done = cli("describe", "people.parquet", "--exclude", "risk", "--epsilon", "2")
    assert done.status == 0, done.err
    assert "word" in done.err + done.out
    assert {*nolook.load("people.description.json").to_frame().column} == {"age", "income", "died"}


@pytest.mark.parametrize(
    "words",
    [
        ("tabulate", "people.parquet", "--epsilon", "1"),
        ("tabulate", "people.parquet", "--by", "age", "--epsilon", "1"),
        ("tabulate", "people.parquet", *BY, "--quantiles", "0.1"),
        ("tabulate", "people.parquet", *BY, "--missing", "zero"),
        ("describe", "people.parquet", "--epsilon", "0"),
        ("plan", "--rows", "1000", "--method", "tabulate", "--want", "loss 0.1"),
    ],
)
def test_a_refusal_is_one_line(cli, words):
    done = cli(*words)
    assert done.status == 2
    assert done.err.count("\n") == 1


SURVEY = """
[file]
delimiter = ";"
decimal = ","
[columns.krank]
type = "boolean"
true = ["ja", "j"]
false = ["nein"]
[columns.lohn]
type = "number"
[columns.ort]
type = "category"
levels = ["Bern", "Basel"]
[columns.w]
type = "number"
use = "weights"
"""


def test_a_release_speaks_as_its_schema_does(cli, tmp_path):
    ill, places = ("ja", "nein", "j"), ("Bern", "Basel")
    lines = [f"{ill[i % 3]};{i % 97},5;{places[i % 2]};{1 + i % 4}" for i in range(900)]
    (tmp_path / "t.csv").write_text("krank;lohn;ort;w\n" + "\n".join(lines) + "\n")
    (tmp_path / "t.toml").write_text(SURVEY)
    words = ("tabulate", "t.csv", "--schema", "t.toml", "--epsilon", "3", "--output", "a.json")
    done = cli(*words, "--by", "krank,ort", "--by", "ort", "--mean", "lohn", "--share", "krank")
    assert done.status == 0, done.err
    assert re.search(r"^ +krank +Bern +Basel", done.out, re.MULTILINE)
    assert re.search(r"^ +ja ", done.out, re.MULTILINE)
    assert not re.search("true|false", done.out)
    assert "weights (w)" in " ".join(done.out.split())
    assert re.search(r"\((ja|nein), (Bern|Basel)\)", done.out)
    found = nolook.load("a.json")
    assert found.levels["krank"] == ("nein", "ja", "missing")
    frame = found.to_frame()
    assert abs(frame.share_krank[("all", "all")] - 2 / 3) < 0.1
    rows = [*csv.reader(cli("show", "a.json", "--format", "csv").out.splitlines(), delimiter=";")]
    counts = [row[rows[0].index("count")] for row in rows[1:]]
    assert all(re.fullmatch(r"-?\d+,\d+(e-?\d+)?|", each) for each in counts)
    assert float(counts[0].replace(",", ".")) == frame["count"].iloc[0]
    level = cli(*words, "--force", "--by", "ort", "--share", "krank=nein")
    assert level.status == 0, level.err
    wrong = cli(*words, "--force", "--by", "ort", "--share", "krank=false")
    assert "levels do not include 'false'; expected a declared level" in wrong.err
