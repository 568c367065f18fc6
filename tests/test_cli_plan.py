"""``nolook plan``: from stated numbers, or from rows that are counted and paid for."""

from __future__ import annotations

import html
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nolook
from nolook.tables.files import File
from tests.hostile.harness import run

ROWS = 3_000


@pytest.fixture
def folder(tmp_path):
    place = np.arange(ROWS)
    columns = {"a": place % 7, "b": place % 11, "y": place % 13, "who": place // 3}
    fields = [pa.field(name, pa.int64(), nullable=False) for name in columns]
    pq.write_table(pa.table(columns, schema=pa.schema(fields)), tmp_path / "table.parquet")
    nolook.Ledger.create(
        tmp_path / "its.ledger", nolook.Budget(2.0, 1e-5), name="its", relation="add-remove"
    ).close()
    return tmp_path


def spent(folder):
    with nolook.Ledger(folder / "its.ledger") as ledger:
        return ledger.spent.epsilon


@pytest.fixture
def unreadable(monkeypatch):
    def refuse(*_):
        raise AssertionError("a row was read")

    monkeypatch.setattr(File, "batches", refuse)


@pytest.mark.usefixtures("unreadable")
def test_stated_numbers_open_no_rows_and_charge_nothing(folder):
    done = run(
        folder, "plan", "table.parquet", "-t", "y", "--features", "a,b", "--rows", 9000,
        "--ledger", "its.ledger", "--want", "interval 0.2", "--report", "plan.html",
    )  # fmt: skip
    assert done.status == 0, done.err
    assert "9,000 rows, 2 columns" in done.out
    assert re.search(r"about epsilon \d", done.out)
    assert spent(folder) == 0.0
    page = (folder / "plan.html").read_text(encoding="utf-8")
    assert "polyline" in page
    assert "Loss of R2" in page
    assert "easiest to the hardest" in page


def test_rows_are_counted_for_their_price(folder):
    words = ("plan", "table.parquet", "-t", "y", "--features", "a,b", "--count-epsilon", 1)
    done = run(folder, *words, "--ledger", "its.ledger")
    assert done.status == 0, done.err
    assert spent(folder) == 1.0
    counted = int(re.search(r"linear: ([\d,]+) rows", done.out)[1].replace(",", ""))
    assert abs(counted - ROWS) < 60
    done = run(folder, *words, "--unit", "who", "--ledger", "its.ledger")
    assert done.status == 2  # this ledger protects rows
    assert spent(folder) == 1.0


def test_units_are_counted_once(folder):
    words = ("plan", "table.parquet", "--features", "a", "--count-epsilon", 2, "--unit", "who")
    done = run(folder, *words)
    assert done.status == 0, done.err
    counted = int(re.search(r"linear: ([\d,]+) row", done.out)[1].replace(",", ""))
    assert abs(counted - ROWS / 3) < 40


def test_a_survey_counts_as_rows_of_the_largest_weight(folder):
    words = ("plan", "table.parquet", "--features", "a", "--count-epsilon", 2, "--weights", "b")
    done = run(folder, *words)
    assert done.status == 0, done.err
    counted = int(re.search(r"linear: ([\d,]+) rows of the largest", done.out)[1].replace(",", ""))
    assert ROWS * 5 / 16 - 60 < counted < ROWS / 2 + 60  # the bound found is from 10 to 16
    plain, weighted = (
        nolook.plan(1_500, 1, epsilon=1.0, weighted=each).lines[0] for each in (False, True)
    )
    assert 1.0 < weighted.interval.expected / plain.interval.expected < 1.1
    plain, weighted = (
        nolook.plan(1_500, method="ecdf", epsilon=e, weighted=w).lines[0].error
        for e, w in ((0.8799 * 0.9, False), (1.0, True))
    )
    assert weighted == plain


def test_survey_weights_of_a_schema_are_planned_for(folder):
    folder.joinpath("s.toml").write_text('[columns.b]\ntype = "number"\nuse = "weights"\n')
    words = ("plan", "--rows", 1_000, "--columns", 2)
    plain, given, declared = (
        run(folder, *words, *more).out for more in ((), ("--weights", "b"), ("--schema", "s.toml"))
    )
    assert plain != given == declared
    assert run(folder, *words, "--schema", "s.toml", "--weights", "none").out == plain
    for method in ("compare-groups", "survival"):
        done = run(folder, *words, "--method", method, "--schema", "s.toml")
        assert "rows of the largest weight" in done.out, done.err


def test_a_plan_leaves_out_the_columns_that_a_fit_would(folder):
    words = ("plan", "table.parquet", "-t", "y", "--exclude", "who", "--rows", 1_000)
    assert "linear: 1,000 rows, 2 columns" in run(folder, *words).out
    done = run(folder, *words, "--exclude", "wo")
    assert done.status == 2


@pytest.mark.usefixtures("unreadable")
def test_a_dry_run_of_a_count_reads_and_charges_nothing(folder):
    done = run(
        folder, "plan", "table.parquet", "--features", "a", "--count-epsilon", 0.5,
        "--ledger", "its.ledger", "--dry-run",
    )  # fmt: skip
    assert done.status == 0, done.err
    assert "would be charged epsilon 0.5" in " ".join(done.out.split())
    assert spent(folder) == 0.0


def test_a_quiet_plan_without_a_table_prints_nothing(folder):
    assert run(folder, "plan", "--rows", 1000, "--columns", 3, "--quiet").out == ""


def test_whether_tukey_has_enough_rows(folder):
    done = run(folder, "plan", "--rows", 6500, "--columns", 5, "--method", "tukey", "-e", 0.5,
               "-e", 1)  # fmt: skip
    assert "too few rows" in done.out
    assert "enough" in done.out
    assert "not known" in done.out


def test_tabulate_plans_the_columns_of_its_means_and_names_those_it_assumed(folder, unreadable):
    words = ("plan", "table.parquet", "--method", "tabulate", "--rows", ROWS, "-e", 1)
    assert "assumed (choose by --features): a, b, y and who." in run(folder, *words).out
    done = run(folder, *words, "--mean", "a,b")
    assert "2 columns" in done.out
    assert "assumed" not in done.out
    # Counts of categories take little of the budget: planned are numbers.
    levels = ("--categories", "b=1,2,3", "--categories", "y=1,2")
    for method in ("describe", "tabulate"):
        done = run(folder, *words, "--method", method, *levels)
        assert "assumed (choose by --features): a and who." in done.out
        assert "2 columns" in done.out


@pytest.mark.parametrize("where", [("a >= 2",), ("b in 1,2", "y < 9"), ("who != 4",)])
def test_a_plan_names_the_rows_it_is_about(where, folder, unreadable):
    chosen = [word for each in where for word in ("--where", each)]
    words = ("plan", "--method", "linear", "--columns", 2, "--rows", 700, "-e", 1)
    done = run(folder, *words, "table.parquet", *chosen, "--report", "plan.html")
    said = f"Plan of linear, rows where {' and '.join(where).replace('1,2', '1, 2')}: 700 rows"
    assert said in done.out
    assert said in html.unescape((folder / "plan.html").read_text(encoding="utf-8"))
    assert "there is no table" in run(folder, *words, *chosen).err
