"""Functions on arrays that Numba compiles at their first call; only then is it loaded."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, update_wrapper
from threading import RLock
from typing import Any

_LOCK = RLock()


class compiled:  # noqa: N801 -- a decorator
    """Compile a function, with options of Numba's; threads run it side by side.

    The compiled code is kept on disk, next to the module or in the user's cache, if either can be
    written to. A function that is called by another is part of that one.
    """

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:  # noqa: ANN401
        self.function, self.options = function, options
        update_wrapper(self, function)

    def __reduce__(self) -> str:
        return self.function.__qualname__

    @cached_property
    def _dispatcher(self) -> Any:  # noqa: ANN401 -- untyped library
        with _LOCK:
            from numba import njit

            try:
                return njit(nogil=True, cache=True, **self.options)(self.function)
            except RuntimeError:  # no folder to keep it in
                return njit(nogil=True, **self.options)(self.function)

    @property
    def _numba_type_(self) -> Any:  # noqa: ANN401 -- untyped library
        return self._dispatcher._numba_type_

    def __call__(self, *arguments: Any) -> Any:  # noqa: ANN401
        return self._dispatcher(*arguments)
