"""Pages and printed text are those that are stored.

`python -m tests.report.golden_pages` stores them anew.
"""

from __future__ import annotations

import pytest

from tests.report.golden_pages import FOLDER, PAGES, golden


def test_each_kind_of_release_is_stored_and_nothing_else():
    assert {path.stem for path in FOLDER.iterdir()} == set(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_nothing_shown_can_command_a_terminal_or_turn_the_text_around(name):
    for text in golden(name):
        assert all(line.isprintable() for line in text.split("\n"))


@pytest.mark.parametrize("name", PAGES)
def test_a_release_is_shown_as_it_was(name):
    page, printed = golden(name)
    assert page.splitlines() == (FOLDER / f"{name}.html").read_text("utf-8").splitlines()
    assert printed.splitlines() == (FOLDER / f"{name}.txt").read_text("utf-8").splitlines()
