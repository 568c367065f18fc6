"""The command line in processes that start at once, on a disk that fails on demand.

Run as a program, `python forking.py SOCKET FOLDER` imports and compiles all that a server needs,
then forks for each connection to the socket. The child reads one line of JSON, what to run, and
runs it in its main thread; a further thread arms and counts faults (`tests/privacy/faulty_disk.c`)
until the process ends or is killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from nolook.errors import NolookError

COUNT, KILL, TEAR, FAIL_ONCE, FAIL_ON = range(5)
PATIENCE = 60.0  # seconds
#: Seconds that servers of tests wait for more reports to arrive, before they add up some.
QUICK = 0.02

_HERE = Path(__file__).resolve()
_ROOT = _HERE.parents[2]


class Child:
    """A forked process that runs one command.

    Parameters
    ----------
    place : str
        The socket of the parent.
    words : sequence
        Of the command line.
    out, err : Path
        Where what it prints goes.
    root : Path or None
        Operations under this folder are counted.
    arm : (int, int, int) or None
        Which operation goes wrong, how, and with which error.
    """

    def __init__(self, place, words, out, err, root=None, arm=None):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(PATIENCE)
        self._socket.connect(place)
        self._lines = self._socket.makefile("r", encoding="utf-8")
        order = [list(map(str, words)), str(out), str(err), str(root or ""), arm]
        self._socket.sendall((json.dumps(order) + "\n").encode())
        self.pid = json.loads(self._lines.readline())

    def call(self, name, *arguments):
        """Arm or count faults; None if the process is dead."""
        if self._socket.fileno() < 0:
            return None
        with contextlib.suppress(ConnectionError):
            self._socket.sendall((json.dumps([name, *arguments]) + "\n").encode())
            line = self._lines.readline()
            return json.loads(line) if line else None
        return None

    def alive(self):
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def kill(self):
        """End it as `kill -9` does, and wait until it is gone."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self.wait()

    def wait(self):
        """Wait until it is gone."""
        patience = time.monotonic() + PATIENCE
        while self.alive():
            assert time.monotonic() < patience, "a process does not end"
            time.sleep(0.002)
        self._lines.close()
        self._socket.close()


class Forks:
    """The parent of all; it ends with the tests."""

    def steps(self, folder, notes, arm):
        """Run the steps of `service_steps.py` in a new process."""
        words = ["steps", folder, notes]
        errors = notes.with_suffix(".errors")
        return self.run(words, errors, errors, folder, arm)

    def __init__(self):
        from tests.conftest import skip_or_fail

        if not sys.platform.startswith("linux"):
            skip_or_fail("needs Linux")
        compiler = shutil.which("cc")
        if compiler is None:
            skip_or_fail("needs a C compiler called cc")
        self._folder = Path(tempfile.mkdtemp(prefix="nolook-"))
        shim, source = self._folder / "shim.so", _ROOT / "tests" / "privacy" / "faulty_disk.c"
        subprocess.run(
            [compiler, "-O1", "-shared", "-fPIC", "-o", shim, source, "-ldl"], check=True
        )
        self._place = str(self._folder / "s")
        self._parent = subprocess.Popen(
            [sys.executable, _HERE, self._place],
            env={**os.environ, "LD_PRELOAD": str(shim), "PYTHONPATH": str(_ROOT)},
        )
        patience = time.monotonic() + 2 * PATIENCE
        while not Path(f"{self._place}.ready").exists():
            assert self._parent.poll() is None
            assert time.monotonic() < patience
            time.sleep(0.01)

    def run(self, words, out, err, root=None, arm=None):
        """Return a new process."""
        return Child(self._place, words, out, err, root, arm)

    def close(self):
        self._parent.kill()
        self._parent.wait()
        shutil.rmtree(self._folder)


def _warm_up():
    """Import and compile what servers need, so that every process has it at once."""
    from nolook import cli
    from nolook.federated import client
    from nolook.federated.server import app, expander, running
    from nolook.federated.shares import check_reports, noise_digest
    from tests.federated import service_steps
    from tests.federated.made import CALIBRATION, ROC, SMALL, WIDE, reports, rows_of

    expander._GATHERING = QUICK
    for batch in (SMALL, ROC, CALIBRATION, WIDE):
        check_reports(batch, 0, rows_of(reports(batch, 1)[1]))
        noise_digest(batch)
    with contextlib.redirect_stdout(io.StringIO()):
        cli._run(["federated", "serve", "--help"])
    with tempfile.TemporaryDirectory() as folder:
        service_steps.make_ledger(Path(folder))
        service_steps.run(Path(folder), lambda _: None)
    assert all((app, client, running))


def _run(connection, lines):
    """Run a command, to the end of this process."""
    words, out, err, root, arm = json.loads(lines.readline())
    shim = ctypes.CDLL(None)
    for stream, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), stream)
    sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)

    def arm_it(at, mode, number=0):
        shim.fault_arm(ctypes.c_long(at), mode, number)

    if root:
        shim.fault_root(root.encode())
        arm_it(*(arm or (-1, COUNT)))
    connection.sendall(f"{os.getpid()}\n".encode())

    def obey():
        with contextlib.suppress(ConnectionError, ValueError):
            for line in lines:
                name, *arguments = json.loads(line)
                answer = arm_it(*arguments) if name == "arm" else shim.fault_done()
                connection.sendall((json.dumps(answer if name == "done" else "ok") + "\n").encode())

    threading.Thread(target=obey, daemon=True).start()
    if words[0] == "steps":
        from tests.federated import service_steps

        try:
            service_steps.main(*words[1:], shim.fault_done)
        except NolookError as error:
            sys.stderr.write(f"{error}\n")
        os._exit(0)
    from nolook import cli

    os._exit(cli._run(words))


def main(place):
    _warm_up()
    gc.freeze()
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # end with the tests
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(place)
        listener.listen(64)
        Path(f"{place}.ready").touch()
        while True:
            connection, _ = listener.accept()
            if os.fork() == 0:
                ctypes.CDLL(None).prctl(1, signal.SIGKILL)
                listener.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _run(connection, connection.makefile("r", encoding="utf-8"))
            connection.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
