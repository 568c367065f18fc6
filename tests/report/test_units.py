"""Where a unit is protected, pages and terminals say so and promise nothing of rows."""

from __future__ import annotations

import json
import re

import pytest

import nolook
from nolook._unit import Unit
from nolook._validation import one_line
from nolook.report.model_findings import model_findings
from nolook.report.page import render_page
from nolook.report.sections import rows_used
from tests.report import golden_pages as made
from tests.report.hand_made import counted, make_constant, not_detected
from tests.report.pages import Page

# What is true of rows, whatever is protected.
TRUE = (
    "all rows with the same",
    "All rows with the same",
    "the rows of any one unit say",
    "its rows share this weight equally",
    "of its rows, drawn at random",
    "of the rows of each",
    "Rows of a patient",
    "rows far from the centre with less weight",
    "rows far from the centre get less weight",
    "on these rows: such a model depends on every row",
    "the rows are split into many groups",
    "All rows of a unit",
    "rows' log-odds",
    "rows are whitened",
    "of the whitened rows",
    "the whitened rows' norms",
    "the rows' gradients",
    "one of its rows, drawn at random, is ranked",
    "the rows' norms",
    "drop-row (rows with any are left out)",
    "A row gets less weight in training",
    "A row is shrunk if the norm",
    "the same number for every row",
    "the bound on the norm of a row",
)
SAYS = re.compile(r"\brows?\b", re.IGNORECASE)


def kinds():
    scores, happened = made.shares()
    curve = nolook.ROCCurve(1.0, nolook.LinearGrid(0, 1, 0.01), random_state=1)
    test = nolook.HosmerLemeshow(1.0, 5, random_state=1)
    curve.fit(scores, happened)
    curve.asked_ = (0.3,)
    test.fit(scores, happened)
    selector = nolook.KendallSelector(k=1, random_state=1).fit(made.people())
    tukey = nolook.TukeyRegressor(1e-3, on_failure="constant", random_state=1)
    logistic = nolook.LogisticRegression(8.0, random_state=1).fit(scores[:, None], happened)
    return {
        "logistic": logistic,
        "clipped": made.clipped(),
        "hidden": made.hidden_fit(),
        "guesses": made.guesses(),
        "not detected": not_detected(made.five()),
        "nearly empty": counted(not_detected(made.five()), 1.0, 42.0),
        "failed": make_constant(made.fitted()),
        "tukey": tukey.fit(made.people()),
        "roc": curve,
        "calibration": test,
        "selection": selector,
        "ecdf": made.of_column(made.distribution(), "age"),
    }


@pytest.fixture(scope="module")
def releases():
    return kinds()


NAMES = ("clipped", "hidden", "guesses", "not detected", "nearly empty", "failed", "tukey", "roc")
NAMES = (*NAMES, "logistic", "calibration", "selection", "ecdf")


def page_of(findings):
    return " ".join(Page(render_page(findings)).text.split())


@pytest.mark.parametrize("name", NAMES)
def test_a_page_of_units_counts_and_protects_no_rows(releases, name):
    release = releases[name]
    release.privacy_ = made.attrs.evolve(release.privacy_, private=True)
    of_rows = page_of(release.content())
    assert SAYS.search(of_rows)
    said = page_of(made.of_units(release).content())
    assert "any one patient added or removed" in said
    assert "All rows with the same patient_id are one patient." in said
    assert "Everything here describes patients" in said
    for words in TRUE:
        said = said.replace(words, "")
    assert [said[max(0, at.start() - 60) : at.end() + 60] for at in SAYS.finditer(said)] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_page_of_some_rows_of_each_unit_describes_rows_and_protects_units(releases, name):
    release = releases[name]
    release.privacy_ = made.attrs.evolve(release.privacy_, private=True)
    said = page_of(made.of_units(release, 5).content())
    assert "any one patient added or removed" in said
    assert "describes rows: at most 5 of the rows of each patient" in said
    assert "The number of patients is protected too" in said
    assert "protects the rows" not in said
    assert "whether one patient was in the table" in said
    assert "How well each patient is protected" in said


def test_a_count_says_what_it_counted():
    model = made.five()
    assert rows_used(model_findings(model)).startswith("About 101,700 rows used (")
    said = rows_used(model_findings(made.of_units(model)))
    assert said.startswith("About 101,700 patients (patient_id) used (")
    said = rows_used(model_findings(made.of_units(model, 5)))
    assert said.startswith("About 101,700 rows, at most 5 of each patient (patient_id), used (")
    said = rows_used(model_findings(made.of_units(model, 1)))
    assert said.startswith("About 101,700 patients, one row of each (patient_id), used (")


def test_intervals_that_are_not_given_for_units_say_why():
    for text in made.golden("units-limited"):
        words = " ".join(text.split())
        assert "No intervals are given if several rows of a unit count in full" in words
        assert "more than 10 %" not in words


@pytest.mark.parametrize("column", [*made.NASTY, "row", "{}", "%s"])
def test_any_column_may_be_the_unit(column):
    model = made.five()
    model.privacy_ = made.attrs.evolve(model.privacy_, unit=Unit(column))
    words = model.privacy_.in_words()
    assert words.isprintable()
    assert one_line(column) in words
    page = Page(render_page(model_findings(model)))
    assert (page.unbalanced, page.outside) == ([], [])
    assert " ".join(one_line(column).split()) in page.text
    read = nolook.PrivacyGuarantee.from_dict(json.loads(json.dumps(model.privacy_.to_dict())))
    assert read == model.privacy_
