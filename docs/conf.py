"""How `make docs` builds the site: offline, with every warning an error."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "extensions")]

import nolook  # noqa: E402

project = "nolook"
author = "The nolook authors"
copyright = author  # noqa: A001
version = release = nolook.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
    # Of this site.
    "accessible",
    "bundled",
    "gathered",
    "reference",
]
exclude_patterns = ["_build", "gallery/**/*.py", "gallery/**/*.ipynb", "**/sg_execution_times.rst"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
language = "en_GB"
# Nothing is numbered by hand and no language is guessed.
highlight_language = "none"
# A proof's headings repeat those of others.
suppress_warnings = ["config.cache"]

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3

autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples/tutorials",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/\d_\w+\.py",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "capture_repr": (),
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "min_reported_time": 3600,
    "write_computation_times": False,
    "matplotlib_animations": False,
}

html_theme = "furo"
html_title = f"nolook {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
# Both have enough contrast to be read by anybody.
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
