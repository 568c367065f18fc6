"""What a process that holds connections asks the one that keeps the files, and what it hears."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import Future
from contextlib import closing, suppress
from multiprocessing.connection import Connection

import pytest

from nolook.federated.failures import RefusedError
from nolook.federated.server.lines import Line, Remote, answer_line
from nolook.federated.server.store import Arrival
from tests.federated.made import SMALL

PATIENCE = 60.0


class Service:
    """Notes what it is asked; answers as it is told."""

    def __init__(self):
        self.asked = []
        self.outcomes = []

    def put(self, one):
        return self._outcome(one)

    def call(self, method, payload):
        return self._outcome((method, payload))

    def _outcome(self, asked):
        self.asked.append(asked)
        return self.outcomes.pop(0)


def done(result=None, error=None):
    found = Future()
    found.set_exception(error) if error else found.set_result(result)
    return found


def cut(connection):
    """End a connection at both ends, though both keep their handles."""
    copy = socket.fromfd(connection.fileno(), socket.AF_UNIX, socket.SOCK_STREAM)
    with closing(copy), suppress(OSError):
        copy.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def ends():
    """Give the service of each batch at both ends, and what ends the line."""
    services, ended = [Service(), Service()], threading.Event()
    near, far = (Connection(one.detach()) for one in socket.socketpair())
    keeper = threading.Thread(target=answer_line, args=(far, [SMALL, SMALL], services))
    keeper.start()
    line = Line(near, ended.set)
    with closing(near), closing(far):
        yield services, [Remote(line, place) for place in (0, 1)], near, ended
        cut(near)
        keeper.join(PATIENCE)
        # A thread that still reads would read what gets the same handle next.
        assert ended.wait(PATIENCE)


def test_reports_and_calls_arrive_as_they_were_sent(ends):
    services, remotes, *_ = ends
    arrivals = [
        Arrival(bytes(range(32)), b"report", b"t" * 32, 7),
        Arrival(bytes(range(32)), b"", b"u" * 32, None),
    ]
    for service, remote, one in zip(services, remotes, arrivals, strict=True):
        service.outcomes = [done(True), done(False), done(b"\0content")]
        assert remote.put(one).result(PATIENCE) is True
        assert remote.put(one).result(PATIENCE) is False
        assert remote.call("answer", b"body").result(PATIENCE) == b"\0content"
        assert service.asked == [one, one, ("answer", b"body")]


def test_refusals_keep_their_status_and_nothing_else_is_told(ends):
    services, (remote, _), *_ = ends
    one = Arrival(bytes(32), b"x", b"t" * 32)
    services[0].outcomes = [
        done(error=RefusedError("the batch is closed", 409)),
        done(error=RefusedError("ask again", 503)),
        done(error=ValueError("a secret")),
    ]
    for call, status, said in (
        (lambda: remote.put(one), 409, "the batch is closed"),
        (lambda: remote.call("freeze", b""), 503, "ask again"),
        (lambda: remote.put(one), 500, "internal error"),
    ):
        with pytest.raises(RefusedError, match=said) as caught:
            call().result(PATIENCE)
        assert caught.value.status == status


def test_a_slow_call_keeps_no_other_waiting(ends):
    services, (remote, _), *_ = ends
    slow = Future()
    services[0].outcomes = [slow, done(True)]
    first = remote.call("freeze", b"")
    assert remote.put(Arrival(bytes(32), b"x", b"t" * 32)).result(PATIENCE) is True
    assert not first.done()
    slow.set_result(b"late")
    assert first.result(PATIENCE) == b"late"


def test_whoever_waits_hears_that_the_other_end_is_gone(ends):
    services, (remote, _), near, ended = ends
    services[0].outcomes = [Future()]
    waiting = remote.call("status", b"")
    cut(near)
    for call in (lambda: waiting, lambda: remote.call("status", b"")):
        with pytest.raises(RefusedError, match="ending") as caught:
            call().result(PATIENCE)
        assert caught.value.status == 503
    assert ended.wait(PATIENCE)
