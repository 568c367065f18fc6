"""List the pages of benchmarks and the papers' experiments that are older than their code.

    python -m scripts.older

The last line of a page names the commit, a digest of the code it measures, the kind of machine and
the command (`benchmarks/harness.py`); a paper's trial has commit and digest. A page is older if the
code has another digest now. This check informs; it never fails.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

import pyarrow.parquet as pq

from papers.trials import CODE, COMMIT, Kept, source_file
from scripts.sources import ROOT, digest, git, homes, modules_of

#: How a page ends.
MEASURED = re.compile(
    r"^Measured at commit (?P<commit>\w*)\+?, code (?P<code>\w{12}), .*`python -m (?P<name>[\w.]+)",
    re.MULTILINE,
)
#: Its name, the commit and the digest of the code (empty if unknown), and the file that made it.
Made = tuple[str, str, str, Path]


def pages(folder: Path) -> Iterator[Made]:
    """Yield the pages of a folder."""
    for page in sorted((*folder.glob("*.md"), *folder.glob("*.txt"))):
        found = MEASURED.search(page.read_text(encoding="utf-8"))
        own = homes(found["name"]) if found else []
        yield page.stem, *((found["commit"], found["code"], own[-1]) if own else ("", "", page))


def trials() -> Iterator[Made]:
    """Yield the papers' experiments, once for each source that made trials."""
    for path in sorted(ROOT.glob("papers/*/pages.py")):
        for one in import_module(f"papers.{path.parent.name}.pages").PAPER.experiments:
            kept = Kept(path.parent / "results" / "trials", one.name).path
            rows = pq.read_table(kept, columns=[COMMIT, CODE]).to_pylist() if kept.is_file() else []
            for commit, code in sorted({(row[COMMIT] or "", row[CODE] or "") for row in rows}):
                name = f"{path.parent.name}/{one.name}"
                yield name, commit.rstrip("+"), code, source_file(one.trial)


def report(found: Iterable[Made]) -> Iterator[str]:
    """Yield what is older than the code it measures, by commit, and of what that is unknown."""
    older: dict[str, list[str]] = defaultdict(list)
    for name, commit, code, source in found:
        if not code:
            older["unknown: no commit named"].append(name)
        elif code != digest(source):
            files = modules_of(source)
            changed = git("diff", "--name-only", commit or "HEAD", "--", *map(str, files)).split()
            many = f"{len(changed)} of {len(files)} modules changed since" if changed else "not of"
            older[f"{many} {commit or 'a known commit'}"].append(name)
    yield "Older than the code they measure:" if older else "No page is older than its code."
    yield from (f"  {why}: {', '.join(names)}" for why, names in sorted(older.items()))


if __name__ == "__main__":
    print(*report([*pages(ROOT / "benchmarks" / "results"), *trials()]), sep="\n")
