"""Code lines and tokens of each room of src/nolook, next to what the room may weigh.

    python scripts/code_lines.py          # the table; exit status 1 if a room is too large
    python scripts/code_lines.py --lower  # lower the ceilings to today's counts

A line counts unless it is blank, a comment, an import, or part of a docstring or of `__all__`.
Tokens are counted as well, also in templates and JSON, so that longer lines save nothing. A room
has a budget of lines, and of ten times as many tokens. A room over its budget may not grow: its
ceiling, in `code_lines.json`, is its count when the ceilings were last lowered. A commit that
raises a number there says why.
"""

from __future__ import annotations

import ast
import io
import json
import re
import sys
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src/nolook"
LIMITS = Path(__file__).with_suffix(".json")
TOKENS_PER_LINE = 10
OTHER_CODE = {".html", ".jinja", ".js", ".json", ".sql", ".toml"}
#: Results that a script printed: data, not code.
RESULTS = {"curves.json", "tukey_models.json"}

_LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_EXPRESSION = re.compile(r"\{[{%](.*?)[%}]\}", re.DOTALL)
_TOKEN = re.compile(r"\w+|[^\w\s]")


def python_counts(text: str) -> tuple[int, int]:
    """Return the lines of code and the tokens of a module."""
    skipped: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node) is not None:
            node = node.body[0]  # noqa: PLW2901
        elif not isinstance(node, ast.Import | ast.ImportFrom) and not (
            isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__"
        ):
            continue
        skipped |= set(range(node.lineno, node.end_lineno + 1))
    lines = [
        number
        for number, line in enumerate(text.splitlines(), 1)
        if number not in skipped and line.strip() and not line.strip().startswith("#")
    ]
    tokens = [
        token
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in _LAYOUT and token.start[0] not in skipped
    ]
    return len(lines), len(tokens)


def other_tokens(path: Path, text: str) -> int:
    """Return the tokens of a file that is not Python: expressions of a template, or all of it."""
    if path.suffix in {".html", ".jinja"}:
        text = " ".join(_EXPRESSION.findall(text))
    return len(_TOKEN.findall(text))


def counts() -> tuple[Counter[str], Counter[str]]:
    """Return lines of code and tokens by room; a module outside every room is in `.`."""
    lines: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    for path in sorted(PACKAGE.rglob("*.*")):
        place = path.relative_to(PACKAGE)
        room = place.parts[0] if len(place.parts) > 1 else "."
        if path.suffix == ".py":
            found, weight = python_counts(path.read_text(encoding="utf-8"))
            lines[room] += found
            tokens[room] += weight
        elif path.suffix in OTHER_CODE and path.name not in RESULTS:
            tokens[room] += other_tokens(path, path.read_text(encoding="utf-8"))
    return lines, tokens


def read_limits() -> dict[str, dict[str, int]]:
    """Return budget and ceilings by room."""
    found: dict[str, dict[str, int]] = json.loads(LIMITS.read_text(encoding="utf-8"))
    return found


def allowed(limits: dict[str, int]) -> tuple[int, int]:
    """Return the most lines and tokens of a room."""
    budget = limits["budget"]
    return (
        max(budget, limits.get("lines", 0)),
        max(TOKENS_PER_LINE * budget, limits.get("tokens", 0)),
    )


def lowered(
    limits: dict[str, dict[str, int]], lines: Counter[str], tokens: Counter[str]
) -> dict[str, dict[str, int]]:
    """Return the limits with each ceiling lowered to the count, or dropped within the budget."""
    found = {}
    for room, known in limits.items():
        found[room] = {"budget": known["budget"]}
        within = {"lines": known["budget"], "tokens": TOKENS_PER_LINE * known["budget"]}
        for kind, counted in (("lines", lines), ("tokens", tokens)):
            least = min(known.get(kind, 0), counted[room])
            if least > within[kind]:
                found[room][kind] = least
    return found


def excesses(
    limits: dict[str, dict[str, int]], lines: Counter[str], tokens: Counter[str]
) -> list[str]:
    """Return a line for each room that has no budget or is above what it may weigh."""
    found = [f"{room} has no budget" for room in sorted(lines.keys() - limits.keys())]
    for room, known in limits.items():
        for kind, count, most in zip(
            ("lines", "tokens"), (lines[room], tokens[room]), allowed(known), strict=True
        ):
            if count > most:
                found.append(f"{room} has {count:,} {kind}; at most {most:,} are allowed")
    return found


def main() -> int:
    """Print the table, or lower the ceilings."""
    limits, (lines, tokens) = read_limits(), counts()
    if sys.argv[1:] == ["--lower"]:
        limits = lowered(limits, lines, tokens)
        rows = [f" {json.dumps(room)}: {json.dumps(known)}" for room, known in limits.items()]
        LIMITS.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    print(f"{'room':<12} {'lines':>7} {'budget':>7} {'tokens':>8} {'at most':>8}")
    for room, known in limits.items():
        row = f"{room:<12} {lines[room]:>7,} {known['budget']:>7,} {tokens[room]:>8,}"
        print(f"{row} {allowed(known)[1]:>8,}")
    budget = sum(known["budget"] for known in limits.values())
    print(f"{'all':<12} {lines.total():>7,} {budget:>7,} {tokens.total():>8,}")
    too_large = excesses(limits, lines, tokens)
    for line in too_large:
        print(line, file=sys.stderr)
    return int(bool(too_large))


if __name__ == "__main__":
    sys.exit(main())
