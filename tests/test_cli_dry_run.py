"""``--dry-run``: what every command that makes a release would do, without reading a row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import nolook
from nolook.tables.files import File
from tests.hostile.commands import COMMANDS, release
from tests.hostile.harness import run
from tests.ledgers import new_ledger

# What intervals simulate is tested in tests/algorithms.
pytestmark = pytest.mark.usefixtures("few_repeats")

COLUMNS = ("a", "b")
ROWS = 400


@pytest.fixture
def folder(tmp_path):
    place = np.arange(ROWS)
    table = pa.table({"a": place % 7 / 7.0, "b": place % 5 / 5.0, "y": place % 2})
    pq.write_table(table, tmp_path / "table.parquet")
    csv.write_csv(table, tmp_path / "table.csv")
    budget = nolook.Budget(1.5, 1e-5)
    new_ledger(tmp_path / "its.ledger", budget, name="its")
    return tmp_path


@pytest.fixture
def unreadable(monkeypatch):
    def refuse(*_):
        raise AssertionError("a row was read")

    monkeypatch.setattr(File, "batches", refuse)


def asked(folder, name, *more, table="table.parquet"):
    return run(folder, *release(name, table, COLUMNS), "--output", "out.json", *more)


def files(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("table", ["table.parquet", "table.csv"])
@pytest.mark.usefixtures("unreadable")
def test_a_dry_run_reads_no_row_and_leaves_every_file_as_it_is(folder, name, table):
    (folder / "out.json").write_text("an older release")  # a dry run needs no free name
    before = files(folder)
    done = asked(folder, name, "--ledger", "its.ledger", "--dry-run", table=table)
    assert done.status == 0, done.err
    assert files(folder) == before
    assert "epsilon 0.5" in done.out.replace("\n", " ")
    assert "would be left" in done.out.replace("\n", " ")


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.usefixtures("unreadable")
def test_the_same_command_without_it_reads_rows(folder, name):
    with pytest.raises(AssertionError, match="internal error"):
        asked(folder, name)


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_announced_is_what_is_then_charged(folder, name):
    said = " ".join(asked(folder, name, "--ledger", "its.ledger", "--dry-run").out.split())
    assert asked(folder, name, "--ledger", "its.ledger").status == 0
    with nolook.Ledger(folder / "its.ledger") as ledger:
        (entry,) = ledger.history()
        left = ledger.remaining
    assert f"Dry run: {entry.description} of {entry.details.table}." in said
    charged = f"epsilon {entry.cost.epsilon:g}, delta {entry.cost.delta:g};"
    assert f"would be charged {charged}" in said
    assert f"epsilon {left.epsilon:g}, delta {left.delta:g} would be left" in said


@pytest.mark.usefixtures("unreadable")
def test_steps_are_listed_and_quiet_prints_nothing(folder):
    done = asked(folder, "fit", "--dry-run")
    assert "Gaussian" in done.out
    assert "No ledger is given" in done.out
    assert asked(folder, "fit", "--dry-run", "--quiet").out == ""


@pytest.mark.usefixtures("unreadable")
def test_the_noise_of_counts_and_means_is_stated(folder):
    said = " ".join(asked(folder, "tabulate", "--dry-run").out.split())
    assert "In 95 % of draws noise changes a count by at most" in said
    assert "noise changes" not in asked(folder, "fit", "--dry-run").out
    words = ("--by", "a", "--mean", "b", "--categories", "a=0,1", "--weights", "y", "--dry-run")
    said = " ".join(run(folder, "tabulate", "table.parquet", "-e", "1", *words).out.split())
    assert "times the largest weight counted, which is found first" in said
    assert "the mean of 1,000 rows of this weight by at most" in said


@pytest.mark.usefixtures("unreadable")
def test_what_the_ledger_would_refuse_is_refused(folder):
    nolook.Ledger.create(folder / "small.ledger", nolook.Budget(0.5, 1e-7), name="small").close()
    done = asked(folder, "fit", "--ledger", "small.ledger", "--dry-run")
    assert done.status == nolook.BudgetExceededError.exit_status


@pytest.mark.usefixtures("unreadable")
@pytest.mark.parametrize(
    ("words", "read"),
    [
        (("fit", "-t", "y", "-f", "a,b", "--categories", "b=0,0.2,0.4,0.6,0.8,7,8"),
         "a, b (0, 0.2, 0.4, 0.6, 0.8, 2 more, ...), y (target)."),
        (("describe", "-f", "a", "--weights", "b", "--unit", "y"),
         "a, b (survey weights), y (unit)."),
        (("fit", "--formula", "log(y) ~ a + I(a**2)", "--weights", "b"),
         "a, I(a**2), log(y) (target), b (survey weights)."),
        (("ecdf", "-c", "a", "--weights", "b"), "a, b (survey weights)."),
        (("tabulate", "--by", "a", "--mean", "b", "--categories", "a=0,1", "--weights", "y"),
         "a (0, 1, ...), b, y (survey weights)."),
        (("compare-groups", "--value", "a", "--by", "y", "--categories", "y=0,1"),
         "y (0, 1, ...), a."),
        (("roc", "--score", "a", "-t", "y"), "a, y (target)."),
    ],
)  # fmt: skip
def test_a_dry_run_lists_what_would_be_read(folder, words, read):
    command, *own = words
    found = run(folder, command, "table.parquet", "-e", "1", "--dry-run", *own)
    assert f"It would read {read}" in " ".join(found.out.split()), found.err
