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
    <!-- contents GLOB ... -->                  links to files, by their titles
    <!-- end -->                                ends each of these but a figure

`<!-- contents -->` without a pattern is a list that is kept as it is: the site's navigation.
"""

from __future__ import annotations

import argparse
import ast
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
    r"^(?P<indent> *)<!-- (?P<kind>include|code|commands|contents)(?P<rest>(?: [^\n]+?)?) -->\n"
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
