"""MathJax beside the pages, so that formulae need no network.

One file of MathJax 3 (Apache License 2.0), with its fonts inside, from the package that carries it.
"""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

FILE = "tex-svg.js"


def copy(app, error):
    """Put the file where pages look for it."""
    if error is None and app.builder.format == "html":
        carrier = Path(find_spec("sphinx-mathjax-offline").origin).parent
        place = Path(app.outdir) / "_static" / "mathjax"
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(carrier / "static" / "mathjax" / FILE, place / FILE)


def setup(app):
    """Connect."""
    app.config.mathjax_path = f"mathjax/{FILE}"
    app.connect("build-finished", copy)
    return {"parallel_read_safe": True}
