"""Pages whose text stands elsewhere in the repository: proofs, results, what contributors read.

Each is copied to `gathered/` before a build; links between files of the repository become links
between pages, in the pages written here too, so that both the site and the repository can be read.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
PLACE = DOCS / "gathered"
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)#\s]+)(?=[)#])")
# A proof names another by its file.
NAMED = re.compile(r"(?<!\[)`([\w./]+\.md)`")
KINDS = {"privacy": "Privacy", "added": "Added", "changed": "Changed", "fixed": "Fixed"}


def pages():
    """Map each text of the repository to its page."""
    found = {
        ROOT / "CONTRIBUTING.md": PLACE / "contributing.md",
        ROOT / "contrib" / "flower" / "README.md": PLACE / "flower.md",
        ROOT / "papers" / "README.md": PLACE / "papers.md",
    }
    for text in sorted((ROOT / "src" / "nolook").rglob("*.md")):
        found[text] = PLACE / "proofs" / text.relative_to(ROOT / "src" / "nolook")
    for text in sorted((ROOT / "contrib").rglob("nolook_*/*.md")):
        found[text] = PLACE / "proofs" / "contrib" / text.name
    for text in sorted((ROOT / "papers").glob("*/*.md")):
        part = "" if text.stem == "README" else f"_{text.stem}"
        found[text] = PLACE / "proofs" / "papers" / f"{text.parent.name}{part}.md"
    for text in sorted((ROOT / "papers").glob("*/results/README.md")):
        found[text] = PLACE / "results" / f"{text.parents[1].name}.md"
    for text in sorted((ROOT / "benchmarks" / "results").glob("*.md")):
        found[text] = PLACE / "results" / text.name
    return found


def linked(text, home, place, where):
    """Return a text whose links, written for the folder `home`, lead on from the page `place`."""

    def onward(match):
        target = Path(os.path.normpath(home / match[1]))
        target = target / "README.md" if (target / "README.md") in where else target
        target = DOCS / "index.md" if target == ROOT / "README.md" else target
        return os.path.relpath(where.get(target, target), place.parent)

    def named(match):
        known = Path(os.path.normpath(home / match[1])) in where
        return f"[{match[0]}]({match[1]})" if known else match[0]

    return LINK.sub(onward, NAMED.sub(named, text))


def write(place, text):
    """Write a page unless it is there already, so that it is not built again."""
    if not place.is_file() or place.read_text(encoding="utf-8") != text:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


def changelog():
    """Return the changelog, with the fragments of what is not released yet on top."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    new = ["## Not released yet"]
    for kind, title in KINDS.items():
        fragments = sorted((ROOT / "changes").glob(f"*.{kind}.md"))
        said = [" ".join(one.read_text(encoding="utf-8").split()) for one in fragments]
        if said:
            new += [f"### {title}", "\n".join(f"- {one}" for one in said)]
    head, marker, released = text.partition("<!-- towncrier")
    return head + ("\n\n".join(new) + "\n\n" if len(new) > 1 else "") + marker + released


def gather(app):  # noqa: ARG001
    """Write every page, and remove those whose text is gone."""
    where = pages()
    for source, place in where.items():
        write(place, linked(source.read_text(encoding="utf-8"), source.parent, place, where))
    write(PLACE / "changelog.md", changelog())
    kept = {*where.values(), PLACE / "changelog.md"}
    for old in PLACE.rglob("*.md"):
        if old not in kept:
            old.unlink()


def relink(app, docname, content):
    """Let the pages written here link to texts of the repository as they stand there."""
    place = Path(app.env.doc2path(docname))
    if place.suffix == ".md" and PLACE not in place.parents:
        content[0] = linked(content[0], place.parent, place, pages())


def setup(app):
    """Connect."""
    app.connect("builder-inited", gather)
    app.connect("source-read", relink)
    return {"parallel_read_safe": True}
