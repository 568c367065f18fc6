"""Check that every proof was read again after the code it proves last changed.

A proof is a Markdown file beside its code with a table of the sources it proves:

    | Source | SHA-256 |
    | --- | --- |
    | `gaussian.py` | `0123...` |

`python scripts/check_proofs.py` fails when a digest is not that of the file, or when a mechanism
has no proof. Read the proof against the changed code, correct it, then renew its digests with
`python scripts/check_proofs.py --stamp PROOF.md`. A stamp says that the proof was read: name only
those that were.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "nolook"
ROW = re.compile(r"^\| `(?P<source>[\w./]+\.py)` \| `(?P<digest>[0-9a-f]*)` \|$", re.MULTILINE)


def digest(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def must_be_proved(package: Path) -> set[Path]:
    """Return the sources that need a proof: privacy, statistics, and whatever releases one."""
    rooms = {path for room in ("privacy", "statistics") for path in (package / room).rglob("*.py")}
    release = "from nolook.privacy.mechanisms."
    releasing = {p for p in package.rglob("*.py") if release in p.read_text(encoding="utf-8")}
    # Audits draw from tables of their own, and promise nothing.
    audits = set((package / "audit").rglob("*.py"))
    return {path for path in (rooms | releasing) - audits if path.name != "__init__.py"}


def problems(package: Path) -> list[str]:
    """Return what is wrong, one line each."""
    found = []
    proved = set()
    package = package.resolve()
    for proof in sorted(package.rglob("*.md")):
        for row in ROW.finditer(proof.read_text(encoding="utf-8")):
            source = (proof.parent / row["source"]).resolve()
            name = proof.relative_to(package)
            if not source.is_file():
                found.append(f"{name}: there is no {row['source']}")
                continue
            proved.add(source)
            if digest(source) != row["digest"]:
                found.append(f"{name}: {row['source']} has changed since this proof was read")
    unproved = sorted(must_be_proved(package) - proved)
    found += [
        f"{path.relative_to(package)}: has no proof; write one beside it" for path in unproved
    ]
    return found


def stamp(proofs: list[Path]) -> None:
    """Write the present digests into these proofs."""
    for proof in proofs:
        old = proof.read_text(encoding="utf-8")

        def renewed(row: re.Match[str], proof: Path = proof) -> str:
            source = proof.parent / row["source"]
            present = digest(source) if source.is_file() else row["digest"]
            return f"| `{row['source']}` | `{present}` |"

        new = ROW.sub(renewed, old)
        if new != old:
            proof.write_text(new, encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Check; with --stamp renew the digests of the proofs named first."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stamp", nargs="+", type=Path, default=[], metavar="PROOF")
    parser.add_argument("--package", type=Path, default=PACKAGE, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    stamp(options.stamp)
    found = problems(options.package)
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
