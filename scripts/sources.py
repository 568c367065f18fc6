"""Which modules of this repository a file imports, a digest of their code, and its commit.

Docstrings, comments, annotations of parameters and layout do not count.
"""

from __future__ import annotations

import ast
import hashlib
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import nolook
from scripts.check_proofs import Bare, written

ROOT = Path(__file__).resolve().parents[1]
ROOMS = {
    "nolook": Path(nolook.__file__).resolve().parent,
    "papers": ROOT / "papers",
    "benchmarks": ROOT / "benchmarks",
}
RUNNERS = {ROOT / "papers" / "trials.py", ROOT / "benchmarks" / "harness.py"}  # decide no number
PROGRAM = re.compile(r"^(import|from) nolook\b", re.MULTILINE)


@cache
def code_of(file: Path) -> str:
    """Return what a file does, as text that is the same for every version of Python."""
    return written(Bare().visit(ast.parse(file.read_text(encoding="utf-8"))))


def modules_of(file: Path) -> set[Path]:
    """Return a file and all modules of this repository that it imports, whose code counts."""
    found: set[Path] = set()
    left = {file.resolve()}
    while left:
        found.add(one := left.pop())
        left |= imported(one) - found - RUNNERS
    return found


@cache
def imported(file: Path) -> set[Path]:
    """Return the modules of this repository that a file itself imports."""
    names = _names(ast.parse(file.read_text(encoding="utf-8")))
    return {home for name in names for home in homes(name)}


def homes(name: str) -> list[Path]:
    """Return the files of a module: its own, or that of a package."""
    room, *rest = name.split(".")
    place = ROOMS[room].joinpath(*rest)
    files = (place.with_suffix(".py"), place / "__init__.py", place / "__main__.py")
    return [file for file in files if file.is_file()]


def _names(tree: ast.AST) -> Iterator[str]:
    """Yield what may be a module: where a name comes from, and that name in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ROOMS:
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        # Public names are found by name when they are used.
        elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "nolook":
            yield vars(nolook)["_HOMES"].get(node.attr, "nolook")
        # Programs for processes of their own.
        elif isinstance(node, ast.Constant) and PROGRAM.search(str(node.value)):
            yield from _names(ast.parse(node.value))


def digest(file: Path) -> str:
    """Return a digest of the code of a file and of the modules that it imports."""
    parts = (one.name + code_of(one) for one in sorted(modules_of(file)))
    return hashlib.sha256("".join(parts).encode()).hexdigest()[:12]


def git(*words: str) -> str:
    """Return what git prints; nothing where there is none, or what is asked for is not there."""
    command = ["git", "-C", str(ROOT), *words]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def commit() -> str:
    """Return the commit of the source, with a plus if files differ from it; empty without git."""
    changed = git("status", "--porcelain", "--", "src", "*.py")
    return git("rev-parse", "--short=10", "HEAD") + ("+" if changed else "")
