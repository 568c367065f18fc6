"""Run one hostile input within limits of time and memory, and hold its end against what is allowed.

An input may succeed, or end in one of the documented errors: one line that quotes no cell. A
ledger is charged if and only if the result, or the documented failure of a private test, is there.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from hypothesis import HealthCheck, settings

import nolook
import nolook.cli
from tests.ledgers import new_ledger
from tests.report.command import Result

LONG = os.environ.get("NOLOOK_LONG", "") not in {"", "0"}
# Every cell that is a text holds this; no name and no parameter does.
CANARY = "q7Zx"

_SECONDS = 30  # most inputs take some milliseconds
_MEGABYTES = 768
_LONGEST_MESSAGE = 12_000  # words of the command line may be repeated


class TooSlow(BaseException):
    """An input took too long; no handler of exceptions catches this."""


def inputs(count: int) -> settings:
    """Settings for a sixth of `count` inputs, or 40 times `count` in the long version.

    The inputs are the same in every run.
    """
    return settings(
        max_examples=40 * count if LONG else count // 6,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Limit the time and the additional memory of the block."""

    def stop(*_):
        raise TooSlow

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(_SECONDS)
    # Code that is not Python never returns to the handler.
    faulthandler.dump_traceback_later(4 * _SECONDS, exit=True, file=sys.__stderr__)
    start = _restart_peak()
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        faulthandler.cancel_dump_traceback_later()
    assert _memory("VmHWM") - start < _MEGABYTES


def _restart_peak() -> float:
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _memory("VmRSS")


def _memory(name: str) -> float:
    """Megabytes of this process; 0 where the system does not tell."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith(name):
                return int(line.split()[1]) / 1024
    return 0.0


def check_message(message: str) -> None:
    """One line of reasonable length without a cell."""
    assert message.strip()
    assert "\n" not in message
    assert "\r" not in message
    assert len(message) < _LONGEST_MESSAGE
    assert CANARY not in message
    assert "Traceback" not in message


def attempt(call: Callable[[], object]) -> object:
    """Return what a call returns, or the documented error it raises; all others pass through."""
    with limited():
        try:
            return call()
        except nolook.NolookError as error:
            known: BaseException | None = error
            while known is not None:  # loggers print these too
                assert CANARY not in repr(known)
                known = known.__cause__ or known.__context__
            check_message(str(error))
            return error


def run(folder: Path, *words: object) -> Result:
    """Run the command line in this process, in a folder, and check how it ended."""
    out, err = (
        io.TextIOWrapper(io.BytesIO(), "utf-8", errors="backslashreplace", write_through=True)
        for _ in range(2)
    )
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        limited(),
    ):
        status = nolook.cli._run([str(word) for word in words])
    done = Result(status, *(s.buffer.getvalue().decode() for s in (out, err)))
    assert status in {0, 1, 2, 3, 4, 5}, done
    assert "internal error" not in done.err, done
    if status == 0:
        assert done.err == "", done
    else:
        # Where the target is not detected, what was released is there, and an error follows.
        assert (done.out == "") == (status != 5), done
        assert done.err.startswith("nolook: error: "), done
        check_message(done.err.removesuffix("\n"))
    assert CANARY not in done.out
    assert not list(folder.glob(".nolook-*")), "a temporary file was left"
    return done


class Charged:
    """A new ledger, which is charged once for a release and for nothing else.

    Parameters
    ----------
    folder : Path
        Where it is made; an older one there is replaced.
    """

    def __init__(self, folder: Path) -> None:
        self.path = new_ledger(folder / "a.ledger", nolook.Budget(1e12, 0.9))

    def check(self, *, delivered: bool) -> None:
        """Hold the ledger against whether a result was delivered."""
        with nolook.Ledger(self.path) as ledger:
            history = ledger.history()
        assert len(history) == delivered
        assert CANARY not in repr(history)
