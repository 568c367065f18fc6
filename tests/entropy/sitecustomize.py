"""Noise that repeats itself: it stands in for the operating system's entropy in tests.

Only what nolook takes for noise and keys is replaced. A process that a test starts imports this
module as `sitecustomize`, and draws numbers of its own; what others start draws fresh ones.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import subprocess
import sys
from pathlib import Path

#: Another choice of noise, which repeats itself too; `fresh` for the operating system's.
CHOSEN = os.environ.get("NOLOOK_NOISE", "")

_READERS = {"nolook.privacy._sources", "nolook.tables.units"}
_INHERITED = "NOLOOK_NOISE_OF"


class Stream:
    """Bytes that follow from a name; none is returned twice, whichever threads ask."""

    def __init__(self, name: str) -> None:
        self._name, self._draws, self._processes = name, itertools.count(), itertools.count()

    def draw(self, size: int) -> bytes:
        start = f"{CHOSEN}\0{self._name}\0{next(self._draws)}".encode()
        return hashlib.shake_256(start).digest(size)

    def child(self) -> str:
        """Name the stream of the next process."""
        return f"{self._name}/{next(self._processes)}"


class Entropy:
    """What this process, its forks and the processes it starts draw from."""

    def __init__(self) -> None:
        self._stream: Stream | None = None
        self._of_a_fork: str | None = None
        self._system, self._start = os.urandom, subprocess.Popen.__init__

    def install(self) -> None:
        def start(process, *words, **named):
            self._start_process(process, *words, **named)

        os.urandom = lambda size, /: self._draw(size, sys._getframe(1).f_globals["__name__"])
        subprocess.Popen.__init__ = start
        os.register_at_fork(before=self._before_fork, after_in_child=self._after_fork)

    @contextlib.contextmanager
    def of(self, name: str | None):
        """Let the noise of the block follow from a name; for None it is fresh."""
        before = self._stream
        self.follow(name)
        try:
            yield
        finally:
            self._stream = before

    def follow(self, name: str | None) -> None:
        self._stream = None if name is None else Stream(name)

    def _draw(self, size, reader):
        if self._stream is None or reader not in _READERS:
            return self._system(size)
        return self._stream.draw(size)

    def _start_process(self, process, *words, **named):
        if self._stream is not None:
            env = dict(os.environ if named.get("env") is None else named["env"])
            env[_INHERITED] = f"{os.getpid()} {self._stream.child()}"
            paths = [str(Path(__file__).parent), env.get("PYTHONPATH", "")]
            named["env"] = env | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
        self._start(process, *words, **named)

    def _before_fork(self):
        self._of_a_fork = None if self._stream is None else self._stream.child()

    def _after_fork(self):
        self.follow(self._of_a_fork)


if __name__ == "sitecustomize":
    _parent, _, _name = os.environ.pop(_INHERITED, "0 ").partition(" ")
    _entropy = Entropy()
    _entropy.install()
    if int(_parent) == os.getppid():
        _entropy.follow(_name)
