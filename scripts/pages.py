"""Write into the pages of docs whatever is kept elsewhere: tables, code, figures, help, contents.

    python -m scripts.pages           # write
    python -m scripts.pages --check   # write nothing; exit status 1 if a page is out of date

Pages are plain Markdown, so that they can be read on a code host as well as on the site. Comments
mark what this script writes (a path is relative to the page):

    0.004<!--gap-0.1-->                         a figure of `measured.py`
    <!-- include PATH -->                       a text; only a part of it: `after "TEXT"`, or `part
                                                NAME` after the comment NAME, `before "TEXT"`
    <!-- code PATH -->                          Python code; only a part of it: `def NAME`, or
                                                `after "TEXT"`, `from "TEXT"`: from such a line on
    <!-- commands -->                           the help of every command
    <!-- settings -->                           the settings of schemas
    <!-- contents GLOB ... -->                  links to files, by their titles
    <!-- end -->                                ends each of these but a figure

`<!-- contents -->` without a pattern is a list that is kept as it is: the site's navigation.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from scripts.measured import figure

ROOT = Path(__file__).parents[1]
WIDTH = "80"  # of the help
FIGURE = re.compile(r"(-?\d[\d.]*|\?)<!--([\w.-]+)-->")
BLOCK = re.compile(
    r"^(?P<indent> *)<!-- (?P<kind>include|code|commands|settings|contents)"
    r"(?P<rest>(?: [^\n]+?)?) -->\n"
    r"(?P<old>.*?)^ *<!-- end -->$",
    re.DOTALL | re.MULTILINE,
)
#: Of a part of a file: names and texts in turn.
OPTION = re.compile(r' (after|before|from|def|part) "?((?<=")[^"]+(?=")|[^ "]+)"?')
#: What a code host shows as it stands.
RAW = re.compile(r"^ *(?:`{3,}|:{3,})\{.*|\{[\w:]+\}`[^`\n]*`", re.MULTILINE)
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)#\s]+)(?=[)#])")


def pages() -> list[Path]:
    """Return the pages."""
    return sorted((ROOT / "docs").glob("*.md"))


def without_blocks(text: str) -> str:
    """Return a page without what this script writes; its lines keep their numbers."""
    return BLOCK.sub(lambda found: "\n" * found[0].count("\n"), text)


def written(page: Path, text: str) -> str:
    """Return a page's text with every part up to date."""

    def block(found: re.Match[str]) -> str:
        lines = KINDS[found["kind"]](page, found["rest"], found["old"]).strip("\n")
        inside = re.sub(r"^(?=.)", found["indent"], lines, flags=re.MULTILINE)
        start = found[0][: found[0].index("-->") + 3]
        return f"{start}\n\n{inside}\n\n{found['indent']}<!-- end -->"

    return FIGURE.sub(lambda found: f"{figure(found[2])}<!--{found[2]}-->", BLOCK.sub(block, text))


def include(page: Path, rest: str, old: str) -> str:  # noqa: ARG001
    """Return a text, its links as they lead from the page."""
    path, options = rest.split(maxsplit=1)[0], OPTION.findall(rest)
    source = page.parent / path
    text = source.read_text(encoding="utf-8")
    for option, value in options:
        marker = f"<!-- {value} -->" if option == "part" else value
        start = text.index(marker)
        text = text[:start] if option == "before" else text[start + len(marker) :]

    def onward(found: re.Match[str]) -> str:
        target = os.path.normpath(source.parent / found[1])
        return os.path.relpath(target, page.parent)

    return LINK.sub(onward, text)


def code(page: Path, rest: str, old: str) -> str:  # noqa: ARG001
    """Return a file of Python, or a part of it, as a block."""
    path, options = rest.split(maxsplit=1)[0], OPTION.findall(rest)
    text = (page.parent / path).read_text(encoding="utf-8")
    lines = text.splitlines()
    for option, value in options:
        if option != "def":
            first = next(place for place, line in enumerate(lines) if value in line)
            lines = lines[first + (option == "after") :]
            continue
        node = next(
            node
            for node in ast.parse(text).body
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == value
        )
        lines = lines[node.lineno - 1 : node.end_lineno]
    return "\n".join(["```python", *"\n".join(lines).strip("\n").splitlines(), "```"])


def commands(page: Path, rest: str, old: str) -> str:  # noqa: ARG001
    """Return a section for each command, with its help."""
    import typer
    from typer.testing import CliRunner

    from nolook.cli import app

    os.environ.update(COLUMNS=WIDTH, TERM="dumb", NO_COLOR="1")
    sections = []
    for words in _commands(typer.main.get_command(app), ()):
        text = CliRunner().invoke(app, [*words, "--help"], prog_name="nolook").output
        lines = (line.rstrip() for line in text.strip("\n").splitlines())
        sections += [f"## {' '.join(('nolook', *words))}", "\n".join(["```text", *lines, "```"])]
    return "\n\n".join(sections)


#: What settings of columns mean; those of files are described where they are defined.
COLUMNS = {
    "type": "The type of the cells. Identifiers and text are never features.",
    "levels": "The values of a category, the reference first; `...` stands for all others.",
    "merge": 'Further words of levels, such as `{north = ["N"]}`.',
    "use": (
        "What the column is for: `feature`, `target`, `unit` (an identifier or text), `weights` "
        "or `nothing`, the default for identifiers, text, and categories without levels."
    ),
    "decimal": "The decimal sign; by default the file's.",
    "thousands": "What separates thousands; by default the file's.",
    "currency": "Symbols before or after a number.",
    "percent": "Whether 12 % is 0.12.",
    "true": (
        'Words for true; `["..."]` in `false` stands for all others. Words that are neither are '
        "missing."
    ),
    "false": 'Words for false, or `["..."]` for all that are not true.',
    "undeclared": (
        "Whether values of a category that are not declared are `other`, a level of their own, or "
        "`missing`."
    ),
    "pattern": (
        "How dates are written, in the signs of strftime; `%z` for an offset (times are then "
        "those of UTC)."
    ),
    "origin": "The day from which days are counted.",
    "missing": "Words for a missing value, in addition to an empty cell; by default the file's.",
    "optional": "Whether files of a folder may lack the column, whose values are missing there.",
    "label": (
        "What pages, pictures and summaries call the column. Commands, frames and files keep its "
        "name."
    ),
}


def settings(page: Path, rest: str, old: str) -> str:  # noqa: ARG001
    """Return the settings of files and columns, from their definitions; each is described there."""
    from attrs import fields_dict

    from nolook.tables.schema import SETTINGS, ColumnSchema, FileFormat

    parts = []
    for head, kind in (("The file", FileFormat), ("Columns", ColumnSchema)):
        described = COLUMNS if kind is ColumnSchema else _described(kind)
        lines = ["| setting | type of column | default | meaning |", "|---|---|---|---|"]
        for name in [name for name in fields_dict(kind) if name != "derived"]:
            of = ", ".join(each for each, own in SETTINGS.items() if name in own) or "all"
            cells = (f"`{name}`", of, _default(fields_dict(kind)[name].default), described[name])
            lines.append(f"| {' | '.join(cells)} |")
        if kind is FileFormat:
            lines = [re.sub(r"^(\|[^|]*)\|[^|]*", r"\1", line) for line in lines]
        parts += [f"## {head}", "\n".join(lines)]
    parts[3:3] = [f"A column's `type` is one of {', '.join(f'`{name}`' for name in SETTINGS)}."]
    return "\n\n".join(parts)


def _described(kind: type) -> dict[str, str]:
    """Return the descriptions of parameters in a docstring, in one line each."""
    text, found = inspect.getdoc(kind) or "", {}
    for names, words in re.findall(r"^(\w[\w, ]*) : .*\n((?:    .*\n?)+)", text, re.MULTILINE):
        line = " ".join(words.split()).replace("``", "`").replace("|", "\\|")
        found |= dict.fromkeys(names.split(", "), line)
    return found


def _default(value: object) -> str:
    """Return a default as TOML writes it; nothing if there is none."""
    shown = isinstance(value, bool | int | str) or (isinstance(value, tuple) and value)
    return f"`{json.dumps(value, ensure_ascii=False)}`" if shown else ""


def _commands(group: object, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the words of every command of a group, in the order of its help."""
    for name, command in getattr(group, "commands", {}).items():
        if hasattr(command, "commands"):
            yield from _commands(command, (*words, name))
        else:
            yield (*words, name)


def contents(page: Path, rest: str, old: str) -> str:
    """Return links to the files of some patterns, called after their titles."""
    found = [file for pattern in rest.split() for file in sorted(page.parent.glob(pattern))]
    return "\n".join(f"- [{title(f)}]({os.path.relpath(f, page.parent)})" for f in found) or old


def title(text: Path) -> str:
    """Return the first heading of a file."""
    head = next(line for line in text.read_text(encoding="utf-8").splitlines() if line[:2] == "# ")
    return head[2:].replace("`", "")


KINDS: dict[str, Callable[[Path, str, str], str]] = {
    "include": include,
    "code": code,
    "commands": commands,
    "settings": settings,
    "contents": contents,
}


def main() -> int:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    problems = []
    for page in pages():
        text = page.read_text(encoding="utf-8")
        name = page.relative_to(ROOT)
        problems += [f"{name}: {raw} cannot be read on a code host" for raw in RAW.findall(text)]
        new = written(page, text)
        if new != text and options.check:
            problems.append(f"{name}: out of date; run python -m scripts.pages")
        elif new != text:
            page.write_text(new, encoding="utf-8")
    for line in problems:
        print(line, file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
