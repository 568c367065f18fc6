"""Waiting for what is made elsewhere: a server, a bucket or a stream, but not for ever."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextvars import copy_context
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, ParamSpec, TypeVar

from nolook.errors import ParameterError
from nolook.tables.source import NoAnswer

P = ParamSpec("P")
T = TypeVar("T")

#: The environment variable that says for how many seconds nothing may come.
PATIENCE = "NOLOOK_PATIENCE"
_USUAL = 1_800.0


def check_patience() -> float:
    """Return for how many seconds nothing may come."""
    text = os.environ.get(PATIENCE, "")
    try:
        seconds = float(text) if text else _USUAL
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 1e6:  # also not a number
        raise ParameterError(
            f"{PATIENCE} is {text!r}; expected a number of seconds above 0, or nothing "
            f"(then it is {_USUAL:.0f})"
        )
    return seconds


def patient(pieces: Iterable[T], name: str) -> Iterator[T]:
    """Yield from an iterable that is read in a thread of its own, one piece at a time.

    Raises NoAnswer if for so long there is neither a piece, batches without rows left aside, nor an
    end. The thread is left alone then: what it waits for cannot be interrupted.
    """
    seconds = check_patience()
    asked: SimpleQueue[bool] = SimpleQueue()
    given: SimpleQueue[tuple[T] | BaseException] = SimpleQueue()
    thread = Thread(target=copy_context().run, args=(_give, pieces, asked, given), daemon=True)
    del pieces  # closed by its thread
    thread.start()
    waiting = False
    try:
        while True:
            asked.put(True)
            waiting = True
            found = _next(given, seconds)
            waiting = found is None
            if found is None:
                raise NoAnswer(
                    f"{name} gave nothing for {seconds:g} seconds; start again (or set {PATIENCE} "
                    "to more seconds)"
                )
            if isinstance(found, StopIteration):
                return
            if isinstance(found, BaseException):
                raise found
            yield found[0]
    finally:
        asked.put(False)
        if not waiting:
            thread.join()


def answered(name: str, action: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what a call gives; raises NoAnswer if it takes too long."""
    return next(patient((action(*args, **kwargs) for _ in range(1)), name))


def _next(given: SimpleQueue[Any], seconds: float) -> Any:  # noqa: ANN401
    try:
        return given.get(timeout=seconds)
    except Empty:
        return None


def _give(pieces: Iterable[T], asked: SimpleQueue[bool], given: SimpleQueue[Any]) -> None:
    """Give a piece for every time one is asked for, and at last the end or the error."""
    try:
        iterator = iter(pieces)
        while asked.get():
            piece = next(iterator)
            while getattr(piece, "num_rows", 1) == 0 and asked.empty():
                piece = next(iterator)
            given.put((piece,))
    except BaseException as end:  # noqa: BLE001 -- raised where it is waited for
        given.put(end)
