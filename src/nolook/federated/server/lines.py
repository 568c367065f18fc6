"""How processes that hold connections ask the one that keeps the files: frames over a local socket.

A frame has a number, which its answer repeats, the place of the batch and that of the method (0 is
a report), and what goes with them; an answer has the number, a status (0 is fine) and content, or
the line of a refusal. A report comes with the most that its token may send (0 is no limit), 32
bytes of the token's digest, and its id.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from itertools import count
from multiprocessing.connection import Connection
from typing import Any

from nolook.federated.batch import Batch
from nolook.federated.failures import RefusedError, ReportError
from nolook.federated.reports import ID_BYTES
from nolook.federated.server.calls import METHODS, Calls
from nolook.federated.server.store import Arrival

__all__ = ["Line", "Remote", "answer_line"]

_ASKED = struct.Struct("<QHB")
_ANSWERED = struct.Struct("<QH")
_REPORT = struct.Struct("<I32s")
_NAMES = sorted(METHODS)
_GONE = "the server is ending; try again later"

Answer = tuple[int, bytes]  # status and content


class Line:
    """The end of a process that holds connections; `ended` is called when the other end is gone."""

    def __init__(self, connection: Connection, ended: Callable[[], None]) -> None:
        self._connection = connection
        self._ended = ended
        self._numbers = count()
        self._lock = threading.Lock()
        self._waiting: dict[int, Future[bytes]] | None = {}
        threading.Thread(target=self._work, name="line", daemon=True).start()

    def ask(self, place: int, method: int, content: bytes) -> Future[bytes]:
        """Send a frame; the future has the content of the answer, or a RefusedError."""
        outcome: Future[bytes] = Future()
        with self._lock:
            number = next(self._numbers)
            if self._waiting is None:
                outcome.set_exception(RefusedError(_GONE, 503))
                return outcome
            self._waiting[number] = outcome
            with suppress(OSError):  # `_work` notices
                self._connection.send_bytes(_ASKED.pack(number, place, method) + content)
        return outcome

    def _work(self) -> None:
        with suppress(OSError, EOFError):
            while True:
                frame = self._connection.recv_bytes()
                number, status = _ANSWERED.unpack_from(frame)
                with self._lock:
                    waiting = (self._waiting or {}).pop(number)
                _settle(waiting, (status, frame[_ANSWERED.size :]))
        with self._lock:
            left, self._waiting = self._waiting or {}, None
        for waiting in left.values():
            _settle(waiting, (503, _GONE.encode()))
        self._ended()


class Remote:
    """The service of a batch, whose files another process keeps; the batch has a place there."""

    def __init__(self, line: Line, place: int) -> None:
        self._line = line
        self._place = place

    def put(self, one: Arrival) -> Future[bool]:
        """Have a checked report stored."""
        head = _REPORT.pack(one.most or 0, one.token)
        asked = self._line.ask(self._place, 0, head + one.report_id + one.report)
        outcome: Future[bool] = Future()
        asked.add_done_callback(partial(_translate, outcome))
        return outcome

    def call(self, method: str, payload: bytes) -> Future[bytes]:
        """Have a method called."""
        return self._line.ask(self._place, 1 + _NAMES.index(method), payload)


def answer_line(connection: Connection, batches: Sequence[Batch], calls: Sequence[Calls]) -> None:
    """Answer the frames of one process until it is gone; slow calls keep none of the others."""
    lock = threading.Lock()

    def reply(number: int, done: Future[Any]) -> None:
        status, content = _answer(done)
        with lock, suppress(OSError):  # whoever asked may be gone
            connection.send_bytes(_ANSWERED.pack(number, status) + content)

    with suppress(OSError, EOFError):
        while True:
            frame = connection.recv_bytes()
            number, place, method = _ASKED.unpack_from(frame)
            body = frame[_ASKED.size :]
            outcome: Future[Any]
            try:
                if method:
                    outcome = calls[place].call(_NAMES[method - 1], body)
                else:
                    outcome = calls[place].put(_arrival(body))
            except RefusedError as error:
                outcome = Future()
                outcome.set_exception(error)
            outcome.add_done_callback(partial(reply, number))


def _arrival(body: bytes) -> Arrival:
    most, token = _REPORT.unpack_from(body)
    report_id, report = body[_REPORT.size :][:ID_BYTES], body[_REPORT.size + ID_BYTES :]
    return Arrival(report_id, report, token, most or None)


def _answer(done: Future[Any]) -> Answer:
    error = done.exception()
    if isinstance(error, RefusedError | ReportError):
        return error.status, str(error).encode()
    if error is not None:
        return 500, b"internal error; the server's operator was told"
    found = done.result()
    return 0, bytes((found,)) if isinstance(found, bool) else found


def _settle(waiting: Future[bytes], answer: Answer) -> None:
    status, content = answer
    with suppress(Exception):  # whoever waited may have gone
        if status:
            waiting.set_exception(RefusedError(content.decode(), status))
        else:
            waiting.set_result(content)


def _translate(outcome: Future[bool], asked: Future[bytes]) -> None:
    error = asked.exception()
    with suppress(Exception):
        if error is None:
            outcome.set_result(asked.result() == b"\1")
        else:
            outcome.set_exception(error)
