"""Check that every proof was read again after the code it proves last changed.

A proof is a Markdown file beside its code with a table of the functions and classes it proves:

    | Proved | Digest |
    | --- | --- |
    | `gaussian.py: gaussian_release` | `0123456789abcdef` |
    | `../estimators/ecdf.py: ECDF.plan` | `0123456789abcdef` |

A row names a function, class or constant, or a whole file (`../errors.py`). Its digest covers what
they do and whatever they reach: in their own file, and by imports in every other file of the
package, up to what another proof names. That is read there, and this proof rests on it. Comments,
docstrings, annotations of parameters and layout do not count. In privacy, statistics and whatever
else releases, each function, class and constant has to be named by a proof or reached from one
that is.

`python scripts/check_proofs.py` fails otherwise, and names the definitions that changed since the
proof's last commit. Read the proof against the changed code, correct it, then renew its digests
with `python scripts/check_proofs.py --stamp PROOF.md`. A stamp says that the proof was read: name
only those that were. `--who 'src/nolook/_unit.py: Unit'` lists the proofs that a definition
concerns.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
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


def define(nodes: dict[str, list[ast.stmt]], node: ast.stmt, owner: str = "") -> list[str]:
    """Add what a statement defines, members of classes too; return the names it defines itself."""
    for name in (names := names_of(node)):
        nodes[owner + name].append(node)
        for member in node.body if isinstance(node, ast.ClassDef) else []:
            define(nodes, member, f"{owner}{name}.")
    return names


class Module:
    """The definitions of one file by name, members of classes as `Class.name` too."""

    def __init__(self, text: str) -> None:
        self.nodes: dict[str, list[ast.stmt]] = defaultdict(list)
        self.bare: dict[str, list[ast.stmt]] = defaultdict(list)
        self.imported: dict[str, str] = {}
        self.typed: dict[str, str] = {}  # imported for the checker of types alone
        loose: list[ast.stmt] = []
        for node in ast.parse(text).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                self.imported |= imports_of(node)
            elif idle(node):
                for one in getattr(node, "body", []):
                    self.typed |= imports_of(one)
            else:
                define(self.nodes, node)
        # A tree of its own: taking text out of a copy is far slower than parsing again.
        for node in Bare().visit(ast.parse(text)).body:
            imported = isinstance(node, ast.Import | ast.ImportFrom)
            if not imported and not idle(node) and not define(self.bare, node):
                loose.append(node)
        # What else runs when the file is imported may change any definition.
        self.loose = written(loose)
        self.top = {name for name in self.nodes if "." not in name} - {"__all__"}

    def reached(self, name: str) -> set[str]:
        """Return a definition and all that it uses in this file, and what these use."""
        found: set[str] = set()
        left = {name}
        while left:
            found.add(one := left.pop())
            left |= self.used(one)[0] - found
        return found

    @cache  # noqa: B019 -- a module lives as long as the script
    def used(self, name: str) -> tuple[set[str], set[str]]:
        """Return what a definition uses itself: of this file, and as `module:name` of others."""
        owners = self._with_bases(name.rpartition(".")[0])
        used, others = set(), set()
        for node in (part for one in self.nodes[name] for part in ast.walk(one)):
            if isinstance(node, ast.Name):
                used.add(node.id)
                others.add(self.imported.get(node.id) or self.typed.get(node.id, ""))
            elif isinstance(node, ast.Attribute):
                used |= {f"{owner}.{node.attr}" for owner in owners}
                if home := self.imported.get(ast.unparse(node.value)):
                    others.add(f"{home.strip(':').replace(':', '.')}:{node.attr}")
        return used & self.nodes.keys(), others - {""}

    def _with_bases(self, owner: str) -> list[str]:
        """Return a class and those of its bases that are in this file."""
        bases = [base for node in self.nodes.get(owner, []) for base in getattr(node, "bases", [])]
        return [owner, *(one for base in bases for one in self._with_bases(ast.unparse(base)))]

    @cache  # noqa: B019 -- as above
    def text(self, name: str) -> str:
        """Return what one definition says, and what the names it imports stand for."""
        bare = self.bare.get(name, [])
        names = {part.id for node in bare for part in ast.walk(node) if hasattr(part, "id")}
        imports = sorted(f"{it}={self.imported[it]}" for it in names & self.imported.keys())
        return "\n".join([name, *imports, written(bare)])


def imports_of(node: ast.stmt) -> dict[str, str]:
    """Return what a statement imports, as `module:name` by the name it gets."""
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return {}
    home = f"{getattr(node, 'module', '')}:"
    return {one.asname or one.name.partition(".")[0]: home + one.name for one in node.names}


#: A file, and a name in it.
Definition = tuple[Path, str]
parsed = cache(Module)


@cache
def module(path: Path) -> Module:
    """Return a file's definitions."""
    return parsed(path.read_text(encoding="utf-8"))


class Proofs:
    """All proofs below some folders, each the root of the package of its name."""

    def __init__(self, roots: list[Path]) -> None:
        module.cache_clear()  # files may have changed since the last check
        self.roots = {root.name: root.resolve() for root in roots}
        self.found: list[str] = []  # rows that are wrong
        #: Of each proof, its rows: what they name, in which words, and their digest.
        self.rows: dict[Path, list[tuple[list[Definition], str, str]]] = {}
        for proof in (path for root in roots for path in sorted(root.rglob("*.md"))):
            rows = ROW.finditer(proof.read_text(encoding="utf-8"))
            self.rows[proof] = [named for row in rows if (named := self._named(proof, row))]
        #: What the proofs name, and what that uses in its own file.
        self.covered = {
            (path, one)
            for rows in self.rows.values()
            for named, _, _ in rows
            for path, name in named
            for one in module(path).reached(name)
        }

    def _named(self, proof: Path, row: re.Match[str]) -> tuple[list[Definition], str, str] | None:
        named = definitions(proof, row)
        if isinstance(named, str):
            self.found.append(f"{shown(proof)}: {named}")
            return None
        name = f"{row['name']} of {row['source']}" if row["name"] else row["source"]
        return named, name, row["digest"]

    def _imported(self, imported: str) -> Definition | None:
        """Return where a definition of these packages is that a file imports as `module:name`."""
        home, _, name = imported.partition(":")
        first, *rest = home.split(".")
        if first not in self.roots:
            return None
        place = self.roots[first].joinpath(*rest)
        for path in (place.with_suffix(".py"), place / "__init__.py"):
            if path.is_file():
                again = module(path).imported.get(name, imported)
                if name in module(path).nodes:
                    return path, name
                return None if again == imported else self._imported(again)
        return None

    def reached(self, named: list[Definition]) -> tuple[set[Definition], set[Definition]]:
        """Return what a row's digest covers, and what of other files it takes from their proofs.

        The digest covers all that its definitions reach, in whatever file of these packages, up to
        what another file's proof names: that is read there.
        """
        found: set[Definition] = set()
        taken: set[Definition] = set()
        left = set(named)
        while left:
            found.add(one := left.pop())
            own, others = module(one[0]).used(one[1])
            uses = {(one[0], name) for name in own} | {self._imported(name) for name in others}
            for other in uses - found - {None}:
                elsewhere = other[0] != named[0][0] and other in self.covered
                (taken if elsewhere else left).add(other)
        return found, taken

    def digest(self, named: list[Definition]) -> str:
        """Return a digest of what a row names, and of all that this reaches."""
        found, _ = self.reached(named)
        home = named[0][0]
        texts = [module(home).loose]
        for path, name in sorted(found, key=lambda one: (one[0] != home, shown(one[0]), one[1])):
            # As if it stood in the same file, but for what runs when its own is imported.
            texts += [module(path).loose] * (path != home) + [module(path).text(name)]
        return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]

    def that_reach(self, words: str) -> Iterator[str]:
        """Yield the proofs to read again when a definition changes, and those that rest on them."""
        for proof, rows in self.rows.items():
            reached = [self.reached(named) for named, _, _ in rows]
            for place, why in enumerate(("covers it", "rests on the proof of it")):
                if any(words == called(one) for two in reached for one in two[place]):
                    yield f"{shown(proof)} {why}"
                    break


def definitions(proof: Path, row: re.Match[str]) -> list[Definition] | str:
    """Return what a row of a proof names, a whole file's definitions perhaps; or what is wrong."""
    source, name = (proof.parent / row["source"]).resolve(), row["name"]
    if not source.is_file():
        return f"there is no {row['source']}"
    if name and name not in module(source).nodes:
        return f"{row['source']} has no {name}"
    names = [name] if name else sorted(module(source).top)
    return [(source, one) for one in names] or f"{row['source']} defines nothing"


def called(one: Definition) -> str:
    """Return a definition as a message names it."""
    return f"{shown(one[0])}: {one[1]}"


def changed(proof: Path, reached: set[Definition]) -> list[str]:
    """Return which definitions differ from those of the commit that last changed a proof."""

    def git(*words: str) -> str:
        run = subprocess.run(["git", *words], cwd=proof.parent, capture_output=True, check=False)
        return run.stdout.decode()

    found = []
    commit = git("log", "-1", "--format=%H", "--", proof.name).strip()
    for path in sorted({path for path, _ in reached}) if commit else []:
        before = parsed(git("show", f"{commit}:./{os.path.relpath(path, proof.parent)}"))
        names = sorted(name for place, name in reached if place == path)
        found += [called((path, it)) for it in names if module(path).text(it) != before.text(it)]
    return found


def must_be_proved(root: Path) -> Iterator[Path]:
    """Yield the sources that need a proof: privacy, statistics, and whatever releases one."""
    for path in sorted(root.rglob("*.py")):
        rooms = set(path.relative_to(root).parts[:-1])
        # Audits and tests draw from tables of their own, and promise nothing.
        if path.name == "__init__.py" or rooms & {"audit", "audits", "tests"}:
            continue
        text = path.read_text(encoding="utf-8")
        # Trials of the papers try mechanisms out and release nothing.
        trials = "from papers.trials import" in text
        releases = "from nolook.privacy.mechanisms." in text and not trials
        if releases or rooms & {"privacy", "statistics"}:
            yield path


def problems(roots: list[Path]) -> list[str]:
    """Return what is wrong, one line each."""
    proofs = Proofs(roots)
    found = proofs.found
    for proof, rows in proofs.rows.items():
        stale = [(named, name) for named, name, old in rows if proofs.digest(named) != old]
        if stale:
            reached = set().union(*(proofs.reached(named)[0] for named, _ in stale))
            names = ", ".join(name for _, name in stale)
            cause = f" ({', '.join(causes)})" if (causes := changed(proof, reached)) else ""
            found.append(
                f"{shown(proof)}: {names}, or what that uses, changed since this was read{cause}"
            )
    proved = defaultdict(set)
    for place, name in proofs.covered:
        proved[place].add(name)
    for path in (path for root in roots for path in must_be_proved(root)):
        if missing := sorted(module(path.resolve()).top - proved[path.resolve()]):
            found.append(f"{shown(path)}: no proof names {', '.join(missing)}")
    return found


@cache
def shown(path: Path) -> str:
    """Return a path as a message shows it."""
    path = path.resolve()
    return str(path.relative_to(REPOSITORY) if path.is_relative_to(REPOSITORY) else path)


def stamp(stamped: list[Path], roots: list[Path]) -> None:
    """Write the present digests into these proofs."""
    proofs = Proofs(roots)
    for proof in stamped:

        def renewed(row: re.Match[str], proof: Path = proof) -> str:
            named = definitions(proof, row)
            if isinstance(named, str):
                return row[0]
            return f"{row[0].rpartition(' | ')[0]} | `{proofs.digest(named)}` |"

        old = proof.read_text(encoding="utf-8")
        new = ROW.sub(renewed, old)
        if new != old:
            proof.write_text(new, encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Check; with --stamp renew the digests of the proofs named first."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stamp", nargs="+", type=Path, default=[], metavar="PROOF")
    parser.add_argument("--who", metavar="'FILE: NAME'", help="list the proofs that reach this")
    parser.add_argument("--roots", nargs="+", type=Path, default=ROOTS, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.who:
        found = list(Proofs(options.roots).that_reach(options.who))
        print(
            *(found or [f"no proof reaches {options.who!r} (written as 'src/nolook/FILE: NAME')"]),
            sep="\n",
        )
        return 0 if found else 1
    stamp(options.stamp, options.roots)
    found = problems(options.roots)
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
