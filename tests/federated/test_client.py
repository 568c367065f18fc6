"""The client against servers that lose responses, are away, or are others than they say."""

from __future__ import annotations

import gzip
import itertools
import json
import math
import socket
import ssl
import threading
import time
from contextlib import contextmanager, suppress
from types import SimpleNamespace

import pytest
from attrs import evolve

from nolook.errors import ParameterError
from nolook.federated import analyst
from nolook.federated import client as client_module
from nolook.federated.client import ServerClient, submit
from nolook.federated.failures import RefusedError
from nolook.federated.pending import read_pending, write_pending
from nolook.federated.sealing import seal
from tests.federated.certificates import Authority
from tests.federated.made import ROC, SMALL, reports, rows_of
from tests.federated.servers import Pair

_, FIRST, SECOND, *_ = reports(SMALL, 40)
SEALED = [seal(SMALL, 0, one) for one in FIRST]


@pytest.fixture(scope="module")
def pair(forks, tmp_path_factory):
    made = Pair(forks, tmp_path_factory.mktemp("pair"), [SMALL]).start()
    yield made
    made.close()


class Between:
    """Passes bytes on to a server, and now and then drops what comes back with the connection."""

    def __init__(self, port, lost):
        self._port, self._lost = port, lost
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self._listener.getsockname()[1]}"
        self.dropped = 0
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self):
        number = 0
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._port))
                number += 1
                made = threading.Thread(target=self._serve, args=(near, far, number))
                self._threads.append(made)
                made.start()

    def _serve(self, near, far, number):
        back = threading.Thread(target=self._back, args=(near, far, number))
        back.start()
        with suppress(OSError):
            while part := near.recv(65536):
                far.sendall(part)
        with suppress(OSError):
            far.shutdown(socket.SHUT_RDWR)
        back.join()
        near.close()
        far.close()

    def _back(self, near, far, number):
        passed = 0
        with suppress(OSError):
            while part := far.recv(65536):
                passed += 1
                # The first parts are the handshake; a response is lost after them.
                if number in self._lost and passed > self._lost[number]:
                    self.dropped += 1
                    break
                near.sendall(part)
        with suppress(OSError):
            near.shutdown(socket.SHUT_RDWR)

    def close(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(10)
            assert not thread.is_alive()


@contextmanager
def between(pair, role, lost):
    made = Between(pair.ports[role], lost)
    try:
        yield made
    finally:
        made.close()


def clients(pair, who):
    return [pair.client(who, role) for role in (0, 1)]


LOST = [{1: 2, 2: 4, 3: 3}, {1: 2}, {1: 3}, {1: 1, 2: 2, 3: 5, 4: 8}]
LOST[1:] = [pytest.param(lost, marks=pytest.mark.slow) for lost in LOST[1:]]


@pytest.mark.parametrize("lost", LOST)
def test_a_lost_response_is_harmless(pair, lost):
    with between(pair, 0, lost) as way:
        access = evolve(pair.access("owner", 0), url=way.url)
        with ServerClient(access) as client:
            for i in range(20):
                client.put("ages", [SEALED[i]])
        assert way.dropped == len(lost)
    with pair.client("analyst", 0) as client:
        assert client.status("ages")["count"] == 20


def test_submitting_twice_is_the_same_as_once(forks, tmp_path):
    pair = Pair(forks, tmp_path, [SMALL]).start()
    try:
        owners, analysts = clients(pair, "owner"), clients(pair, "analyst")
        for _ in range(2):
            submit(SMALL, (FIRST, SECOND), owners)
            assert [one.status("ages")["count"] for one in analysts] == [40, 40]
        assert analyst.freeze(SMALL, analysts) == "40 reports count."
        first, second = analyst.ask(SMALL, analysts)
        assert (first.n, first.role, second.role) == (40, 0, 1)
        assert first.batch == second.batch == SMALL.digest
        assert first.reports == second.reports
        with pytest.raises(RefusedError, match="closed") as caught:
            submit(SMALL, reports(SMALL, 9, 2)[1:3], owners)
        assert caught.value.status == 409
        assert pair.said() == ""
        for one in (*owners, *analysts):
            one.close()
    finally:
        pair.close()


def test_one_refused_report_ends_a_submission(pair):
    owners = clients(pair, "owner")
    with pytest.raises(RefusedError, match="refused \\(400\\)"):
        submit(SMALL, (SECOND, FIRST), owners)
    for one in owners:
        one.close()


def test_a_server_that_is_away_for_a_moment(forks, tmp_path):
    pair = Pair(forks, tmp_path, [SMALL]).start(0)
    try:
        with pair.client("owner", 0) as client:
            client.put("ages", [SEALED[0]])
            pair.kill(0)
            starter = threading.Timer(0.2, lambda: pair.start(0))
            starter.start()
            assert client.put("ages", [SEALED[0]]) == 0
            starter.join()
    finally:
        pair.close()


def test_a_server_that_stays_away(pair, monkeypatch):
    (port,) = free()
    access = evolve(pair.access("owner", 0), url=f"https://127.0.0.1:{port}")
    clock, told = itertools.count(0.0, 30.0), []
    slow = SimpleNamespace(monotonic=lambda: next(clock), sleep=lambda _: None)
    monkeypatch.setattr(client_module, "time", slow)
    with ServerClient(access, 300.0, told.append) as client, pytest.raises(RefusedError) as caught:
        client.put("ages", [SEALED[0]])
    assert caught.value.status == 503
    assert "cannot be reached" in str(caught.value)
    assert client.untouched
    assert told == [f"{caught.value}; trying again, for up to 300 seconds"]
    assert next(clock) > 300.0  # it waits as long as it says


def free():
    from tests.federated.servers import free_ports

    return free_ports(1)


def test_nothing_is_sent_without_tls_or_to_a_stranger(pair, tmp_path, monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda _: None)
    whole = pair.access("owner", 0)
    for url in ("http://127.0.0.1:1", "127.0.0.1", "", "HTTPS//x"):
        with pytest.raises(ParameterError, match="https://"):
            ServerClient(evolve(whole, url=url))
    other = Authority(tmp_path, "other")
    with (
        ServerClient(evolve(whole, authority=other.path.read_text())) as client,
        pytest.raises(RefusedError, match="certificate that is not trusted"),
    ):
        client.put("ages", [SEALED[0]])
    for wrong in ("none", whole.token.read_text()):
        with pytest.raises(ParameterError, match="the batch's authorities"):
            ServerClient(evolve(whole, authority=wrong))
    with pytest.raises(ParameterError, match="token"):
        ServerClient(evolve(whole, token=pair.ca))


class Fake:
    """A server that answers what it is told to."""

    def __init__(self, folder, answers):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.authority = Authority(folder, "fake")
        context.load_cert_chain(*self.authority.sign("fakeserver"))
        plain = socket.create_server(("127.0.0.1", 0))
        self._listener = context.wrap_socket(plain, server_side=True)
        self.url = f"https://127.0.0.1:{plain_port(self._listener)}"
        self._answers = answers
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self):
        for answer in self._answers:
            line, _ = self._listener.accept()
            with line:
                received = b""
                while b"\r\n\r\n" not in received:
                    received += line.recv(65536)
                line.sendall(answer)

    def close(self):
        self._thread.join(30)
        self._listener.close()


def plain_port(listener):
    return listener.getsockname()[1]


def response(status, content):
    head = f"HTTP/1.1 {status} X\r\ncontent-length: {len(content)}\r\nconnection: close\r\n"
    if content[:1] == b"\x1f":
        head += "content-encoding: gzip\r\n"
    return f"{head}\r\n".encode() + content


@pytest.mark.parametrize(
    ("answer", "status", "said"),
    [
        (b"nonsense\r\n\r\n", 502, None),
        (response(200, b"[]"), 502, "not answer like"),
        (response(200, b"\xff"), 502, "not answer like"),
        (response(200, b"[" * 50_000), 502, "not answer like"),
        (response(200, b" " * 65_536 + b"{}"), 502, "more than 65536 bytes"),
        (response(200, gzip.compress(b"{}")), 502, "not answer like"),
        (response(418, b"{}"), 418, "without saying why"),
        (response(409, json.dumps({"error": "a\nb\x1b[31m" + "c" * 5000}).encode()), 409, "a?b?"),
    ],
)
def test_servers_that_are_none(pair, tmp_path, answer, status, said):
    fake = Fake(tmp_path, [answer])
    access = evolve(
        pair.access("analyst", 0), url=fake.url, authority=fake.authority.path.read_text()
    )
    # One that says nothing understandable is asked again until the patience has ended.
    patience = 0.0 if said is None else 60.0
    with ServerClient(access, patience) as client, pytest.raises(RefusedError) as caught:
        client.status("ages")
    fake.close()
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) < 500
    assert caught.value.status == (503 if said is None else status)
    assert said is None or said in message


@pytest.mark.parametrize("moves", [True, False])
def test_a_server_that_says_how_far_it_is_has_longer_than_the_patience(pair, monkeypatch, moves):
    """A busy machine checks long: half an hour passes, the patience is five minutes."""
    clock, told = itertools.count(0.0, 30.0), []
    slow = SimpleNamespace(monotonic=lambda: next(clock), sleep=lambda _: None)
    monkeypatch.setattr(client_module, "time", slow)
    texts = [{"error": f"checked ({part * moves} of 60); ask again"} for part in range(60)]
    answers = iter([*((503, json.dumps(text).encode()) for text in texts), (200, b"{}")])
    with ServerClient(pair.access("analyst", 0), 300.0, told.append) as client:
        monkeypatch.setattr(client, "_answered", lambda *_: next(answers))
        if moves:
            assert client.freeze("ages") == {}
        else:
            with pytest.raises(RefusedError, match="checked"):
                client.freeze("ages")
    assert next(clock) > 300.0
    assert len(told) == (57 if moves else 1)


class Endless(Fake):
    """A server that never ends an answer: every `pause` seconds comes a part of `size` bytes."""

    def __init__(self, folder, size, pause):
        self._part, self._pause = bytes(size), pause
        self.sent = 0
        super().__init__(folder, [b"HTTP/1.1 200 X\r\nconnection: close\r\n\r\n"])

    def _serve(self):
        line, _ = self._listener.accept()
        with line, suppress(OSError):
            line.recv(65536)
            line.sendall(self._answers[0])
            while True:
                line.sendall(self._part)
                self.sent += len(self._part)
                threading.Event().wait(self._pause)


@pytest.mark.parametrize("call", ["entries", "status", "answer"])
@pytest.mark.parametrize(("size", "pause"), [(65536, 0.0), (1, 0.01)])
def test_an_answer_without_an_end_is_given_up(pair, tmp_path, monkeypatch, call, size, pause):
    monkeypatch.setattr(client_module, "_SLOWEST", 0.2 if pause else 60.0)
    fake = Endless(tmp_path, size, pause)
    access = evolve(pair.access("peer", 0), url=fake.url, authority=fake.authority.path.read_text())
    with (
        ServerClient(access) as client,
        pytest.raises(RefusedError, match="not answer like a nolook server: more than") as caught,
    ):
        getattr(client, call)("ages", *([bytes(32)] if call == "entries" else []))
    fake.close()
    assert caught.value.status == 502
    assert fake.sent < 2**27


@pytest.mark.parametrize(
    "document",
    [
        {}, {"batch": "00"}, {"batch": "zz", "reports": "00", "answer": {}},
        {"batch": "00", "reports": "00", "answer": {"a": "?"}, "role": 0, "count": 1},
        {"batch": "00", "reports": "00", "answer": {"a": "AAAA"}, "role": 0, "count": 1},
        {"batch": "00", "reports": "00", "answer": {}, "role": 0, "count": math.inf},
        [], 5,
    ],
)  # fmt: skip
def test_answers_that_are_none(document):
    with pytest.raises(RefusedError) as caught:
        analyst._decoded(json.dumps(document).encode(), "https://x")
    assert caught.value.status == 502


STATUS = {
    "name": "ages", "kind": "ecdf", "state": "frozen", "opened": "x", "closed": None, "count": 9,
    "missing": None, "agreed": 9, "rejected": 0,
}  # fmt: skip


@pytest.mark.parametrize(
    "said",
    [
        {}, {"agreed": None}, {"agreed": math.inf}, {"agreed": [1]}, {"state": ["frozen"]},
        {"more": 1}, {"missing": "x"},
    ],
)  # fmt: skip
def test_a_server_that_does_not_say_what_was_agreed(said):
    class Liar:
        url = "https://x"

        def status(self, _name):
            return {**STATUS, "state": "open"}

        def freeze(self, _name):
            return STATUS | said if said else said

    with pytest.raises(RefusedError):
        analyst.freeze(SMALL, [Liar(), Liar()])


def test_reports_on_their_way(tmp_path):
    path = tmp_path / "ages.pending"
    both = [rows_of(one) for one in (FIRST, SECOND)]
    named, other = bytes(32), bytes(31) + b"\1"
    assert read_pending(path, SMALL, named) is None
    write_pending(path, SMALL, named, *both)
    assert path.stat().st_mode & 0o777 == 0o600
    for one in (named, None):
        found = read_pending(path, SMALL, one)
        assert found is not None
        assert (found[0] == both[0]).all()
        assert (found[1] == both[1]).all()
    with pytest.raises(ParameterError, match="another submission"):
        read_pending(path, SMALL, other)
    with pytest.raises(ParameterError, match="another batch"):
        read_pending(path, ROC, named)
    # It is never replaced.
    content = path.read_bytes()
    with pytest.raises(Exception, match="was just made"):
        write_pending(path, SMALL, other, *both)
    assert path.read_bytes() == content
    assert [one.name for one in tmp_path.iterdir()] == ["ages.pending"]
    for damaged in (content[:-1], content[:50], b"", content[:100] + b"\0" + content[101:]):
        path.write_bytes(damaged)
        with pytest.raises(ParameterError, match="holds no reports"):
            read_pending(path, SMALL, named)
