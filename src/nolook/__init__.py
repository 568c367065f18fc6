"""Differentially private models and statistics of confidential tables.

Public names are loaded when they are first used, so that ``import nolook`` and
``nolook --help`` import nothing numeric. ``__init__.pyi`` lists them, here and for type checkers.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

_LISTED = re.compile(r"^from (\S+) import (\w+) as \2$", re.MULTILINE)
_LIST = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
_HOMES = {name: home for home, name in _LISTED.findall(_LIST)}

__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'nolook' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
