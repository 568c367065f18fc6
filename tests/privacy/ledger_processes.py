"""Real processes for the tests of ledgers; see `ledger_worker.py` for what they do."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.conftest import skip_or_fail
from tests.privacy import ledger_worker

HERE = Path(__file__).parent
#: The long versions of the tests, as in the audit.
LONG = os.environ.get("NOLOOK_LONG", "") not in {"", "0"}


DIED = "died"


class Process:
    """One forked process."""

    def __init__(self, place):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(120)
        self._socket.connect(place)
        self._lines = self._socket.makefile("r", encoding="utf-8")
        self.pid = self.call("pid")

    def send(self, name, *arguments):
        """Give a command without waiting."""
        with contextlib.suppress(ConnectionError):
            self._socket.sendall((json.dumps([name, *map(_plain, arguments)]) + "\n").encode())

    def receive(self):
        """Return the next answer: "ok" and a value, an error's name and its text, or DIED."""
        try:
            line = self._lines.readline()
        except ConnectionResetError:
            line = ""
        if not line:
            self.leave()
            return DIED, None
        kind, value = json.loads(line)
        assert kind != "unexpected", value
        assert kind == "ok" or "\n" not in value
        return kind, value

    def attempt(self, name, *arguments):
        """Give a command; return what came of it."""
        self.send(name, *arguments)
        return self.receive()

    def call(self, name, *arguments):
        """Give a command that must succeed; return its value."""
        kind, value = self.attempt(name, *arguments)
        assert kind == "ok", (kind, value)
        return value

    def kill(self):
        """End it as `kill -9` does and wait until it is gone."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        while self._socket.fileno() >= 0:  # receiving DIED closes it
            self.receive()

    def leave(self):
        """End it when it has done what it does."""
        self._lines.close()
        self._socket.close()


class Processes:
    """Forks processes on a faulty disk.

    Parameters
    ----------
    program : bool
        Whether every process has all in memory that the command line needs.
    """

    def __init__(self, *, program=False):
        if not sys.platform.startswith("linux"):
            skip_or_fail("needs Linux")
        compiler = shutil.which("cc")
        if compiler is None:
            skip_or_fail("needs a C compiler called cc")
        self._folder = Path(tempfile.mkdtemp(prefix="nolook-"))
        shim = self._folder / "faulty_disk.so"
        source = HERE / "faulty_disk.c"
        subprocess.run(
            [compiler, "-O1", "-shared", "-fPIC", "-o", shim, source, "-ldl"], check=True
        )
        self._place = str(self._folder / "s")
        trial = self._folder / "trial"
        trial.mkdir()
        self._parent = subprocess.Popen(
            [sys.executable, ledger_worker.__file__, self._place, *[trial][:program]],
            env={**os.environ, "LD_PRELOAD": str(shim)},
        )
        ready = Path(self._place + ".ready")
        patience = time.monotonic() + 60
        while not ready.exists():
            assert self._parent.poll() is None
            assert time.monotonic() < patience
            time.sleep(0.005)

    def start(self, root=None):
        """Return a new process; operations under a folder are counted."""
        process = Process(self._place)
        if root is not None:
            process.call("root", root)
        return process

    def close(self):
        """End all."""
        self._parent.kill()
        self._parent.wait()
        shutil.rmtree(self._folder)


def _plain(value):
    return str(value) if isinstance(value, Path) else value


@contextlib.contextmanager
def quick_folder():
    """Give a folder in memory where there is one: a killed process cannot tell the difference."""
    memory = Path("/dev/shm")
    usable = memory.is_dir() and os.access(memory, os.W_OK)
    with tempfile.TemporaryDirectory(dir=memory if usable else None) as folder:
        yield Path(folder)
