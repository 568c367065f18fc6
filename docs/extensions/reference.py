"""A page for each public name, from the list in `src/nolook/__init__.pyi`."""

from __future__ import annotations

import inspect
import re
import warnings

from gathered import DOCS, write
from numpydoc.docscrape import NumpyDocString
from numpydoc.docscrape_sphinx import SphinxDocString

import nolook

PLACE = DOCS / "api"
PROOF = re.compile(r"``((?:algorithms|privacy)/[\w/]+)\.md``")
# Where a name comes from says what it is for.
ROOMS = {
    "tables": "Tables and what their columns are",
    "privacy": "Budgets, guarantees and ledgers",
    "estimators": "Models, selections, distributions and what judges them",
    "planning": "What a release can be expected to tell",
    "algorithms": "Grids",
    "spark": "Tables of Spark",
    "report": "Results",
    "formats": "Files",
    "errors": "Errors",
}


def listed():
    """Return the names of each room."""
    rooms = {room: [] for room in ROOMS}
    for name, home in sorted(nolook._HOMES.items()):
        if name != "__version__":
            rooms[home.split(".")[1]].append(name)
    return rooms


def summary(name):
    """Return the first sentence of a docstring."""
    return inspect.getdoc(getattr(nolook, name)).split("\n\n")[0].replace("\n", " ")


def page(name):
    """Return what documents one name."""
    thing = getattr(nolook, name)
    lines = [name, "=" * len(name), "", ".. currentmodule:: nolook", ""]
    if inspect.isclass(thing):
        lines += [f".. autoclass:: {name}", "   :members:"]
        if not issubclass(thing, BaseException):
            lines += ["   :inherited-members:"]
    else:
        lines += [f".. autofunction:: {name}"]
    return "\n".join([*lines, ""])


def reference(app):  # noqa: ARG001
    """Write the index and all pages."""
    index = ["Reference", "=========", "", "All public names; ``import nolook`` has them.", ""]
    kept = {PLACE / "index.rst"}
    for room, names in listed().items():
        title = ROOMS[room]
        index += [title, "-" * len(title), "", ".. list-table::", "   :widths: 30 70", ""]
        for name in names:
            write(PLACE / f"{name}.rst", page(name))
            kept.add(PLACE / f"{name}.rst")
            index += [f"   * - :doc:`{name}`", f"     - {summary(name)}"]
        index += ["", ".. toctree::", "   :hidden:", "", *(f"   {name}" for name in names), ""]
    write(PLACE / "index.rst", "\n".join(index))
    for old in PLACE.glob("*.rst"):
        if old not in kept:
            old.unlink()


def elsewhere(app, what, name, thing, skip, options):  # noqa: ARG001
    """Leave out what scikit-learn's own classes bring along and document themselves."""
    return str(getattr(thing, "__module__", "")).startswith("sklearn") or skip


def plain(app, what, name, thing, options, lines):  # noqa: ARG001
    """Link proofs, and keep `coef_` from being read as a link: names may end in an underscore."""
    for index, line in enumerate(lines):
        parts = re.split(r"(`[^`]+`)", PROOF.sub(r":doc:`\1.md </gathered/proofs/\1>`", line))
        parts[::2] = [re.sub(r"(\w)_(?=\W|$)", r"\1\\_", part) for part in parts[::2]]
        lines[index] = "".join(parts)


def with_guarantee(section):
    """Return how numpydoc writes a section, with the guarantee before the notes."""

    def written(self, name):
        return [*(section(self, "Guarantee") if name == "Notes" else []), *section(self, name)]

    return written


def setup(app):
    """Connect."""
    NumpyDocString.sections = {**NumpyDocString.sections, "Guarantee": []}
    SphinxDocString._str_section = with_guarantee(SphinxDocString._str_section)
    # What numpydoc does not know it would leave out.
    warnings.filterwarnings("error", "Unknown section")
    # After numpydoc, at 500.
    app.connect("autodoc-process-docstring", plain, priority=600)
    app.connect("autodoc-skip-member", elsewhere)
    app.connect("builder-inited", reference)
    return {"parallel_read_safe": True}
