"""Write docs/exactness.md: every place where randomness decides something private, and why exactly.

The places are found in the source, so none can be forgotten: each use of a function that takes a
source of random bits and is defined in ``privacy/``, each use of the bits themselves, and each use
in the sampler's own file of a comparison that decides a draw. The argument for a place is kept
beside its code, in the section "Exactness" of the proof that lists the file:

    - `module.function` calls `this`, `that`: why rounding cannot change what is drawn.

`python scripts/exactness.py` writes the page; `--check` only tells whether it is up to date. Both
fail when a place has no argument, an argument has no place, a module of samplers is imported as a
whole, or a file takes random numbers from elsewhere without being listed below. The published
versions in `papers/` and secure sums in `contrib/` are held to the same, but are not on the page.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import sys
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from attrs import define, field, frozen

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "nolook"
#: Held to the same as the package, but not on the page.
OUTSIDE = (ROOT / "papers", ROOT / "contrib" / "flower" / "nolook_flower")
PAGE = ROOT / "docs" / "exactness.md"

SOURCE = re.compile(r"^\| `(?P<source>[\w./]+\.py): [\w.]+` \| `[0-9a-f]*` \|$", re.MULTILINE)
SECTION = re.compile(r"^## Exactness\n(?P<body>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
CLAIM = re.compile(r"^`(?P<place>[\w.]+)` calls (?P<callees>`\w+`(?:, `\w+`)*): (?P<text>.+)$")
NOISE = "privacy/noise.py"
# The file that noise.py takes random bits from.
SOURCES = "privacy/_sources.py"
# Releases made-up tables to measure what that reveals; it never sees a user's.
AUDITS = "audit/"
TRIALS = "from papers.trials import"
# Compares uniform numbers with probabilities, on behalf of the sampler's file.
COMPARING = ("_compare.py", "_class_race.py", "_refine.py", "_weights.py")
# What stands for random bits among their parameters.
RANDOM = {"words", "draw", "uniform", "uniforms"}
# What a source is asked with.
BITS = "words"

#: Random numbers from elsewhere, which decide nothing private: the file and the reason.
ELSEWHERE = {
    "algorithms/_simulation.py": "simulates after a release, from a fixed seed",
    "estimators/ecdf.py": "draws from a distribution that was released, when asked to (`rvs`)",
    "tables/units.py": "draws a key by which identifiers are compared, and which is then forgotten",
    "formats/files.py": "makes up the name of a file that is not yet complete",
}
FOREIGN = re.compile(
    r"^(numpy\.random|random|secrets|uuid|os\.urandom|sklearn\.utils\.check_random_state)(\.|$)"
)

GROUPS = {
    "The samplers": "What these draw has exactly the distribution stated, whatever the scale.",
    "The mechanisms": "What these add is whole numbers to whole numbers; what they choose is among "
    "labels that are the same for all tables.",
    "What uses them": "What these pass on is exact: whole numbers whose change by one row is "
    "bounded as it stands in the computer, with every rounding on the way to them counted.",
}
HEAD = """# Where randomness decides, and why rounding does not

Written by `scripts/exactness.py` from the source and the proofs beside it; do not edit.

A mechanism is private on paper for real numbers. Computers round, and attacks on noise in
floating point are known: the last digits of noisy numbers reveal which table they came from, and a
sum may change by more than its claimed sensitivity. Here, no rounded number decides a draw that
privacy depends on. This page lists all {places} places where randomness decides something
private, with the argument for each. A test fails if it misses a place in the source.

What is taken for granted: the operating system's random bits; addition, multiplication, division
and square root in float64 as IEEE 754 has them; and the accuracy of NumPy's and SciPy's
functions, by the generous bounds that `noise.md`, `top_k.md`, `adassp.md` and
`accounting.md` state and tests measure. Float64 is trusted only outside these bounds; inside
them exact arithmetic decides. [accounting.md](../src/nolook/privacy/accounting.md) proves that the
budget's own arithmetic is rounded towards privacy.

The smallest scale of noise offered is 2^-10 grid units. Up to some 1/40 of a unit fewer than one
draw in 10^17 differs from 0, as its law demands. The largest scale is 2^70; larger ones are
refused.
"""


@frozen
class Place:
    """What stands at the top of a file, and the drawing functions it uses."""

    file: str  # relative to the package
    function: str
    callees: tuple[str, ...]

    @property
    def key(self) -> str:
        """What proofs call it."""
        return f"{Path(self.file).stem}.{self.function}"

    @property
    def dotted(self) -> str:
        """Its full name."""
        return ".".join(["nolook", *Path(self.file).with_suffix("").parts, self.function])


@frozen
class Argument:
    """What a proof says about a place."""

    proof: Path
    place: str
    callees: tuple[str, ...]
    text: str


@define
class Found:
    """Everything found in a package."""

    places: dict[Place, Argument] = field(factory=dict)
    problems: list[str] = field(factory=list)


@cache
def parsed(text: str) -> ast.Module:
    """Return a file's syntax tree."""
    return ast.parse(text)


def modules(package: Path) -> Iterator[tuple[str, ast.Module]]:
    """Yield every file's path within the package, and its tree; audits and trials aside."""
    for path in sorted(package.rglob("*.py")):
        file = path.relative_to(package).as_posix()
        text = path.read_text(encoding="utf-8")
        # The papers' trials try releases out on public tables, and release nothing.
        aside = file.startswith(AUDITS) or file in {"audit.py", "swope2024/tables.py"}
        if not aside and TRIALS not in text:
            yield file, parsed(text)


def module_name(file: str) -> str:
    """Return the name a file is imported by."""
    return ".".join(["nolook", *Path(file).with_suffix("").parts])


def drawing_functions(package: Path) -> dict[str, set[str]]:
    """Return, for each file of privacy/, what takes a source or a key of random bits."""
    found = {}
    for file, tree in modules(package):
        if not file.startswith("privacy/"):
            continue
        wanted = RANDOM if Path(file).name in COMPARING else {"source", "key"}
        taking = {
            node.name
            for node in tree.body
            if isinstance(node, ast.FunctionDef)
            and wanted & {one.arg for one in (*node.args.args, *node.args.kwonlyargs)}
        }
        if taking:
            found[file] = taking
    return found


def names_of_drawing(file: str, tree: ast.Module, drawing: dict[str, set[str]]) -> dict[str, str]:
    """Return the names by which a file knows drawing functions, and what they are called."""
    comparing = Path(file).name in COMPARING
    names = {} if comparing else {name: name for name in drawing.get(file, ())}
    by_module = {module_name(other): (other, taking) for other, taking in drawing.items()}
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or node.module not in by_module:
            continue
        other, taking = by_module[node.module]
        # Comparisons count where the sampler asks for them; enclosures of numbers draw nothing.
        if Path(other).name in COMPARING and file != NOISE:
            continue
        names |= {one.asname or one.name: one.name for one in node.names if one.name in taking}
    return names


def functions(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Yield what stands at the top of a file by name, methods by Class.method."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                yield f"{node.name}.{getattr(inner, 'name', 'body')}", inner
        elif not isinstance(node, ast.Import | ast.ImportFrom):
            targets = [*getattr(node, "targets", []), getattr(node, "target", None)]
            assigned = getattr(targets[0], "id", "module")
            yield getattr(node, "name", assigned), node


def uses(node: ast.AST, names: dict[str, str]) -> set[str]:
    """Return which drawing functions are called here, or handed on as values."""
    found = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and one.id in names:
            found.add(names[one.id])
        if isinstance(one, ast.Attribute) and one.attr == BITS:
            found.add(BITS)
    return found


def places(package: Path, drawing: dict[str, set[str]]) -> Found:
    """Find all places, without their arguments yet, and what must not be there."""
    found = Found()
    for file, tree in modules(package):
        names = names_of_drawing(file, tree, drawing)
        for function, node in functions(tree):
            used = uses(node, names)
            if used:
                place = Place(file, function, tuple(sorted(used)))
                found.places[place] = Argument(Path(), place.key, (), "")
        found.problems += whole_modules(file, tree, drawing)
        found.problems += foreign(file, tree)
    return found


def whole_modules(file: str, tree: ast.Module, drawing: dict[str, set[str]]) -> list[str]:
    """Tell of imports that would hide which functions are called."""
    hidden = {module_name(other) for other in drawing}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            wanted = {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom):
            wanted = {f"{node.module}.{one.name}" for one in node.names}
            if node.module in hidden and any(one.name == "*" for one in node.names):
                wanted.add(node.module)
        else:
            continue
        found += [f"{file}: imports {name} as a whole" for name in sorted(wanted & hidden)]
    return found


def imported_names(tree: ast.Module) -> dict[str, str]:
    """Return what each imported name stands for."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                names[one.asname or one.name.split(".")[0]] = (
                    one.name if one.asname else one.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            names |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
    return names


def foreign(file: str, tree: ast.Module) -> list[str]:
    """Tell of random numbers from elsewhere in a file that is not listed."""
    names = imported_names(tree)
    whole = {name for name in names.values() if FOREIGN.match(name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            dotted = ast.unparse(node).split(".")
            dotted[0] = names.get(dotted[0], dotted[0])
            if FOREIGN.match(".".join(dotted)):
                whole.add(".".join(dotted))
    if file in ELSEWHERE or file == SOURCES:
        return [] if whole else [f"{file}: takes no random numbers from elsewhere any more"]
    return [f"{file}: takes random numbers from {name}" for name in sorted(whole)]


def arguments(proof: Path) -> Iterator[Argument]:
    """Yield the arguments of a proof's section."""
    section = SECTION.search(proof.read_text(encoding="utf-8"))
    if section is None:
        return
    for item in re.split(r"^- ", section["body"], flags=re.MULTILINE)[1:]:
        # An argument ends with its paragraph.
        text = " ".join(item.split("\n\n")[0].split())
        claim = CLAIM.match(text)
        if claim is None:
            yield Argument(proof, text, (), "")
            continue
        callees = tuple(sorted(re.findall(r"\w+", claim["callees"])))
        yield Argument(proof, claim["place"], callees, claim["text"])


def collect(package: Path, product: Path | None = None) -> Found:
    """Find all places with their arguments; the product's functions draw, if it is another one."""
    found = places(package, drawing_functions(product or package))
    left = dict.fromkeys(found.places)
    for proof in sorted(package.rglob("*.md")):
        sources = SOURCE.findall(proof.read_text(encoding="utf-8"))
        own = {(proof.parent / one).resolve() for one in sources}
        for argument in arguments(proof):
            matching = [
                place
                for place in left
                if place.key == argument.place
                and place.callees == argument.callees
                and (package / place.file).resolve() in own
            ]
            name = proof.relative_to(package)
            if len(matching) != 1:
                found.problems.append(f"{name}: no such place in its sources: {argument.place}")
                continue
            found.places[matching[0]] = argument
            del left[matching[0]]
    for place in left:
        called = ", ".join(place.callees)
        found.problems.append(f"{place.file}: {place.function} calls {called}; no argument for it")
    return found


def group_of(place: Place) -> str:
    """Return the part of the page a place belongs to."""
    samplers, mechanisms, users = GROUPS
    if place.file == NOISE or Path(place.file).name in COMPARING:
        return samplers
    return mechanisms if place.file.startswith("privacy/") else users


def filled(text: str) -> str:
    """Return a paragraph in lines of a readable length."""
    return textwrap.fill(text, 98, break_long_words=False, break_on_hyphens=False)


def page(found: Found) -> str:
    """Return the page's text."""
    parts = [HEAD.format(places=len(found.places))]
    for group, meaning in GROUPS.items():
        parts.append(f"\n## {group}\n\n{meaning}\n")
        for place, argument in found.places.items():
            if group_of(place) != group:
                continue
            called = ", ".join(f"`{name}`" for name in place.callees)
            path = os.path.relpath(argument.proof, PAGE.parent)
            text = f"Calls {called}. {argument.text[0].upper()}{argument.text[1:]}"
            parts.append(f"\n### `{place.dotted}`\n\n{filled(text)}\n")
            parts.append(f"\nProof: [{argument.proof.name}]({path})\n")
    parts.append("\n## Random numbers that decide nothing private\n\n")
    parts += [f"- `nolook/{file}` {reason}.\n" for file, reason in ELSEWHERE.items()]
    parts.append(f"- `nolook/{AUDITS}` releases made-up tables, to measure what that reveals.\n")
    return "".join(parts)


def main(given: list[str] | None = None) -> int:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--package", type=Path, default=PACKAGE, help=argparse.SUPPRESS)
    options = parser.parse_args(given)
    found = collect(options.package)
    problems = found.problems[:]
    for folder in OUTSIDE:
        problems += collect(folder, options.package).problems
    if not problems:
        text = page(found)
        if not options.check:
            PAGE.parent.mkdir(exist_ok=True)
            PAGE.write_text(text, encoding="utf-8")
        elif not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != text:
            problems = ["docs/exactness.md: not up to date; run python scripts/exactness.py"]
    for line in problems:
        print(line, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
