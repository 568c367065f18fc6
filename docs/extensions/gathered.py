"""Pages whose text stands elsewhere in the repository: proofs, results, what contributors read.

Each is copied to `gathered/` before a build. On the site, links between files of the repository
become links between pages, lists of contents become its navigation, and the names of public classes
and functions lead to the reference: the pages themselves are plain Markdown.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import nolook

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
PLACE = DOCS / "gathered"
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)#\s]+)(?=[)#])")
# A proof names another by its file.
NAMED = re.compile(r"(?<!\[)`([\w./]+\.md)`")
# What `scripts/pages.py` marks as contents, with the heading before it.
CONTENTS = re.compile(
    r"(?:^## ([^\n]+)\n\n)?^<!-- contents[^\n]* -->\n(.*?)^<!-- end -->$", re.DOTALL | re.MULTILINE
)
ENTRY = re.compile(r"^- \[(.+)\]\((.+)\.\w+\)$", re.MULTILINE)
FENCED = re.compile(r"(^ *```.*?^ *```$|^#.*?$)", re.DOTALL | re.MULTILINE)
PUBLIC = re.compile(r"(?<![`\[])`(nolook\.[\w.]+|[A-Z]\w+)`(?!`)")
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


def written_by_sphinx():
    """Map what the site shows in its own way to the page of that."""
    tutorials = ROOT / "examples" / "tutorials"
    found = {path: DOCS / "gallery" / f"{path.stem}.rst" for path in tutorials.glob("[0-9]*.py")}
    found[tutorials / "README.rst"] = DOCS / "gallery" / "index.rst"
    found[ROOT / "src" / "nolook" / "__init__.pyi"] = DOCS / "api" / "index.rst"
    found[ROOT / "CHANGELOG.md"] = PLACE / "changelog.md"
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


def navigation(text):
    """Return a page whose lists of contents are tables of contents."""

    def tree(found):
        caption = f":caption: {found[1]}\n" if found[1] else ""
        entries = "\n".join(f"{title} <{path}>" for title, path in ENTRY.findall(found[2]))
        return f"```{{toctree}}\n:maxdepth: 1\n{caption}\n{entries}\n```"

    return CONTENTS.sub(tree, text)


def referenced(text):
    """Return a page in which public names lead to the reference, except in code and headings."""

    def named(found):
        name = found[1].removeprefix("nolook.")
        known = name.split(".")[0] in nolook.__all__
        return f"{{py:obj}}`{found[1]} <nolook.{name}>`" if known else found[0]

    parts = FENCED.split(text)
    parts[::2] = [PUBLIC.sub(named, part) for part in parts[::2]]
    return "".join(parts)


def relink(app, docname, content):
    """Turn a page written here into one of the site."""
    place = Path(app.env.doc2path(docname))
    if place.suffix == ".md" and PLACE not in place.parents:
        where = {**pages(), **written_by_sphinx()}
        text = navigation(linked(content[0], place.parent, place, where))
        content[0] = referenced(text)


def setup(app):
    """Connect."""
    app.connect("builder-inited", gather)
    app.connect("source-read", relink)
    return {"parallel_read_safe": True}
