"""Lines in the terminal break where they can be read."""

from __future__ import annotations

import io

import pytest

from nolook.report._console import plain_console, say

TEXT = "Wage is 3.59 higher for A than for B (95 % interval -3.30 to -1.89; ± 25), 4 % to 9 % more."


@pytest.mark.parametrize("width", range(20, 100))
def test_no_line_breaks_within_a_number_with_its_interval(width):
    console = plain_console(file=io.StringIO(), width=width)
    say(console, TEXT)
    printed = console.file.getvalue()
    assert " ".join(printed.split()) == TEXT
    lines = printed.splitlines()
    assert max(map(len, lines)) <= width
    for whole in ("95 %", "-3.30 to -1.89", "± 25", "4 % to 9 %"):
        assert any(whole in line for line in lines)


def test_a_path_is_not_broken():
    console = plain_console(file=io.StringIO(), width=20)
    say(console, "report: a folder/4 to 5 %.html", whole=True)
    assert console.file.getvalue() == "report: a folder/4 to 5 %.html\n"
