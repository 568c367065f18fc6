"""Quick start of a command: without libraries and threads that others start in vain.

This changes the whole process: only `main` calls it, before any command.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

# Others import these wherever they are installed: pyarrow and scikit-learn frames, Numba a
# parser of C and one of settings, joblib figures about processes.
WITHHELD = {"pandas", "cffi", "yaml", "psutil"}
# Others import these, mostly without a use.
_DEFERRED = {
    *("numpy.f2py", "numpy.ma", "numpy.polynomial", "numpy.testing", "scipy.spatial"),
    *("scipy.stats", "pyarrow.compute", "pyarrow.parquet", "asyncio", "joblib"),
    *("narwhals", "narwhals.stable", "narwhals.stable.v2"),
}


class _Light(MetaPathFinder, Loader):
    """Finds nothing of what is withheld, and an empty module for what is deferred.

    Whatever else is in a deferred package is loaded after it.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: object = None
    ) -> ModuleSpec | None:
        del path, target
        if fullname in WITHHELD:
            raise ModuleNotFoundError(f"a command needs no {fullname}", name=fullname)
        if fullname not in _DEFERRED:
            within = fullname.rpartition(".")[0]
            real: Any = self._loaded(within, "__path__") if within in _DEFERRED else None
            if fullname in sys.modules:  # its package has loaded it
                return ModuleSpec(fullname, _Again(sys.modules[fullname]))
            return PathFinder.find_spec(fullname, real) if real else None
        package = any(each.startswith(f"{fullname}.") for each in _DEFERRED)
        return ModuleSpec(fullname, self, is_package=package)

    def exec_module(self, module: ModuleType) -> None:
        module.__getattr__ = partial(self._loaded, module.__name__)  # type: ignore[method-assign]

    def _loaded(self, name: str, attribute: str) -> object:
        """Return an attribute of the real module, which is loaded, in its real packages."""
        for each in {each for each in _DEFERRED if f"{name}.".startswith(f"{each}.")}:
            _DEFERRED.discard(each)
            sys.modules.pop(each, None)
        return getattr(import_module(name), attribute)


class _Again(Loader):
    """Loads a module that is there, as it is."""

    def __init__(self, module: ModuleType) -> None:
        # Python would load the module anew by its own specification.
        self._module, self._spec, module.__spec__ = module, module.__spec__, None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        del spec
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec


def start_lightly() -> None:
    """Withhold some libraries, load others at their first use, and start no threads of BLAS."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # releases use one: `undisturbed`
    sys.meta_path.insert(0, _Light())
