"""Methods on the command line: their own options, what they do not estimate, how they fail."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import nolook
import nolook.cli
from nolook import PrivateFitFailed
from nolook.estimators.catalogue import METHODS
from nolook.report.model_findings import model_findings
from nolook.report.terminal import print_findings
from tests.report.command import BUDGET, columns, write_table
from tests.report.hand_made import CHOOSY, fitted, without


@pytest.fixture(scope="module")
def people(tmp_path_factory) -> Path:
    return write_table(tmp_path_factory.mktemp("tables") / "people.parquet", columns())


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_options_of_a_method_are_parameters_of_its_model(people, cli):
    words = ("--features", "age,height", "--straight", "age", "--monotone", "height=up")
    words += ("--method", "additive", "--output", "m.json")
    assert cli("fit", people, "--target", "income", *BUDGET, *words).status == 0
    model = nolook.load("m.json")
    assert (model.straight, model.monotone) == (["age"], {"height": "up"})


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture
def choosy(monkeypatch):
    """Puts a method with a test that fails, and parameters of its own, under the name tukey."""
    monkeypatch.setitem(METHODS, "tukey", CHOOSY)


def test_the_method_is_named_on_the_terminal(people, here, cli):
    assert "method: linear" in cli("fit", people, "--target", "income", *BUDGET).out


@pytest.mark.parametrize(("k", "kept"), [("1", {1}), ("2", {2}), ("auto", {1, 2})])
def test_a_regression_may_keep_few_columns(people, here, cli, k, kept):
    done = cli("fit", people, "-x", "city", "--target", "income", *BUDGET, "-k", k, "-o", "m.json")
    assert done.status == 0, done.err
    model = nolook.load(here / "m.json")
    assert model.get_params()["k"] == (k if k == "auto" else int(k))
    assert len(model.chosen_) == np.count_nonzero(model.coef_) in kept
    assert "chosen" in done.out


def test_a_failed_private_test_is_one_line_and_leaves_nothing_but_the_charge(
    people, here, cli, choosy
):
    nolook.Ledger.create(here / "a.ledger", nolook.Budget(5, 1e-4), name="a").close()
    words = ("fit", people, "-x", "city", "--target", "income", *BUDGET, "--method", "tukey")
    done = cli(*words, "--ledger", "a.ledger", "--report", "r.html", "--output", "m.json")
    assert done.status == PrivateFitFailed.exit_status == 4
    assert done.out == ""
    assert done.err.startswith("nolook: error: the private test failed")
    assert done.err.count("\n") == 1
    assert {name.partition("-")[0] for name in names_in(here)} == {"a.ledger"}
    with nolook.Ledger(here / "a.ledger") as ledger:
        assert ledger.spent.epsilon == 1.0


def test_a_constant_is_called_one_on_the_terminal_on_the_page_and_in_the_file(
    people, here, cli, choosy
):
    words = ("fit", people, "--target", "income", *BUDGET, "--method", "tukey")
    done = cli(*words, "--on-failure", "constant", "--report", "r.html", "--output", "m.json")
    assert done.status == 0, done.err
    model = nolook.load(here / "m.json")
    assert model.failed_
    assert model.get_params()["on_failure"] == "constant"
    sentence = "The private test of this fit failed"
    assert sentence in " ".join(done.out.split())
    assert sentence in (here / "r.html").read_text(encoding="utf-8")
    assert "This method estimates no intervals" in done.out
    assert "This method does not estimate how well the model fits" in done.out
    assert "None" not in done.out
    assert "95 %" not in done.out


NOT_ESTIMATED = "not estimated by this method"


@pytest.mark.parametrize(
    ("missing", "gone", "times"),
    [
        ((), [], 0),
        (("coef_interval_",), [], 2),
        # An interval is not shown without its number.
        (("r2_",), ["0.81", "0.75 to 0.88"], 1),
        (("r2_", "r2_interval_"), ["0.81", "0.75 to 0.88"], 1),
        (("rmse_interval_",), ["2.00 to 2.50"], 0),
    ],
)
def test_what_a_method_does_not_estimate_is_said_on_the_terminal(missing, gone, times):
    model = fitted()
    shown = printed(without(model, *missing) if missing else model)
    assert shown.count(NOT_ESTIMATED) == times
    for number in ("0.81", "0.75 to 0.88", "2.25", "2.00 to 2.50"):
        assert (number in shown) == (number not in gone)
    assert "95 % interval" in shown
    assert "None" not in shown


def test_a_method_that_estimates_nothing_says_so_on_the_terminal():
    shown = " ".join(printed(without(fitted())).split())
    assert "This method estimates no intervals" in shown
    assert "This method does not estimate how well the model fits" in shown
    assert "95 %" not in shown
    assert "None" not in shown


def test_the_terminal_names_the_seed_that_took_the_guarantee():
    assert "NOT PRIVATE: nothing is promised" in printed(fitted(private=False))


def printed(model) -> str:
    with io.StringIO() as text:
        console = Console(file=text, width=200)
        print_findings(console, model_findings(model), output=Path("m.json"), report_file=None)
        return text.getvalue()


@pytest.mark.parametrize("method", [name for name in METHODS if name != "tukey"])
def test_every_method_fits_reports_and_predicts(people, here, cli, method):
    words = ("fit", people, "--target", "income", *BUDGET, "--method", method)
    done = cli(*words, "--report", "r.html", "--output", "m.json")
    assert done.status == 0, done.err
    assert f"method: {method}" in done.out
    done = cli("predict", "--model", "m.json", people, "--output", "p.parquet")
    assert done.status == 0, done.err
    assert {"m.json", "r.html", "p.parquet"} <= names_in(here)


def test_a_real_tukey_fit_fails_on_few_rows_and_succeeds_on_more(people, here, cli):
    nolook.Ledger.create(here / "a.ledger", nolook.Budget(5, 1e-4), name="a").close()
    words = (
        *["-x", "city", "--target", "income", "--method", "tukey", "--ledger", "a.ledger"],
        *BUDGET,
    )
    done = cli("fit", people, *words)
    assert (done.status, done.out) == (4, "")
    assert "needs about" in done.err
    assert done.err.count("\n") == 1
    assert {name.partition("-")[0] for name in names_in(here)} == {"a.ledger"}
    larger = write_table(here / "larger.parquet", columns(rows=12_000))
    done = cli("fit", larger, *words, "--report", "r.html", "--output", "m.json")
    assert done.status == 0, done.err
    assert not nolook.load(here / "m.json").failed_
    with nolook.Ledger(here / "a.ledger") as ledger:
        assert ledger.spent.epsilon == 2.0
    done = cli("predict", "--model", "m.json", larger, "--output", "p.parquet")
    assert done.status == 0, done.err
