"""What pages and the terminal show is what is stored.

`python -m tests.report.golden_pages` stores them anew.
"""

from __future__ import annotations

from difflib import unified_diff

import pytest

from nolook.report.sections import sections
from tests.report.golden_pages import FOLDER, LEDGERS, PAGES, WHOLE, content, golden

EVERY = (*PAGES, *LEDGERS)


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
    private = PAGES[name]().guarantee.private
    assert [text.count("NOT PRIVATE") for text in golden(name)] == [1 - private] * 2


def no_change(stored, shown, name):
    diff = list(unified_diff(stored, shown, "stored", f"now ({name})", lineterm="", n=1))
    assert not diff, "\n".join(diff)


def test_what_every_release_shows_is_what_is_stored():
    stored = (FOLDER / "content.txt").read_text("utf-8")
    no_change(stored.splitlines(), content(), "content.txt")


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_page_is_as_it_was(name):
    for ending, shown in zip((".html", ".txt"), golden(name), strict=True):
        stored = (FOLDER / f"{name}{ending}").read_text("utf-8")
        no_change(stored.split("\n"), shown.split("\n"), name)


def test_nothing_else_is_stored():
    wanted = {"content.txt", *(f"{name}{end}" for name in WHOLE for end in (".html", ".txt"))}
    assert {path.name for path in FOLDER.iterdir()} == wanted
