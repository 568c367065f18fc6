"""Processes that hold the connections, apart from the one that keeps the files.

TLS, parsing and the opening of reports take most of a server's time; they are done in as many
processes as wanted, which accept from one listening socket. They know tokens and the private key,
but no file of a batch.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Self

from nolook.errors import ParameterError
from nolook.federated.batch import Batch
from nolook.federated.server.calls import Calls
from nolook.federated.server.lines import Line, Remote, answer_line

__all__ = ["Fronts"]


class Fronts:
    """So many processes that each run `work` with what stands for the batches' services there.

    They are started before this process has any thread, and end with it.
    """

    def __init__(
        self, processes: int, batches: Sequence[Batch], work: Callable[[list[Calls]], None]
    ) -> None:
        if not hasattr(os, "fork"):
            raise ParameterError("--processes is given, which this system cannot do; expected none")
        self._batches = batches
        self._lines: list[Connection] = []
        self._running: set[int] = set()
        for _ in range(processes):
            near, far = socket.socketpair()
            number = os.fork()
            if not number:
                near.close()
                for line in self._lines:  # of those before
                    line.close()
                _run(Connection(far.detach()), len(batches), work)
            far.close()
            self._lines.append(Connection(near.detach()))
            self._running.add(number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        for line in self._lines:
            line.close()

    def stop(self) -> None:
        """Have the processes finish what they do, and end."""
        for number in self._running:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGTERM)
        while self._running:
            with suppress(ChildProcessError):
                os.waitpid(self._running.pop(), 0)

    def answer(self, calls: Sequence[Calls]) -> None:
        """Answer what the processes ask, from now on."""
        for line in self._lines:
            asked = (line, self._batches, calls)
            threading.Thread(target=answer_line, args=asked, name="answers", daemon=True).start()

    def wait(self) -> None:
        """Return when one of them ended, which none should."""
        number, _ = os.wait()
        self._running.discard(number)
        sys.stderr.write("nolook: error: a process that holds connections ended; start again\n")


def _run(connection: Connection, batches: int, work: Callable[[list[Calls]], None]) -> None:
    """Do the work of one process, and end it."""
    line = Line(connection, lambda: os.kill(os.getpid(), signal.SIGTERM))
    status = 0
    try:
        work([Remote(line, place) for place in range(batches)])
    except KeyboardInterrupt:
        pass
    except Exception as error:  # noqa: BLE001 -- a message may quote what was sent
        sys.stderr.write(f"nolook: error: internal error in serve: {type(error).__name__}\n")
        status = 1
    finally:
        os._exit(status)
