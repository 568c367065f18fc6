"""Nothing paid for is lost: names of outputs, older files, ledgers, interruptions."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nolook
import nolook.cli
from nolook.formats.files import default_name
from tests.hostile.commands import COMMANDS, release
from tests.ledgers import new_ledger
from tests.report.command import BUDGET, columns, write_table

# What intervals simulate is tested in tests/algorithms.
pytestmark = pytest.mark.usefixtures("few_repeats")

LEDGER = "a.ledger"
FIT = ("fit", "people.parquet", "--target", "income", *BUDGET, "--method", "adassp")
NOT_CHARGED = "not charged to any ledger"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    data = columns()
    write_table(tmp_path / "people.parquet", data)
    write_table(
        tmp_path / "T.parquet", {"a": data["age"], "b": data["height"], "y": data["member"]}
    )
    new_ledger(tmp_path / LEDGER, nolook.Budget(50, 1e-4), name="people")
    return tmp_path


def spent(path=LEDGER) -> float:
    with nolook.Ledger(path) as ledger:
        return ledger.spent.epsilon


def charged(path=LEDGER):
    with nolook.Ledger(path) as ledger:
        return ledger.history()[-1].details


def test_a_file_that_exists_and_an_overdraft_are_one_refusal(here, cli):
    (here / "m.json").touch()
    done = cli(*FIT, "--epsilon", "60", "--output", "m.json", "--ledger", LEDGER)
    assert done.status == 2
    assert "m.json, which exists" in done.err
    assert "has epsilon 50 and" in done.err
    assert done.err.strip().count("\n") == 0
    assert spent() == 0.0


@given(st.lists(st.text(min_size=1), min_size=1, max_size=30, unique=True))
def test_a_default_name_is_short_and_safe_whatever_columns_are_called(names):
    made = default_name(Path("/data/people.csv"), names, "model.json")
    stem, named, *ending = made.name.split(".")
    assert (stem, ending) == ("people", ["model", "json"])
    assert made.parent == Path()
    assert len(named) <= 43
    assert all(letter.isalnum() or letter in "-_+" for letter in named)


def test_columns_of_a_default_name():
    for names, named in (
        (["income"], "income"),
        (["net income, 2024"], "net_income__2024"),
        (["../etc/x"], "___etc_x"),
        (["age", "income", "größe"], "age+income+größe"),
        ([f"column{i}" for i in range(9)], "column0+8"),
        (["x" * 99], "x" * 40),
    ):
        assert default_name(Path("t.parquet"), names, "e.json").name == f"t.{named}.e.json"


EXPECTED = {
    "fit": "T.y.model.json",
    "select": "T.y.selection.json",
    "evaluate": "T.a.evaluation.json",
    "ecdf": "T.a.distribution.json",
    "quantiles": "T.a+b.quantiles.json",
    "roc": "T.a+y.roc.json",
    "calibration": "T.a+y.calibration.json",
    "compare-groups": "T.a+y.comparison.json",
    "survival": "T.a+y.survival.json",
    "tabulate": "T.all.tabulation.json",
    "describe": "T.description.json",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_release_is_called_after_its_columns_and_never_replaced_unasked(name, here, cli):
    words = [*release(name, "T.parquet", ["a", "b"]), "--ledger", LEDGER, "--quiet"]
    assert cli(*words) == (0, "", "")
    paid = (here / EXPECTED[name]).stat()
    detail = charged()
    assert (detail.table, detail.output, detail.unit) == ("T.parquet", EXPECTED[name], "row")
    assert detail.schema is None
    # A class is named with the value that makes it, as it was declared.
    assert set(detail.about.split(", ")) <= {"a", "b", "y", "y=true", "prediction"}
    (here / "r.html").write_text("a report")
    free = ("--output", "new.json", "--report", "r.html")
    for more, shown in (((), EXPECTED[name]), (free, "r.html")):
        done = cli(*words, *more)
        assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
        assert f"is {shown}, which exists (give another name" in done.err
        assert "--force" in done.err
    assert spent() == 1.0
    assert (here / EXPECTED[name]).stat().st_ino == paid.st_ino
    assert (here / "r.html").read_text() == "a report"
    assert cli(*words, "--report", "r.html", "--force").status == 0
    assert (here / EXPECTED[name]).stat().st_ino != paid.st_ino
    assert (here / "r.html").read_text() != "a report"
    assert spent() == 2.0


SEEDED = {name: release(name, "T.parquet", ["a", "b"]) for name in COMMANDS}
SEEDED["select"] += ["--epsilon", "0.01"]
SEEDED["fit of a choice"] = [*SEEDED["fit"], "--select", "1"]


@pytest.mark.parametrize("words", SEEDED.values(), ids=SEEDED)
def test_a_seed_repeats_a_release_marks_it_everywhere_and_is_not_charged(words, here, cli):
    seeded = (*words, "--random-state", "3")
    kept = set()
    for name in ("one", "two"):
        done = cli(*seeded, "--output", f"{name}.json", "--report", f"{name}.html")
        assert "NOT PRIVATE: nothing is promised" in done.out
        assert "NOT PRIVATE" in (here / f"{name}.html").read_text(encoding="utf-8")
        kept.add((here / f"{name}.json").read_text(encoding="utf-8"))
    assert len(kept) == 1
    assert not nolook.load(here / "one.json").privacy.private
    done = cli(*seeded, "--ledger", LEDGER)
    assert (done.status, done.out, done.err.count("\n"), spent()) == (2, "", 1, 0.0)


@pytest.mark.parametrize("name", COMMANDS)
def test_what_exceeds_the_ledger_is_refused(name, here, cli):
    words = release(name, "T.parquet", ["a", "b"])
    done = cli(*words, "--epsilon", "51", "--ledger", LEDGER)
    assert (done.status, done.out, done.err.count("\n"), spent()) == (3, "", 1, 0.0)
    assert not (here / EXPECTED[name]).exists()


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_says_what_the_output_is_called(name, cli, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    printed = cli(name, "--help").out
    ending = EXPECTED[name].split(".", 2)[2]
    assert "by default TABLE." in printed
    assert f".{ending} here" in printed
    assert "NOLOOK_LEDGER" in printed


def test_a_release_without_a_ledger_says_so_once(cli, monkeypatch):
    done = cli(*FIT)
    assert done.out.count(NOT_CHARGED) == 1
    assert NOT_CHARGED not in cli(*FIT, "--force", "--ledger", LEDGER).out
    # What is not private cannot be charged, and says so itself.
    assert NOT_CHARGED not in cli(*FIT, "--force", "--random-state", "1").out
    assert cli(*FIT, "--force", "--quiet").out == ""


def test_an_epsilon_that_protects_hardly_anybody_is_said_of_a_result(cli):
    weak = "the guarantee limits next to nothing"
    fit = [*FIT, "--force", "--epsilon"]
    done = cli(*fit, "10")
    assert "Epsilon is 10: above 8 the guarantee limits next to nothing" in " ".join(
        done.out.split()
    )
    assert weak not in " ".join(cli(*fit, "10", "--random-state", "1").out.split())
    assert weak not in " ".join(cli(*fit, "8").out.split())
    assert cli(*fit, "10", "--quiet").out == ""


def test_a_ledger_of_the_environment_is_charged_unless_another_is_given(here, cli, monkeypatch):
    monkeypatch.setenv("NOLOOK_LEDGER", LEDGER)
    nolook.Ledger.create("b.ledger", nolook.Budget(2, 1e-4), name="other").close()
    assert NOT_CHARGED not in cli(*FIT).out
    assert (spent(), spent("b.ledger")) == (1.0, 0.0)
    assert cli(*FIT, "--force", "--ledger", "b.ledger").status == 0
    assert (spent(), spent("b.ledger")) == (1.0, 1.0)
    assert "people" in cli("ledger", "show").out
    assert "other" in cli("ledger", "show", "b.ledger").out
    assert cli("ledger", "charge", "--epsilon", "1", "--what", "a table").status == 0
    assert spent() == 2.0
    refused = cli(*FIT, "--force", "--random-state", "1")
    assert (refused.status, spent()) == (2, 2.0)
    assert cli("ledger", "create", *BUDGET).status == 2  # a new one is named
    monkeypatch.setenv("NOLOOK_LEDGER", "nowhere.ledger")
    assert "nowhere.ledger" in cli(*FIT, "--force").err
    monkeypatch.setenv("NOLOOK_LEDGER", "")
    assert NOT_CHARGED in cli(*FIT, "--force").out


def test_a_release_made_elsewhere_is_entered(cli):
    enter = ("ledger", "charge", LEDGER, "--what", "table 3 of the report")
    assert cli(*enter, "--epsilon", "0.5", "--delta", "1e-6") == (0, "", "")
    assert cli(*enter, "--epsilon", "49", "--relation", "add-remove").status == 0
    with nolook.Ledger(LEDGER) as ledger:
        assert [(e.description, e.state, e.cost.delta) for e in ledger.history()] == [
            ("table 3 of the report", "complete", 1e-6),
            ("table 3 of the report", "complete", 0.0),
        ]
    for words, status, said in (
        (("--epsilon", "1"), 3, "left"),
        (("--epsilon", "0"), 2, "--epsilon"),
        (("--epsilon", "0.1", "--delta", "1"), 2, "--delta"),
        (("--epsilon", "0.1", "--relation", "replace"), 2, "replace"),
        (("--epsilon", "0.1", "--relation", "x"), 2, "--relation"),
        (("--epsilon", "0.1", "--what", "two\nlines"), 2, "--what is"),
    ):
        done = cli(*enter, *words)
        assert (done.status, done.out, done.err.count("\n")) == (status, "", 1)
        assert said in done.err
    assert spent() == 49.5


def test_a_ledger_is_shown_on_a_page(here, cli):
    assert cli(*FIT, "--ledger", LEDGER, "--quiet").status == 0
    words = ("ledger", "report", LEDGER, "--output", "l.html")
    assert cli(*words) == (0, "report: l.html\n", "")
    page = (here / "l.html").read_text()
    for text in (
        "income of people.parquet",
        "people.income.model.json",
        "AdaSSP",
        "epsilon&nbsp;49",
    ):
        assert text in page
    assert "which exists" in cli(*words).err
    assert cli(*words, "--force").status == 0
    taken = cli("ledger", "report", LEDGER, "--output", LEDGER, "--force")
    assert "is used for something else" in taken.err
    assert spent() == 1.0


PLACES = {
    "before": ("nolook.tables.read", "plan", "nothing was charged, and {} was not written"),
    "release": (
        "nolook.algorithms.adassp",
        "release_ridge",
        "{} was not written; to start again is",
    ),
    "page": ("nolook.report._templates", "template", "{} was written, but not its report\n"),
    "terminal": ("nolook.report.terminal", "print_findings", "{} was written\n"),
}


@pytest.mark.parametrize("place", PLACES)
def test_after_an_interruption_the_terminal_says_what_was_charged(here, place, cli, replace):
    module, function, said = PLACES[place]

    def stop(*_, **__):
        raise KeyboardInterrupt

    replace(module, function, stop)
    words = (*FIT, "--ledger", LEDGER, "--report", "r.html", "--exclude", "city")
    done = cli(*words)
    assert (done.status, done.out) == (130, "")
    assert done.err.startswith("nolook: interrupted; ")
    assert done.err.count("\n") == 1
    assert said.format("people.income.model.json") in done.err
    cost = "the ledger a.ledger was charged epsilon 1, delta 1e-06 for AdaSSP"
    assert (cost in done.err) == (spent() == 1.0) == (place != "before")
    assert (here / "people.income.model.json").exists() == ("was written" in done.err)


def test_an_interrupted_prediction_costs_nothing(here, cli, monkeypatch):
    assert cli(*FIT, "--quiet").status == 0

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("nolook.estimators.adassp.AdaSSPRegressor.predict", stop)
    done = cli(
        "predict", "--model", "people.income.model.json", "people.parquet", "--output", "p.csv"
    )
    assert (done.status, done.out) == (130, "")
    assert "predictions cost nothing, and p.csv was not written; start again" in done.err
    assert not (here / "p.csv").exists()


def test_an_interrupted_entry_says_whether_it_is_there(cli, monkeypatch):
    enter = ("ledger", "charge", LEDGER, "--epsilon", "1", "--what", "a table")
    ordinary = nolook.Ledger.charge

    def stop(*_, **__):
        raise KeyboardInterrupt

    def late(*given, **named):
        ordinary(*given, **named)
        raise KeyboardInterrupt

    for interrupted, said in ((stop, "nothing was charged; start again"), (late, "as number 1")):
        monkeypatch.setattr(nolook.Ledger, "charge", interrupted)
        done = cli(*enter)
        assert done.status == 130
        assert said in done.err
