"""Docstrings of classes: a subclass does not repeat what its bases document."""

from __future__ import annotations

import re
from inspect import cleandoc, signature

_GUARANTEE = "Guarantee"
_HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
_ENTRY = re.compile(r"^(\w.*?)(?: :.*)?$(?:\n[ ].*)*", re.MULTILINE)


def complete_docstring(kind: type) -> str:
    """Return a numpydoc docstring with the parameters and attributes that the bases document.

    Parameters of a class with an `__init__` are those of its signature, in that order; attributes
    of the bases come first. An entry of the class itself replaces that of a base.
    """
    summary, sections = _sections(kind)
    inherited = [_sections(base)[1] for base in reversed(kind.__bases__)]
    for title in ("Parameters", "Attributes"):
        entries: dict[str, str] = {}
        for each in (*inherited, sections):
            entries |= {found[1]: found[0] for found in _ENTRY.finditer(each.get(title, ""))}
        if title == "Parameters" and "__init__" in vars(kind):
            names = signature(kind).parameters
            entries = {name: entries[name] for name in names if name in entries}
        sections[title] = "\n".join(entries.values())
    # numpydoc knows no such section, and scikit-learn reads docstrings by it for notebooks.
    if guarantee := sections.pop(_GUARANTEE, ""):
        summary += f"\n\n.. rubric:: {_GUARANTEE}\n\n{guarantee}"
    # A section that only the bases have stands where numpydoc expects it.
    order = dict.fromkeys(["Parameters", "Attributes", *sections])
    parts = [
        f"{title}\n{'-' * len(title)}\n{sections[title]}" for title in order if sections.get(title)
    ]
    return "\n\n".join([summary, *parts])


def _sections(kind: type) -> tuple[str, dict[str, str]]:
    """Split a docstring into what stands before its sections, and these by their titles."""
    summary, *rest = _HEADING.split(cleandoc(kind.__doc__ or ""))
    return summary.strip(), {
        title: text.strip() for title, text in zip(rest[::2], rest[1::2], strict=True)
    }
