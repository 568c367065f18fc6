"""Docstrings of classes: a subclass does not repeat what its bases document."""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import cleandoc, signature
from typing import Any

_HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
_ENTRY = re.compile(r"^(\w.*?)(?: :.*)?$(?:\n[ ].*)*", re.MULTILINE)


def complete_docstring(kind: Callable[..., Any], *bases: object) -> str:
    """Return a numpydoc docstring with the entries that the bases document.

    Parameters are those of the signature, in that order; attributes of the bases come first. An own
    entry replaces that of a base.
    """
    summary, sections = _sections(kind)
    inherited = [_sections(base)[1] for base in reversed(bases)]
    for title in ("Parameters", "Attributes", "Returns", "Raises"):
        entries: dict[str, str] = {}
        for each in (*inherited, sections):
            entries |= {one[1]: one[0] for one in _ENTRY.finditer(each.get(title, ""))}
        if title == "Parameters":
            entries = {n: entries[n] for n in signature(kind).parameters if n in entries}
        sections[title] = "\n".join(entries.values())
    # numpydoc knows no such section, and scikit-learn reads docstrings by it for notebooks.
    if guarantee := sections.pop("Guarantee", ""):
        summary += f"\n\n.. rubric:: Guarantee\n\n{guarantee}"
    # A section that only the bases have stands where numpydoc expects it.
    order = dict.fromkeys(["Parameters", "Attributes", *sections])
    parts = (f"{title}\n{'-' * len(title)}\n{text}" for title in order if (text := sections[title]))
    return "\n\n".join([summary, *parts])


def _sections(kind: object) -> tuple[str, dict[str, str]]:
    """Split a docstring into what stands before its sections, and these by their titles."""
    summary, *rest = _HEADING.split(cleandoc(kind.__doc__ or ""))
    return summary.strip(), {
        title: text.strip() for title, text in zip(rest[::2], rest[1::2], strict=True)
    }
