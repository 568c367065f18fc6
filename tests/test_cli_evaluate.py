"""``nolook evaluate``: models judged on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import nolook
import nolook.cli
from tests.ledgers import new_ledger
from tests.report.command import write_table
from tests.report.hand_made import Probable, fitted, guarantee, unclipped
from tests.report.pages import Page
from tests.test_cli_errors import refused

ROWS = 3000
MODEL = "people.died.model.json"


def columns(rows=ROWS):
    generator = np.random.default_rng(0)
    risk = generator.random(rows)
    died = generator.random(rows) < risk
    return {
        "risk": risk,
        "age": generator.integers(20, 90, rows),
        "died": died.astype(int),
        "word": np.where(died, "yes", "no"),
        "flag": died,
    }


def made(*, target="died", read_options=None, kind=None, **privacy):
    """A model whose prediction is the risk."""
    own = read_options or {"features": ["risk", "age"], "categories": {}, "missing": "drop-row"}
    model = unclipped(fitted(("risk", "age", target), made_by=kind, read_options=own))
    model.coef_, model.intercept_ = np.array([1.0, 0.0]), 0.0
    model.coef_interval_ = model.intercept_interval_ = None
    model.privacy_ = guarantee(model.privacy_.mechanisms, **privacy)
    return model


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "people.parquet", columns())
    nolook.save(made(), MODEL)
    new_ledger(Path("a.ledger"), nolook.Budget(50, 1e-4))
    return tmp_path


def evaluate(*more, table="people.parquet", model=MODEL):
    return ["evaluate", table, "--model", model, "--epsilon", "2", *more]


def read():
    return json.loads(Path("people.died.evaluation.json").read_text(encoding="utf-8"))


def test_a_model_is_judged_printed_written_and_charged(here, cli):
    done = cli(*evaluate("--ledger", "a.ledger", "--report", "r.html", "--threshold", "0.3"))
    assert (done.status, done.err) == (0, "")
    document = read()
    assert document["kind"] == "evaluation"
    assert document["scored"] == {"score": MODEL, "target": "died", "positive": "1"}
    assert document["other_rows"] is False
    assert document["groups"] is None
    assert document["asked"] == [0.3]
    found = nolook.load("people.died.evaluation.json")
    assert abs(found.roc.auc_ - 5 / 6) < 0.03
    low, high = found.roc.base_rate_interval_
    assert low <= found.roc.base_rate_ <= high
    assert abs(found.roc.base_rate_ - 0.5) < 0.05
    assert found.calibration is None
    assert abs(found.rows.value - ROWS) < 300
    page = Page((here / "r.html").read_text(encoding="utf-8"))
    assert (page.unbalanced, page.outside) == ([], [])
    printed = " ".join(done.out.split())
    for text in ("figures flatter it", "are not probabilities", "Base rate"):
        assert text in page.text
        assert text in printed
    assert "fitted on other rows, state that (--other-rows)" in printed
    assert "--other-rows" not in page.text
    for told in (page.text, printed):  # with the digits that its interval allows
        assert any(f"{found.roc.auc_:.{digits}f}" in told for digits in (2, 3, 4))
    for text in (MODEL, "epsilon 1, delta 1e-06; not in here", "not said on what"):
        assert text in page.text
    with nolook.Ledger("a.ledger") as ledger:
        (entry,) = ledger.history()
    assert (entry.cost.epsilon, entry.cost.delta) == (2.0, 0.0)
    assert entry.details.about == "prediction, died"
    assert entry.details.output == "people.died.evaluation.json"


def test_probabilities_are_tested_too(here, cli, monkeypatch):
    monkeypatch.setattr("nolook.formats.model_file.load", lambda _: made(kind=Probable()))
    done = cli(*evaluate("--report", "r.html", "--groups", "5"))
    assert (done.status, done.err) == (0, "")
    found = read()["groups"]
    assert len(found["table"]["positives"]) == 5
    page = Page((here / "r.html").read_text(encoding="utf-8"))
    assert [a["class"] for a in page.all("polyline")] == ["zero", "curve solid"] * 2 + ["zero"]
    assert len(page.all("polygon")) == 2
    names = [each["id"] for each in page.all("title") if "id" in each]
    assert len(names) == len(set(names)) == 3
    for text in ("Whether the probabilities are right", "p-value"):
        assert text in page.text
    assert "sums of each group" in page.text


def test_without_a_target_it_is_that_of_the_schema_or_the_model(here, cli):
    (here / "s.toml").write_text('[columns]\nflag = {type = "boolean", use = "target"}\n')
    assert cli(*evaluate("--quiet", "--schema", "s.toml")).status == 0
    assert (here / "people.flag.evaluation.json").exists()
    nolook.save(made(target="age_at_death"), "other.json")
    refused(cli(*evaluate("--quiet", model="other.json")), "age_at_death")


def test_a_model_that_is_not_private_is_refused_unless_it_knows_other_rows(here, cli):
    nolook.save(made(private=False), "seeded.json")
    words = evaluate("--ledger", "a.ledger", model="seeded.json")
    done = cli(*words)
    refused(done, "model is marked as not private")
    assert "--other-rows" in done.err
    with nolook.Ledger("a.ledger") as ledger:
        assert ledger.history() == ()
    done = cli(*words, "--other-rows")
    assert done.status == 0, done.err
    assert "rests on the statement" in done.out
    assert "NOT PRIVATE" not in done.out
    assert read()["other_rows"] is True
    assert "flatter" not in cli(*evaluate("--other-rows", "--force")).out


def test_missing_values_are_treated_as_in_the_fit(here, cli):
    holed = columns()
    holed["age"] = np.where(np.arange(ROWS) % 5 == 0, np.nan, holed["age"])
    write_table(here / "people.parquet", holed)
    for missing, given, rows in (
        ("zero", ("--missing", "drop-row"), 0.8 * ROWS),
        ("drop-row", (), 0.8 * ROWS),
        ("drop-row", ("--missing", "zero"), ROWS),
        ("zero", (), ROWS),
    ):
        read_options = {"features": ["risk", "age"], "categories": {}, "missing": missing}
        nolook.save(made(read_options=read_options), MODEL)
        done = cli(*evaluate("--quiet", "--force", "--epsilon", "20", *given))
        assert done == (0, "", "")
        assert abs(nolook.load("people.died.evaluation.json").rows.value - rows) < 60
