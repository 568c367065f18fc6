"""Arithmetic that neither the settings of the process nor a busy machine disturbs.

What goes wrong in it may depend on the data, so it must not become an exception. NumPy's error
state belongs to the running context, so no other thread's is changed. Warning filters belong to the
whole process and stay as they are: nothing between charge and release warns by itself. A new thread
has NumPy's own settings, so worker threads run in a copy of the caller's context.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any, Literal, TypeAlias

import numpy as np
from threadpoolctl import ThreadpoolController

from nolook._arrays import Array
from nolook._validation import check_count_or_auto, count_or_auto

#: How many threads read a table: "auto" for all that the process may use.
Threads: TypeAlias = int | Literal["auto"]


# Of the series of a logarithm's half, whose terms fall by a factor of 33 or more.
_LOG_TERMS = 12
_LOG_2 = math.log(2.0)

_VARIABLE = "NOLOOK_THREADS"
_MOST_THREADS = 1024
# Microseconds of processor time, or "max", in so many of time.
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def check_threads(threads: object) -> Threads:
    """Return a number of threads; raise ParameterError if it is none."""
    return check_count_or_auto(threads, "threads", _MOST_THREADS) or "auto"


def worker_threads(threads: Threads = "auto") -> int:
    """Return the number of threads to use; ``NOLOOK_THREADS`` sets "auto".

    Otherwise that is what the operating system, a container's limit too, lets the process use.
    """
    if threads != "auto":
        return threads
    text = os.environ.get(_VARIABLE, "").strip() or "auto"
    given = count_or_auto(text, _VARIABLE, _MOST_THREADS)
    return given if isinstance(given, int) else max(1, min(_processors(), _MOST_THREADS))


def _processors() -> int:
    """Count the processors that the process may run on, as far as its container's share goes."""
    on_linux = hasattr(os, "sched_getaffinity")
    allowed = len(os.sched_getaffinity(0)) if on_linux else os.cpu_count() or 1
    with suppress(OSError, ValueError):
        quota, period = _QUOTA.read_text(encoding="ascii").split()
        allowed = min(allowed, -(-int(quota) // int(period)))
    return allowed


class _OneBlasThread:
    """Holds BLAS at one thread while any thread of the process is inside.

    BLAS threads wait in a busy loop: next to a busy process they take many times as long as a
    single thread. The limits are the process's, so the first thread in saves what was set, and the
    last one out restores it.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._modules = 0

    def forked(self) -> None:
        """Start afresh in a child: the thread that held the lock may not exist there."""
        self._lock = Lock()

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                # A search takes milliseconds; only a new module can have loaded a library.
                if len(sys.modules) != self._modules:
                    self._libraries = _process_wide()
                    self._modules = len(sys.modules)
                self._before = [library.num_threads for library in self._libraries]
                try:
                    self._set([1] * len(self._libraries))
                except BaseException:
                    self._set(self._before)
                    raise
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._set(self._before)

    def _set(self, threads: list[int]) -> None:
        for library, count in zip(self._libraries, threads, strict=True):
            _disown(library)
            library.set_num_threads(count)
            _disown(library)


def _process_wide() -> list[Any]:
    """Find the BLAS libraries in use, except those on OpenMP, whose limits are per thread."""
    found = ThreadpoolController().select(user_api="blas").lib_controllers
    return [one for one in found if getattr(one, "threading_layer", None) != "openmp"]


def _disown(library: Any) -> None:  # noqa: ANN401 -- untyped library
    """Let every thread set limits: threadpoolctl ignores all but the first that did."""
    disown = getattr(library, "clear_controlling_thread", None)
    if disown is not None:
        disown(force=True)


_one_blas_thread = _OneBlasThread()
if hasattr(os, "register_at_fork"):  # not on Windows, which has no forks
    os.register_at_fork(after_in_child=_one_blas_thread.forked)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let no floating-point error raise, and BLAS use one thread, in the block.

    Blocks may be nested, and run in several threads at once.
    """
    with np.errstate(all="ignore"), _one_blas_thread:
        yield


def logarithms(values: Array) -> Array:
    """Return the logarithms of positive finite numbers, the same bits wherever they stand.

    They are within a few units in the last place; a library's may depend on the place.
    """
    mantissa, exponent = np.frexp(values)
    small = mantissa < math.sqrt(0.5)
    mantissa, exponent = np.where(small, 2.0 * mantissa, mantissa), exponent - small
    return _half_logarithms((mantissa - 1.0) / (mantissa + 1.0)) + exponent * _LOG_2


def logarithms_1p(values: Array) -> Array:
    """Return log(1 + x) of finite numbers x above -1, as `logarithms` does."""
    near = (values > -0.25) & (values < 0.25)
    inside = np.where(near, values, 0.0)
    series = _half_logarithms(inside / (2.0 + inside))
    return np.where(near, series, logarithms(np.where(near, 1.0, 1.0 + values)))


def inverse_sinhs(values: Array) -> Array:
    """Return the inverse hyperbolic sines of finite numbers, as `logarithms` does."""
    size = np.abs(values)
    large = size > 2.0**30
    inside = np.where(large, 0.0, size)
    square = inside * inside
    near = logarithms_1p(inside + square / (1.0 + np.sqrt(1.0 + square)))
    far = logarithms(np.where(large, size, 1.0)) + _LOG_2
    return np.copysign(np.where(large, far, near), values)


def _half_logarithms(ratio: Array) -> Array:
    """Return log((1 + r) / (1 - r)) of numbers r up to 0.18."""
    square, series = ratio * ratio, np.zeros_like(ratio)
    for term in range(_LOG_TERMS, -1, -1):
        series = series * square + 1.0 / (2 * term + 1)
    found: Array = 2.0 * ratio * series
    return found
