"""Check that every proof was read again after the code it proves last changed.

A proof is a Markdown file beside its code with a table of the functions and classes it proves:

    | Proved | Digest |
    | --- | --- |
    | `gaussian.py: gaussian_release` | `0123456789abcdef` |
    | `../estimators/ecdf.py: ECDF.plan` | `0123456789abcdef` |

A digest covers what the function does, and whatever of its own file it reaches: functions, classes,
constants, and what the names it imports stand for. Comments, docstrings, annotations of parameters
and layout do not count. In privacy, statistics and whatever else releases, each function, class
and constant has to be named by a proof or reached from one that is.

`python scripts/check_proofs.py` fails otherwise. Read the proof against the changed code, correct
it, then renew its digests with `python scripts/check_proofs.py --stamp PROOF.md`. A stamp says that
the proof was read: name only those that were.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
ROOTS = [
    path for name in ("src/nolook", "papers", "contrib") if (path := REPOSITORY / name).is_dir()
]
ROW = re.compile(
    r"^\| `(?P<source>[\w./]+\.py)(?:: (?P<name>[\w.]+))?` \| `(?P<digest>[0-9a-f]*)` \|$",
    re.MULTILINE,
)


class Bare(ast.NodeTransformer):
    """What remains of code without docstrings and the annotations of functions."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if text else self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(arg=node.arg)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815


def written(node: object) -> str:
    """Return a syntax tree as text that is the same for every version of Python."""
    if isinstance(node, list):
        return "[" + ",".join(map(written, node)) + "]"
    if not isinstance(node, ast.AST):
        return repr(node)
    parts = [f"{name}={written(part)}" for name, part in ast.iter_fields(node) if part]
    if isinstance(node, ast.Constant):
        parts = [repr(node.value)]  # 0 and "" count, and u"" is ""
    return f"{type(node).__name__}({','.join(parts)})"


def names_of(node: ast.stmt) -> list[str]:
    """Return the names that a statement defines; none if it does anything else."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    if isinstance(node, ast.Assign | ast.AnnAssign):
        parts = [part for one in targets for part in getattr(one, "elts", [one])]
        if all(isinstance(part, ast.Name) for part in parts):
            return [part.id for part in parts]
    return []


def idle(node: ast.stmt) -> bool:
    """Tell whether a statement is text, or for the checker of types alone."""
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING" and not node.orelse
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


class Module:
    """The definitions of one file by name, members of classes as `Class.name` too."""

    def __init__(self, text: str) -> None:
        self.nodes: dict[str, list[ast.stmt]] = defaultdict(list)
        self.imported: dict[str, str] = {}
        loose: list[ast.stmt] = []
        for node in ast.parse(text).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                for one in node.names:
                    name = one.asname or one.name.partition(".")[0]
                    self.imported[name] = f"{getattr(node, 'module', '')}:{one.name}"
            elif not self._define(node) and not idle(node):
                loose.append(node)
        # What else runs when the file is imported may change any definition.
        self.loose = written([Bare().visit(deepcopy(node)) for node in loose])
        self.top = {name for name in self.nodes if "." not in name} - {"__all__"}

    def _define(self, node: ast.stmt, owner: str = "") -> list[str]:
        for name in (names := names_of(node)):
            self.nodes[owner + name].append(node)
            for member in node.body if isinstance(node, ast.ClassDef) else []:
                self._define(member, f"{owner}{name}.")
        return names

    def reached(self, name: str) -> set[str]:
        """Return a definition and all that it uses in this file, and what these use."""
        found: set[str] = set()
        left = {name}
        while left:
            found.add(one := left.pop())
            left |= self._used(one) - found
        return found

    def _used(self, name: str) -> set[str]:
        owners = self._with_bases(name.rpartition(".")[0])
        used = set()
        for node in (part for one in self.nodes[name] for part in ast.walk(one)):
            if isinstance(node, ast.Name):
                used.add(node.id)
            elif isinstance(node, ast.Attribute):
                used |= {f"{owner}.{node.attr}" for owner in owners}
        return used & self.nodes.keys()

    def _with_bases(self, owner: str) -> list[str]:
        """Return a class and those of its bases that are in this file."""
        bases = [base for node in self.nodes.get(owner, []) for base in getattr(node, "bases", [])]
        return [owner, *(one for base in bases for one in self._with_bases(ast.unparse(base)))]

    def digest(self, name: str) -> str:
        """Return a digest of a definition and of all that it reaches in this file."""
        texts = [self.loose]
        for one in sorted(self.reached(name)):
            bare = [Bare().visit(deepcopy(node)) for node in self.nodes[one]]
            names = {part.id for node in bare for part in ast.walk(node) if hasattr(part, "id")}
            imports = sorted(f"{it}={self.imported[it]}" for it in names & self.imported.keys())
            texts += [one, *imports, written(bare)]
        return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


parsed = cache(Module)


def module(path: Path) -> Module:
    """Return a file's definitions."""
    return parsed(path.read_text(encoding="utf-8"))


def must_be_proved(root: Path) -> Iterator[Path]:
    """Yield the sources that need a proof: privacy, statistics, and whatever releases one."""
    for path in sorted(root.rglob("*.py")):
        rooms = set(path.relative_to(root).parts[:-1])
        # Audits and tests draw from tables of their own, and promise nothing.
        if path.name == "__init__.py" or rooms & {"audit", "tests"}:
            continue
        text = path.read_text(encoding="utf-8")
        # Trials of the papers try mechanisms out and release nothing.
        trials = "from papers.trials import" in text
        releases = "from nolook.privacy.mechanisms." in text and not trials
        if releases or rooms & {"privacy", "statistics"}:
            yield path


def problems(roots: list[Path]) -> list[str]:
    """Return what is wrong, one line each."""
    found = []
    proved = defaultdict(set)
    for proof in (path for root in roots for path in sorted(root.rglob("*.md"))):
        stale = defaultdict(list)
        for row in ROW.finditer(proof.read_text(encoding="utf-8")):
            source, name = (proof.parent / row["source"]).resolve(), row["name"]
            if not source.is_file():
                found.append(f"{shown(proof)}: there is no {row['source']}")
            elif name not in module(source).nodes:
                wrong = f"{row['source']} has no {name}" if name else f"{row[0]} names no function"
                found.append(f"{shown(proof)}: {wrong}")
            else:
                proved[source] |= module(source).reached(name)
                if module(source).digest(name) != row["digest"]:
                    stale[row["source"]].append(name)
        for source, names in stale.items():
            changed = f"{', '.join(names)} of {source}, or what that uses there"
            found.append(f"{shown(proof)}: {changed}, changed since this was read")
    for path in (path for root in roots for path in must_be_proved(root)):
        if missing := sorted(module(path.resolve()).top - proved[path.resolve()]):
            found.append(f"{shown(path)}: no proof names {', '.join(missing)}")
    return found


def shown(path: Path) -> str:
    """Return a path as a message shows it."""
    path = path.resolve()
    return str(path.relative_to(REPOSITORY) if path.is_relative_to(REPOSITORY) else path)


def stamp(proofs: list[Path]) -> None:
    """Write the present digests into these proofs."""
    for proof in proofs:

        def renewed(row: re.Match[str], folder: Path = proof.parent) -> str:
            source, name = (folder / row["source"]).resolve(), row["name"]
            if not source.is_file() or name not in module(source).nodes:
                return row[0]
            return f"| `{row['source']}: {name}` | `{module(source).digest(name)}` |"

        old = proof.read_text(encoding="utf-8")
        new = ROW.sub(renewed, old)
        if new != old:
            proof.write_text(new, encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Check; with --stamp renew the digests of the proofs named first."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stamp", nargs="+", type=Path, default=[], metavar="PROOF")
    parser.add_argument("--roots", nargs="+", type=Path, default=ROOTS, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    stamp(options.stamp)
    found = problems(options.roots)
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
