"""The check of wording finds what is planted, in each kind of text, and nothing else."""

from __future__ import annotations

import pytest

from scripts import check_words

PLANTED = {
    "clause": 'def f():\n    """Return what is left of the budget."""\n',
    "no-noun": 'raise ParameterError(f"{name} is no column")\n',
    "so-many": 'HELP = "Take so many columns."\n',
    "nobody": 'HELP = "Nobody may read it."\n',
    "beside": "# The file\n\nIt lies beside the\nmodel.\n",
    "goes-with": "{% macro a(x) %}\n{{ x }} goes\nwith {{ x }}.\n{% endmacro %}",
    "empty-half": 'raise E("grid is not sorted; "\n        f"expected one ({hint})")\n',
    "archaic": "<p>Everything <b>but for</b> names.</p>",
    "of-first": "Columns are few. Of a large table, rows are sampled.\n",
    "house-word": 'HELP = "Coefficients are pulled towards 0."\n',
}
_ENDINGS = {"beside": "md", "of-first": "md", "goes-with": "jinja", "archaic": "html"}


@pytest.mark.parametrize("pattern", check_words.PATTERNS)
def test_each_pattern_is_found_where_it_is_planted(pattern):
    found = check_words.found_in(f"planted.{_ENDINGS.get(pattern, 'py')}", PLANTED[pattern])
    assert [name for name, _, _ in found] == [pattern]


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        ("py", 'raise E(f"{x} is not a column; expected one of {names}")\n'),
        ("py", 'raise E("x is the target; expected another column for the features")\n'),
        ("py", "beside = so_many = 1  # nobody goes with this\n"),
        ("md", "```bash\nnobody lies beside\n```\n\nIt has `but for` and there are no more.\n"),
        ("md", "## What is not protected\n"),
        ("jinja", "{# beside #}{% macro beside(x) %}{{ x.likewise }} is no longer{% endmacro %}"),
    ],
)
def test_code_and_plain_english_are_not_found(ending, text):
    assert check_words.found_in(f"plain.{ending}", text) == []


def test_a_place_is_named_by_the_line_where_its_text_begins():
    page = "# A\n\n```\ncode\n```\n\nA text that\nlies beside it.\n"
    assert [line for _, line, _ in check_words.found_in("page.md", page)] == [7]
    template = "{# a\nb #}\n{% macro a() %}It lies beside it.{% endmacro %}"
    assert [line for _, line, _ in check_words.found_in("a.jinja", template)] == [3]


def test_a_place_ends_the_check_with_what_to_write_instead(tmp_path, monkeypatch, capsys):
    (tmp_path / "page.md").write_text("Beside it: nobody.\n", encoding="utf-8")
    monkeypatch.setattr(check_words, "ROOT", tmp_path)
    assert check_words.main() == 1
    printed = capsys.readouterr().out
    assert "page.md:1: beside: " in printed
    assert "page.md:1: nobody: " in printed
    assert "next to, in addition to, with" in printed


@pytest.mark.slow  # `make words` checks the same
def test_nothing_is_said_that_readers_stumble_over():
    assert check_words.main() == 0
