"""Quick start of a command: without libraries that others import in vain.

This changes the whole process: `main` alone calls it, before one of nolook's own commands.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from types import ModuleType

# pyarrow and scikit-learn import it wherever it is installed; commands make no frames.
_WITHHELD = "pandas"
# scikit-learn imports it, mostly without a use.
_DEFERRED = "scipy.stats"


class _Withheld(MetaPathFinder):
    def find_spec(self, fullname: str, path: Sequence[str] | None, target: object = None) -> None:
        del path, target
        if fullname == _WITHHELD:
            raise ModuleNotFoundError(f"a command needs no {fullname}", name=fullname)


def start_lightly() -> None:
    """Withhold pandas, load scipy.stats at its first use, and search old objects rarely.

    Hundreds of thousands of objects that imports make live as long as the process, and each search
    of them takes up to 0.1 s.
    """
    gc.set_threshold(*gc.get_threshold()[:2], 1000)
    sys.meta_path.insert(0, _Withheld())
    later = ModuleType(_DEFERRED)

    def loaded(attribute: str) -> object:
        if sys.modules.get(_DEFERRED) is later:
            del sys.modules[_DEFERRED]
        return getattr(import_module(_DEFERRED), attribute)

    later.__getattr__ = loaded  # type: ignore[method-assign]
    sys.modules[_DEFERRED] = later
