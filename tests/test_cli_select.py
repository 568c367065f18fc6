"""Choosing columns on the command line, by itself and before a regression."""

from __future__ import annotations

import json
from itertools import takewhile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nolook
import nolook.cli
from nolook.estimators.catalogue import METHODS, SELECTORS
from nolook.privacy.guarantee import PrivacyGuarantee
from nolook.report.wording import number
from tests.ledgers import new_ledger
from tests.report.command import ROWS, names_in, says, spent, write_table
from tests.report.pages import Page

NAMES = ("noise", "age", "luck", "height", "chance")


def columns(rows: int = ROWS, seed: int = 0) -> dict:
    """A table in which income depends on age and height only, however noisy the choice."""
    generator = np.random.default_rng(seed)
    data = {name: generator.normal(size=rows) for name in NAMES}
    data["city"] = generator.choice(["Bern", "Basel"], rows)
    data["income"] = 1000 * (2 * data["age"] - data["height"]) + 100 * generator.normal(size=rows)
    return data


@pytest.fixture(scope="module")
def people(tmp_path_factory) -> Path:
    return write_table(tmp_path_factory.mktemp("tables") / "people.parquet", columns())


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch, people) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.parquet").write_bytes(people.read_bytes())
    new_ledger(tmp_path / "a.ledger", nolook.Budget(50, 1e-4))
    return tmp_path


def select(*more) -> list:
    words = ["select", "people.parquet", "--target", "income", "--epsilon", "20", *more]
    return words if "--features" in more else [*words, "--exclude", "city"]


def fit(*more) -> list:
    budget = ("--epsilon", "20", "--delta", "1e-6")
    words = ["fit", "people.parquet", "--target", "income", *budget, *more]
    return words if "--features" in more else [*words, "--exclude", "city"]


def chosen(printed: str) -> list[str]:
    """The names in the first table that was printed."""
    _, _, rows = printed.partition("─ \n")
    return [line.split()[0] for line in takewhile(str.strip, rows.splitlines())]


RELEASES = {
    "kendall": "Kendall selection",
    "lasso": "Lasso selection",
    "moments": "selection from moments",
    "sis": "sure independence screening",
}


@pytest.mark.parametrize("selector", SELECTORS)
def test_a_selection_is_printed_written_and_charged(here, cli, selector):
    words = select("-k", "2", "--selector", selector, "--ledger", "a.ledger")
    done = cli(*words, "--report", "r.html")
    assert done.status == 0, done.err
    assert done.err == ""
    assert names_in(here) == {"people.income.selection.json", "r.html"}
    document = json.loads((here / "people.income.selection.json").read_text(encoding="utf-8"))
    assert document["kind"] == "selection"
    assert (document["method"], document["parameters"]["k"]) == (selector, 2)
    assert (document["target"], document["features"]) == ("income", list(NAMES))
    assert set(document["chosen"]) == {"age", "height"}
    assert chosen(done.out) == document["chosen"]
    assert document["read_options"]["features"] == list(NAMES)
    assert not {"epsilon", "delta", "random_state"} & set(document["parameters"])
    guarantee = PrivacyGuarantee.from_dict(document["privacy"])
    delta = 1e-6 if selector == "moments" else 0.0
    assert (guarantee.epsilon, guarantee.delta, guarantee.private) == (20.0, delta, True)
    page = Page((here / "r.html").read_text(encoding="utf-8"))
    assert (page.unbalanced, page.outside) == ([], [])
    for text in ("Selection of columns for income", "epsilon = 20", selector, "2 of 5"):
        assert text in page.text
    details = cli("show", "people.income.selection.json", "--details").out
    for event in guarantee.mechanisms:
        assert event.name in details
        assert event.name in page.text
    for text in ("Selection of columns for income", f"selector: {selector}", "2 of 5"):
        assert text in done.out
    assert f"epsilon = 20, delta = {delta:g}" in " ".join(details.split())
    assert "selection: people.income.selection.json" in done.out
    assert "NOT PRIVATE" not in done.out + page.text
    assert not says(done.out + page.text + json.dumps(document), ROWS)
    assert spent(here) == (20.0, [RELEASES[selector]])


def test_the_columns_are_printed_in_the_order_of_choice(here, cli):
    printed = cli(*select("-k", "2")).out
    assert chosen(printed) == ["age", "height"]
    assert "in the order they were chosen" in printed
    assert "To fit a model to these columns: nolook fit ... --features age,height" in printed


@pytest.mark.parametrize("selector", ["kendall", "moments"])
def test_of_a_file_with_only_a_header_nothing_is_said_to_be_chosen(here, cli, selector):
    (here / "t.csv").write_text("a,b,c,y\n")
    done = cli("select", "t.csv", "-t", "y", "-f", "a,b,c", "-k", "1", "--selector", selector,
               "-e", "1")  # fmt: skip
    assert done.status == 0, done.err
    assert "The choice is by chance: hardly any row was usable" in " ".join(done.out.split())
    assert "Chosen" not in done.out
    assert "nolook fit" not in done.out


@pytest.mark.parametrize("selector", SELECTORS)
def test_how_many_may_be_left_to_the_selector(here, cli, selector):
    done = cli(*select("-k", "auto", "--selector", selector))
    assert done.status == 0, done.err
    document = json.loads((here / "people.income.selection.json").read_text(encoding="utf-8"))
    assert document["parameters"]["k"] == "auto"
    assert 1 <= len(document["chosen"]) < 5
    if selector != "moments":
        assert document["privacy"]["mechanisms"][0]["name"] == "number of rows"


def test_a_selector_that_needs_a_delta_takes_it(here, cli):
    done = cli(
        *select("-k", "2", "--selector", "moments", "--delta", "1e-7", "--ledger", "a.ledger")
    )
    assert done.status == 0, done.err
    document = json.loads((here / "people.income.selection.json").read_text(encoding="utf-8"))
    assert (document["privacy"]["epsilon"], document["privacy"]["delta"]) == (20.0, 1e-7)
    with nolook.Ledger(here / "a.ledger") as ledger:
        assert ledger.spent.delta == 1e-7


@pytest.mark.parametrize(("words", "chooses"), [((), "kendall"), (("--delta", "1e-6"), "moments")])
def test_what_chooses_by_default_depends_on_a_delta_and_is_said(here, cli, words, chooses):
    done = cli(*select("-k", "2", *words))
    assert f"selector: {chooses}" in done.out
    assert ("Stands out by" in done.out) == (chooses == "moments")
    assert ("at least 95 % where" in " ".join(done.out.split())) == (chooses == "kendall")
    cli(*fit("--select", "2", "--output", "m.json"))
    assert json.loads((here / "m.json").read_text())["selection"]["method"] == "moments"


def test_columns_categories_and_the_policy_reach_a_selection(here, cli):
    words = select("-k", "2", "--features", "age,city,height", "--categories", "city=Bern")
    done = cli(*words, "--missing", "zero", "--output", "s.json", "--quiet")
    assert done == (0, "", "")
    document = json.loads((here / "s.json").read_text(encoding="utf-8"))
    assert document["features"] == ["age", "city=Bern", "height"]
    assert document["read_options"]["missing"] == "zero"


@pytest.mark.parametrize("selector", SELECTORS)
def test_a_fit_chooses_columns_first(here, cli, selector):
    words = fit("--select", "2", "--selector", selector, "--split", "0.4", "--ledger", "a.ledger")
    done = cli(*words, "--report", "r.html")
    assert done.status == 0, done.err
    assert names_in(here) == {"people.income.model.json", "r.html"}
    model = nolook.load(here / "people.income.model.json")
    assert isinstance(model, nolook.PrivatePipeline)
    assert model.support_.tolist() == [name in {"age", "height"} for name in NAMES]
    assert (model.privacy_.epsilon, model.privacy_.delta) == (20.0, 1e-6)
    assert spent(here) == (20.0, ["feature selection and regression"])
    page = Page((here / "r.html").read_text(encoding="utf-8"))
    assert (page.unbalanced, page.outside) == ([], [])
    parts = [part.privacy_ for part in (model.selector_, model.regressor_)]
    together = sum(part.epsilon for part in parts)
    if selector == "moments":  # both parts draw Gaussian noise alone
        assert 20.0 < together < 30.0
    else:
        assert [part.epsilon for part in parts] == pytest.approx([8.0, 12.0])
    for text in (cli("show", "people.income.model.json", "--details").out, page.text):
        for part in parts:
            stated = f"epsilon = {number(part.epsilon)}, delta = {number(part.delta)}"
            assert stated in " ".join(text.split())
        assert selector in text
        for event in model.privacy_.mechanisms:
            assert event.name in text
    assert "2 of 5 columns, chosen privately" in page.text
    assert "Method linear" in page.text
    assert "epsilon 20" in page.text
    assert ("cost less than the sum" in page.text) == (together > 20.0)
    assert ("deltas of the parts add up" in page.text) == (together <= 20.0)
    assert "NOT PRIVATE" not in done.out + page.text


# Other tests choose columns for these two.
@pytest.mark.parametrize("method", [name for name in METHODS if name not in ("linear", "tukey")])
def test_every_method_can_follow_a_selection(here, cli, method):
    done = cli(*fit("--select", "2", "--method", method, "--report", "r.html"))
    assert done.status == 0, done.err
    assert f"method: {method}" in done.out
    done = cli(
        "predict", "--model", "people.income.model.json", "people.parquet", "--output", "p.parquet"
    )
    assert done == (0, "", "")
    label = pq.read_table(here / "people.parquet")["income"].to_numpy()
    prediction = pq.read_table(here / "p.parquet")["prediction"].to_numpy()
    assert np.corrcoef(label, prediction)[0, 1] > 0.5


def test_predictions_read_the_whole_table_as_the_fit_did(here, cli):
    words = fit("--select", "auto", "--features", "noise,city,age,luck,height", "--quiet")
    done = cli(*words, "--categories", "city=...,Bern,Basel", "--missing", "drop-row")
    assert done == (0, "", "")
    model = nolook.load(here / "people.income.model.json")
    new = columns(rows=500, seed=1)
    new["age"][3] = new["noise"][7] = np.nan
    del new["income"], new["chance"]
    write_table(here / "new.parquet", {"extra": ["text"] * 500, **new})
    done = cli(
        "predict", "--model", "people.income.model.json", "new.parquet", "--output", "p.parquet"
    )
    assert (done.status, done.err) == (0, "")
    assert "lack a value the model needs, left empty: 2." in done.out
    shown = pq.read_table(here / "p.parquet")["prediction"].to_pylist()
    # The read_options is the whole table's: a row lacks what any column that was offered lacks.
    assert [place for place, value in enumerate(shown) if value is None] == [3, 7]
    levels = [new["city"] == "Bern", new["city"] == "Basel"]
    rows = [new["noise"], *levels, new["age"], new["luck"], new["height"]]
    kept = np.delete(np.column_stack(rows).astype(float), [3, 7], axis=0)
    frame = pa.table(dict(zip(model.feature_names_in_, kept.T, strict=True)))
    np.testing.assert_array_equal(model.predict(frame), [s for s in shown if s is not None])


def test_a_private_test_that_fails_after_a_selection_leaves_nothing_but_the_charge(here, cli):
    words = fit("--select", "2", "--method", "tukey", "--ledger", "a.ledger", "--report", "r.html")
    done = cli(*words[:5], "0.2", *words[6:])  # far too little: at 1, one run in three succeeds
    assert (done.status, done.out, done.err.count("\n")) == (4, "", 1)
    assert names_in(here) == set()
    assert spent(here) == (0.2, ["feature selection and regression"])
