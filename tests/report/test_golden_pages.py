"""Pages and printed text are those that are stored.

`python -m tests.report.golden_pages` stores them anew.
"""

from __future__ import annotations

import pytest

from nolook.report.shared import sections
from tests.report.golden_pages import FOLDER, LEDGERS, PAGES, golden

EVERY = (*PAGES, *LEDGERS)


def test_each_kind_of_release_is_stored_and_nothing_else():
    assert {path.stem for path in FOLDER.iterdir()} == set(EVERY)


@pytest.mark.parametrize("name", EVERY)
def test_nothing_shown_can_command_a_terminal_or_turn_the_text_around(name):
    for text in golden(name):
        assert all(line.isprintable() for line in text.split("\n"))


@pytest.mark.parametrize("name", PAGES)
def test_no_column_is_empty(name):
    tables = [table for section in sections(PAGES[name]()) for table in section.tables]
    assert tables
    for table in tables:
        for head, *cells in zip(table.heads, *table.rows, strict=True):
            assert any(cell != "" for cell in cells), head


@pytest.mark.parametrize("name", PAGES)
def test_what_is_not_private_is_called_so_once(name):
    private = PAGES[name]().origin.guarantee.private
    assert [text.count("NOT PRIVATE") for text in golden(name)] == [1 - private] * 2


@pytest.mark.parametrize("name", EVERY)
def test_a_release_is_shown_as_it_was(name):
    page, printed = golden(name)
    assert page.splitlines() == (FOLDER / f"{name}.html").read_text("utf-8").splitlines()
    assert printed.splitlines() == (FOLDER / f"{name}.txt").read_text("utf-8").splitlines()
