"""Processes that use ledgers when told to, and can be killed at any write.

Run as a program: `python ledger_worker.py SOCKET` forks a new process for each connection to the
socket; it serves commands, one line of JSON each, until it is killed or the connection ends. With
`faulty_disk.c` preloaded it can be armed first. With a second argument, a folder, the command line
has been run in it once, so that every process has imported and compiled all it needs.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import signal
import socket
import sys
import warnings
from pathlib import Path

from nolook.errors import NolookError
from nolook.privacy.guarantee import Budget
from nolook.privacy.ledger import Ledger

COUNT, KILL, TEAR, FAIL_ONCE, FAIL_ON = range(5)


class Worker:
    """The commands; each is a method."""

    def __init__(self) -> None:
        self.ledgers = {}
        self.reservations = {}
        self.shim = ctypes.CDLL(None)

    def pid(self):
        return os.getpid()

    def root(self, path):
        self.shim.fault_root(path.encode())

    def arm(self, at, mode, number=0):
        self.shim.fault_arm(ctypes.c_long(at), mode, number)

    def done(self):
        return self.shim.fault_done()

    def record(self, path):
        self.shim.fault_record(path.encode())

    def mark(self, text):
        self.shim.fault_mark(text.encode())

    def clock(self, seconds):
        self.shim.fault_clock(ctypes.c_longlong(seconds))

    def become(self, user):
        os.setuid(user)

    def create(self, path, epsilon, delta=0.0):
        Ledger.create(path, Budget(epsilon, delta), name="people").close()

    def open(self, path):
        self.ledgers[path] = Ledger(path)

    def close(self, path):
        self.ledgers.pop(path).close()

    def reserve(self, path, epsilon, text="x", delta=0.0):
        made = self.ledgers[path].reserve(
            Budget(epsilon, delta), relation="add-remove", description=text
        )
        self.reservations[path, made._entry] = made
        return made._entry

    def complete(self, path, entry):
        self.reservations[path, entry].complete()

    def refund(self, path, entry):
        self.reservations[path, entry].refund("stopped on its own output")

    def history(self, path):
        ledger = self.ledgers[path]
        return [
            [e.id, e.description, e.cost.epsilon, e.cost.delta, e.state] for e in ledger.history()
        ]

    def remaining(self, path):
        return self.ledgers[path].remaining.epsilon

    def steps(self, steps):
        """Run several commands, marking in the record that each has ended."""
        for name, *arguments in steps:
            getattr(self, name)(*arguments)
            self.mark(name)

    def command_line(self, arguments, printed):
        """Run the program, with what it prints going to a file."""
        from nolook import cli

        target = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for stream in (1, 2):
            os.dup2(target, stream)
        sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)
        sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
        warnings.simplefilter("ignore")
        return cli._run(arguments)


def fit_arguments(folder):
    """Return how to fit a small table, which is made beside the folder of the results."""
    table = folder.parent / "people.csv"
    rows = "".join(f"{i % 7},{i % 11},{i % 7 + i % 11}\n" for i in range(4000))
    table.write_text("age,years,income\n" + rows)
    ledger = folder / "a.ledger"
    Ledger.create(ledger, Budget(1.0, 1e-5), name="people").close()
    files = [
        "--output",
        folder / "m.json",
        "--report",
        folder / "r.html",
        "--ledger",
        ledger,
        "--force",
    ]
    options = ["--target", "income", "--features", "age,years", "--epsilon", 1, "--delta", 1e-6]
    return [str(argument) for argument in ["fit", table, *options, *files]]


def warm_up(folder):
    from nolook import cli
    from nolook.report import terminal  # noqa: F401

    assert cli._run([*fit_arguments(folder), "--quiet"]) == 0


def serve(connection):
    worker = Worker()
    for line in connection.makefile("r", encoding="utf-8"):
        name, *arguments = json.loads(line)
        try:
            answer = ["ok", getattr(worker, name)(*arguments)]
        except NolookError as error:
            answer = [type(error).__name__, str(error)]
        except Exception as error:  # noqa: BLE001 -- the test shows what it was
            answer = ["unexpected", repr(error)]
        connection.sendall((json.dumps(answer) + "\n").encode())


def main(place, *folders):
    for folder in folders:
        warm_up(Path(folder))
    gc.freeze()
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # end with the tests
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(place)
        listener.listen(64)
        Path(place + ".ready").touch()
        while True:
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                with contextlib.suppress(ConnectionError):
                    serve(connection)
                os._exit(0)
            connection.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
