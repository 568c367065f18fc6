"""Patterns of wording that readers stumble over, in whatever nolook says: messages, help, docs.

    python -m scripts.check_words    # every place; exit status 1 if there is any

Strings and docstrings of src/nolook, its templates and proofs, README and the pages of docs are
read; code in them is not. There are no exceptions.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from scripts.pages import without_blocks

ROOT = Path(__file__).parents[1]
#: Pages that a script writes, from what is read anyway or from names of things.
WRITTEN = {"docs/audit.md", "docs/exactness.md"}

#: Each pattern: what is wrong, and what to write.
PATTERNS: dict[str, tuple[re.Pattern[str], str]] = {
    "clause": (
        re.compile(
            r"\A(What|Who|Which|How)\b(?!.*\?)"
            r"|\A(Return|Give|Yield|List|Show|Say|Tell|Read|Write|Find|Check|Compute) "
            r"(what|who|which|where|how)\b|\bwhat is called\b"
        ),
        "name the thing by a noun (the checksum of the rows), not by a clause",
    ),
    "no-noun": (
        re.compile(r"(?<![Tt]here )\b(?:is|are|was|were|be) no (?!longer|more|less|fewer|\w+er\b)"),
        '"is not a ..."',
    ),
    "so-many": (
        re.compile(r"\b(?:so many|so much|that much|of that many)\b"),
        "the number: n, at most 64",
    ),
    "nobody": (
        re.compile(r"\b(?:somebody|nobody|whoever|the holder)\b", re.IGNORECASE),
        "an analyst, the data owner, an attacker, anyone",
    ),
    "beside": (re.compile(r"\bbeside\b", re.IGNORECASE), "next to, in addition to, with"),
    "goes-with": (re.compile(r"\bgo(?:es)? (?:together )?with\b"), "is associated with"),
    "empty-half": (
        re.compile(
            r"\bexpected (?:(?:none|it|them|others|the same|once|a whole|one that)\b"
            r"|(?:one|both|more|fewer|other columns|another(?: \w+)?|an? \w+er one|\w+er ones)"
            r"(?=$|[.,;:]| [({]))"
        ),
        'drop "expected ..." where it says nothing, keep what to do',
    ),
    "archaic": (
        re.compile(r"\b(?:lest|but for|anew|likewise|hence|as often as wanted)\b", re.IGNORECASE),
        "so that ... not, except, again, also, so, repeatedly",
    ),
    "of-first": (
        re.compile(r"(?:\A|[.;:!?] )Of (?:an?|the|two|several|each|all|these|those|what|one)\b"),
        '"For a database ..."',
    ),
    "house-word": (
        re.compile(
            r"\brehears|\bnobody may look at\b|\bpulled towards\b|\bhidden by (?:the )?noise\b"
            r"|\bwhen nobody\b|\bpaid by\b|\bcharged by\b",
            re.IGNORECASE,
        ),
        "the field's term: dry run, confidential, shrunk towards 0, not distinguishable from noise",
    ),
}

_CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`|\$[^$\n]*\$", re.DOTALL | re.MULTILINE)
_MARKS = re.compile(r"\{#.*?#\}|\{%.*?%\}|<style.*?</style>|<[^>]*>", re.DOTALL)
_VALUE = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_EXAMPLE = re.compile(r"^\s*(?:>>>|\.\.\.).*$", re.MULTILINE)
_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def python_texts(source: str) -> Iterator[tuple[int, str]]:
    """Yield docstrings, and strings of several words, each with the number of its line."""
    seen: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, _DOCUMENTED) and (text := ast.get_docstring(node)) is not None:
            seen.add(id(node.body[0].value))  # type: ignore[attr-defined]
            yield node.body[0].lineno, _CODE.sub("{}", _EXAMPLE.sub("", text))
        elif isinstance(node, ast.JoinedStr):
            seen |= {id(part) for part in ast.walk(node)}
            parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and id(node) not in seen and " " in str(node.value):
            yield node.lineno, str(node.value)


def page_texts(source: str) -> Iterator[tuple[int, str]]:
    """Yield the paragraphs of a page, without its code and what `pages.py` writes into it."""
    # As many lines as before.
    prose = _CODE.sub(lambda found: "\n" * found[0].count("\n") or "{}", without_blocks(source))
    for found in re.finditer(r"(?:[^\n]*\S[^\n]*(?:\n|\Z))+", prose):
        yield prose.count("\n", 0, found.start()) + 1, found[0]


def template_texts(source: str) -> Iterator[tuple[int, str]]:
    """Yield the text between the marks of a template."""
    plain = _VALUE.sub("{}", _MARKS.sub(lambda found: "\n" * found[0].count("\n") or "\0", source))
    for found in re.finditer(r"[^\0]*[^\0\s][^\0]*", plain):
        yield plain.count("\n", 0, found.start()) + 1, found[0]


def found_in(path: str, source: str) -> list[tuple[str, int, str]]:
    """Return each place of a file: the pattern, the line where its text begins, the words."""
    kinds = {".py": python_texts, ".md": page_texts}
    found = []
    for line, text in kinds.get(Path(path).suffix, template_texts)(source):
        words = " ".join(text.split())
        for name, (pattern, _) in PATTERNS.items():
            if name == "clause" and not (path.endswith(".py") and "." in words):
                continue  # headings ask
            for match in pattern.finditer(words):
                shown = words[max(match.start() - 30, 0) : match.end() + 30]
                found.append((name, line, shown))
    return found


def files() -> list[Path]:
    """Return the files that are read."""
    package = ROOT / "src/nolook"
    inside = [path for kind in ("py", "md", "html", "jinja") for path in package.rglob(f"*.{kind}")]
    pages = [*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md"), *(ROOT / "changes").glob("*.md")]
    names = {path.relative_to(ROOT).as_posix(): path for path in (*inside, *pages)}
    return [names[name] for name in sorted(names.keys() - WRITTEN)]


def main() -> int:
    """Print every place, and what to write instead."""
    places = [
        (path.relative_to(ROOT).as_posix(), *place)
        for path in files()
        for place in found_in(path.name, path.read_text(encoding="utf-8"))
    ]
    for name, pattern, line, words in places:
        print(f"{name}:{line}: {pattern}: ...{words}...\n  instead: {PATTERNS[pattern][1]}")
    return int(bool(places))


if __name__ == "__main__":
    sys.exit(main())
