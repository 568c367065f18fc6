"""What Sphinx and the theme leave out for those who use a keyboard or a screen reader."""

from __future__ import annotations

import re

LEVEL = ('role="heading"', 'role="heading" aria-level="2"')
# What scrolls can be reached by the keyboard, a heading says its level, a picture's link its title.
CHANGES = {
    "body": [
        ("<pre>", '<pre tabindex="0">'),
        ('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper'),
        LEVEL,
        (
            r'(<a class="reference internal" [^>]*)(><span class="doc">)([^<"]*)',
            r'\1 aria-label="\3"\2\3',
        ),
    ],
    "furo_navigation_tree": [LEVEL],
}


def complete(app, pagename, templatename, context, doctree):  # noqa: ARG001
    """Change the page before it is written."""
    for part in CHANGES.keys() & context.keys():
        for old, new in CHANGES[part]:
            context[part] = re.sub(old, new, context[part])


def setup(app):
    """Connect, after the theme, at 500."""
    app.connect("html-page-context", complete, priority=900)
    return {"parallel_read_safe": True}
