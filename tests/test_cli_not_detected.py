"""A fit whose target is lost in the noise says so everywhere, and shows no number of a model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import nolook
import nolook.cli
from nolook.algorithms.scaling import NoisyCount
from nolook.errors import TargetNotVisible
from nolook.estimators.catalogue import METHODS
from tests.report.command import BUDGET, ROWS, columns, write_table
from tests.report.hand_made import ESTIMATES
from tests.report.pages import Page

# Noise as large as these tests take it to be comes once in fifty times.
SEED = ("--random-state", "0")
NUMBERS_OF_A_MODEL = ("R²", "RMSE", "interval", "intercept", "Times scale")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "few.parquet", columns(rows=20))
    return tmp_path


def fit(*more, table="few.parquet"):
    files = ("--output", "m.json", "--report", "r.html")
    return ("fit", table, "--target", "income", *BUDGET, *files, *more)


# Any method, and any selection before one.
KINDS = {
    **{name: ("--method", name) for name in METHODS},
    "tukey": ("--method", "tukey", "--on-failure", "constant"),
    "selected": ("--select", "1"),
    "selected, then adassp": ("--select", "auto", "--method", "adassp"),
}


@pytest.mark.parametrize("more", KINDS.values(), ids=KINDS)
def test_a_model_of_too_few_rows_is_a_constant_and_says_so(here, cli, more):
    nolook.Ledger.create(here / "a.ledger", nolook.Budget(5, 1e-4), name="a").close()
    done = cli(*fit(*more, "--ledger", "a.ledger"))
    assert done.status == TargetNotVisible.exit_status == 5
    assert done.err.startswith("nolook: error: income did not stand out from the noise: ")
    assert done.err.count("\n") == 1
    with nolook.Ledger(here / "a.ledger") as ledger:
        assert ledger.spent.epsilon == 1.0

    page = Page((here / "r.html").read_text(encoding="utf-8"))
    assert (page.unbalanced, page.outside) == ([], [])
    printed = " ".join(done.out.split())
    for text in (page.text, printed):
        assert "There is no regression: the target did not stand out from the noise, since" in text
        assert "The budget is spent in full." in text
        assert [word for word in NUMBERS_OF_A_MODEL if word in text] == []

    document = json.loads((here / "m.json").read_text(encoding="utf-8"))
    part = document.get("model", document)
    assert part["scaling"]["detected"][-1] is False
    assert not any(part["coef"])
    assert {part[name.removesuffix("_")] for name in ESTIMATES} == {None}
    model = nolook.load(here / "m.json")
    assert model.detected_ is False
    assert not model.coef_.any()
    assert [name for name in ESTIMATES if getattr(model, name) is not None] == []
    assert model.intercept_ == model.scaling_.center[-1]
    assert model.rows_ == getattr(model, "regressor_", model).rows_ == NoisyCount(**part["rows"])

    done = cli("predict", "--model", "m.json", "few.parquet", "--output", "p.parquet")
    assert (done.status, done.err) == (0, "")
    assert "There is no regression" in done.out
    assert set(pq.read_table(here / "p.parquet")["prediction"].to_pylist()) == {model.intercept_}


def test_a_quiet_fit_still_tells_on_standard_error(here, cli):
    done = cli(*fit("--quiet"))
    assert (done.status, done.out) == (5, "")
    assert "did not stand out from the noise" in done.err


def test_a_column_without_a_number_is_suspected_where_hardly_any_row_was_usable(here, cli):
    data = columns()
    data["age"][:] = np.nan
    table = write_table(here / "gaps.parquet", data)
    for policy, status in (("drop-row", 5), ("zero", 0)):
        done = cli(*fit("--missing", policy, "--epsilon", "8", "--force", *SEED, table=table))
        assert done.status == status
        printed = " ".join(done.out.split())
        suspected = (
            "since hardly any row was usable (usual causes: text without declared" in printed
        )
        assert suspected == (policy == "drop-row")
        assert ("Fewer than" in printed) == (policy == "drop-row")
        model = nolook.load(here / "m.json")
        assert abs(model.rows_.value - ROWS * (policy == "zero")) < 6 * model.rows_.error


def test_no_warning_and_no_failure_tells_of_a_constant_in_python():
    data = columns(rows=20)
    X, y = np.column_stack([data["age"], data["height"]]), data["income"]
    model = nolook.LinearRegression(random_state=0).fit(X, y)
    assert not model.detected_
    assert set(model.predict(X).tolist()) == {model.intercept_}
    low, high = model.target_range_
    assert low <= model.intercept_ <= high
