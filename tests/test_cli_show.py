"""``nolook show``, ``report`` and ``compare``: releases looked at again."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pytest
import yaml

import nolook
import nolook.cli
from tests.report.command import BUDGET, write_table
from tests.report.hand_made import counted, current, fitted, unclipped

EPSILON = ("--epsilon", "2")
RELEASES = {
    "fit": ["fit", "--target", "income", "--features", "age,risk", *BUDGET],
    "classes": [
        *(
            "fit",
            "--target",
            "word",
            "--features",
            "age,risk",
            "--positive",
            "yes",
            "-n",
            "no",
            *BUDGET,
        )
    ],
    "pipeline": [
        *("fit", "--target", "income", "--features", "age,risk", "--select", "1", *BUDGET)
    ],
    "select": ["select", "--target", "income", "--features", "age,risk", "-k", "1", *EPSILON],
    "ecdf": ["ecdf", "--column", "risk", "--grid", "0:1:0.01", *EPSILON],
    "quantiles": ["quantiles", "--columns", "age,risk", "--grid", "risk=0:1:0.01", *EPSILON],
    "tabulate": [
        *("tabulate", "--by", "word", "--categories", "word=yes,no", "--mean", "age", *EPSILON),
    ],
    "compare-groups": [
        *("compare-groups", "--by", "word", "--categories", "word=no,yes", "--value", "age"),
        *EPSILON,
    ],
    "survival": [
        *("survival", "--event", "word", "--categories", "word=no,yes", "--time", "age"),
        *EPSILON,
    ],
    "describe": ["describe", "--features", "age,risk", *EPSILON],
    "roc": [
        *("roc", "--score", "risk", "--target", "word", "--positive", "yes", "-n", "no"),
        *("--threshold", "0.3", "--threshold", "0.505", *EPSILON),
    ],
    "calibration": ["calibration", "--probability", "risk", "--target", "died", *EPSILON],
    "evaluate": ["evaluate", "--model", "c.json", "--target", "died", *EPSILON],
}


def columns(rows=3000):
    generator = np.random.default_rng(0)
    risk = generator.random(rows)
    died = generator.random(rows) < risk
    age = generator.integers(20, 90, rows)
    return {
        "risk": risk,
        "age": age,
        "income": 40.0 * age + generator.normal(0, 300, rows),
        "died": died.astype(int),
        "word": np.where(died, "yes", "no"),
    }


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch, few_repeats):
    del few_repeats  # pages are compared with each other
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "people.parquet", columns())
    model = counted(current(fitted(("risk", "age", "died"))))
    nolook.save(model, "m.json")
    nolook.save(unclipped(model), "c.json")  # whose target may be 0 and 1


@pytest.mark.parametrize("kind", RELEASES)
def test_a_release_is_shown_and_reported_again_as_it_was(cli, tmp_path, kind):
    command, *words = RELEASES[kind]
    done = cli(command, "people.parquet", *words, "--output", "a.json", "--report", "a.html")
    assert done.status == 0, done.err
    shown = cli("show", "a.json")
    assert (shown.status, shown.err) == (0, "")
    # Files, and what is said of a ledger, follow where the release was made.
    assert shown.out
    assert done.out.startswith(shown.out)
    again = cli("report", "a.json", "--output", "b.html")
    assert (again.status, again.err) == (0, "")
    assert again.out == "report: b.html\n"
    found = nolook.load("a.json")
    plain = json.loads(cli("show", "a.json", "--format", "json").out)
    assert plain["kind"] == found.kind
    assert plain["privacy"]["epsilon"] == found.privacy.epsilon
    lines = [*csv.reader(cli("show", "a.json", "--format", "csv").out.splitlines())]
    assert lines[0] == [*plain["columns"], "guarantee"]
    assert [line[-1] for line in lines[1:3]] == [found.privacy.in_words(), ""][: len(lines) - 1]
    assert len(lines) == 1 + len(next(iter(plain["columns"].values())))
    for form, sign in (("md", "| --- |"), ("latex", "tabular")):
        tables = "Column" in shown.out or "Group" in shown.out
        assert (sign in cli("show", "a.json", "--format", form).out) >= tables
    # A file keeps neither the day nor what was left of a ledger.
    first, second = (
        re.sub(r"<dt>What it cost</dt>.*?</dd>", "", (tmp_path / name).read_text(), flags=re.DOTALL)
        for name in ("a.html", "b.html")
    )
    assert first == second


#: What the registry of deployments requires, and the values that it allows.
RECORD = {
    "": {"url_slug", "status", "tier", "deployment"},
    "basic": {
        *("name", "data_curators", "intended_use", "data_product_type", "data_product_region"),
        *("description", "publication_date"),
    },
    "dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "privacy_loss": {
        *("privacy_unit", "privacy_unit_details"),
        *("privacy_parameters", "privacy_parameters_details"),
    },
    "deployment_model": {"model_name", "release_type", "data_source_type", "access_type"},
    "accounting": {"post_processing", "composition"},
    "implementation": {"preprocessing_and_hyperparameter_tuning", "mechanisms"},
    "administrative": {"registry_authors"},
}


@pytest.mark.parametrize("kind", ["fit", "ecdf", "tabulate"])
def test_a_release_has_a_record_for_the_registry(cli, tmp_path, kind):
    command, *words = RELEASES[kind]
    assert cli(command, "people.parquet", *words, "--output", "a.json").status == 0
    done = cli("report", "a.json", "--registry", "Our a.yaml")
    assert (done.out, done.err) == ("record: Our a.yaml\n", "")
    record = yaml.safe_load((tmp_path / "Our a.yaml").read_text())
    assert {name: set(part) for name, part in record["deployment"].items()} | {
        "": set(record)
    } == RECORD
    assert (record["url_slug"], record["status"], record["tier"]) == ("our-a", "Draft", 2)
    parts, privacy = record["deployment"], nolook.load("a.json").privacy
    model, pure = kind == "fit", privacy.delta == 0.0
    product = "Machine learning model" if model else "Summary statistics"
    assert parts["basic"]["data_product_type"] == product
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", parts["basic"]["publication_date"])
    assert parts["dp_variant"]["variant_name"] == ("Pure DP" if pure else "Approximate DP")
    loss = parts["privacy_loss"]
    assert loss["privacy_unit"] == "row"
    delta = {} if pure else {"delta": privacy.delta}
    assert loss["privacy_parameters"] == {"epsilon": privacy.epsilon, **delta}
    for event in privacy.mechanisms:
        assert event.name.split(",")[0] in parts["implementation"]["mechanisms"]
    again = cli("report", "a.json", "--registry", "Our a.yaml")
    assert "--force" in again.err


def test_what_is_not_private_has_no_record(cli, tmp_path):
    words = (*RELEASES["ecdf"][1:], "--random-state", "1", "-o", "a.json")
    assert cli("ecdf", "people.parquet", *words).status == 0
    done = cli("report", "a.json", "--registry", "a.yaml")
    assert done.status == 2
    assert "not private" in done.err
    assert not (tmp_path / "a.yaml").exists()
    assert "--registry" in cli("report", "a.json").err


def test_an_older_page_is_replaced_only_with_force(cli, tmp_path):
    (tmp_path / "b.html").write_text("mine")
    refused = cli("report", "m.json", "--output", "b.html")
    assert refused.status == 2
    assert "--force" in refused.err
    assert (tmp_path / "b.html").read_text() == "mine"
    assert cli("report", "m.json", "--output", "b.html", "--force").status == 0
    for words in (("m.json", "--force"), ("no/where.html",)):
        assert cli("report", "m.json", "--output", *words).status != 0
    assert nolook.load("m.json").intercept_ == 12.5


def test_two_models_side_by_side(cli):
    nolook.save(counted(current(fitted(("risk", "age", "died"), seed=1))), "n.json")
    done = cli("compare", "m.json", "n.json")
    assert (done.status, done.err) == (0, "")
    for words in ("Two models of died", "B less A", "A: m.json", "B: n.json", " to "):
        assert words in done.out


def test_costs_of_mechanisms_are_details(cli):
    assert cli("fit", "people.parquet", *RELEASES["fit"][1:], "-o", "a.json").status == 0
    assert "gradients of 8 rounds" not in cli("show", "a.json").out
    assert "gradients of 8 rounds" in cli("show", "a.json", "--details").out
    assert cli("show", "a.json", "--format", "yaml").status == 2


def test_a_page_has_the_title_given(cli, tmp_path):
    title = ("--title", "A <ward>")
    command = ("ecdf", "people.parquet", *RELEASES["ecdf"][1:], "-o", "a.json", "-r", "a.html")
    assert cli(*command, *title).status == 0
    assert cli("report", "a.json", "-o", "b.html", *title).status == 0
    for name in ("a.html", "b.html"):
        page = (tmp_path / name).read_text()
        assert "<h1>A &lt;ward&gt;</h1>" in page
        assert "<title>A &lt;ward&gt;" in page
        assert "Distribution of" in page
