"""A ledger as a page: everything in it, nothing else, on any screen."""

from __future__ import annotations

import re

import pytest

from nolook.report.ledger_page import render_ledger_page
from tests.report.golden_pages import LEDGERS, NASTY, of_odd_names, whole_page
from tests.report.pages import Page
from tests.report.test_browser import measure


@pytest.mark.parametrize("name", LEDGERS)
def test_a_page_is_whole_loads_nothing_and_lists_every_release(name):
    page = Page(whole_page(name))
    assert (page.unbalanced, page.outside) == ([], [])
    ledger = LEDGERS[name]()
    assert ledger.name in page.text
    for entry in ledger.history():
        assert f"{entry.id}. {entry.description}" in " ".join(page.text.split())


def test_names_are_text():
    page = render_ledger_page(of_odd_names())
    assert NASTY[0] not in page
    assert "&lt;b&gt;" in page


@pytest.mark.parametrize(("name", "left", "said"), [
    ("ledger", "epsilon 1.25", "one row was in the table is right at most 85.2 % of the time"),
    ("ledger-names", "epsilon 2.7", "which of two versions of a row was"),
    ("ledger-new", "epsilon 3", "Nothing was charged yet."),
    ("ledger-units", "epsilon 2.25", "one patient was in the table is right at most 68.0 %"),
])  # fmt: skip
def test_a_page_says_what_is_left_and_what_that_means(name, left, said):
    text = " ".join(Page(whole_page(name)).text.split())
    assert left in text
    assert said in text
    assert ("not known to have been made" in text) == (name == "ledger")


def test_a_page_for_units_names_them_and_speaks_of_no_protected_row():
    text = " ".join(Page(whole_page("ledger-units")).text.split())
    assert "protects a patient named by 'patient_id', with all its rows" in text
    # Rows are only what a unit has.
    assert re.findall(r"\brows?\b", text.replace("with all its rows", "")) == []


@pytest.mark.slow
@pytest.mark.parametrize("width", [500, 768, 1280])
@pytest.mark.parametrize("name", LEDGERS)
def test_a_page_fits_the_screen(chromium, tmp_path, name, width):
    found = measure(chromium, tmp_path, whole_page(name), f"--window-size={width},900")
    assert found["content"] <= found["width"]
    assert found["over"] == []
    assert found["asked"] == []
