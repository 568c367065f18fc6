"""Connections that ask for nothing keep nobody away, and no role takes another one's places."""

from __future__ import annotations

import asyncio
import gc
import http.client
import os
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
import weakref
from contextlib import ExitStack, closing, suppress
from itertools import cycle

import pytest
from starlette.responses import Response
from uvicorn.server import ServerState

from nolook.errors import ParameterError
from nolook.federated.server.connections import BACKLOG, Connections, Listener, _network
from nolook.federated.server.running import configured
from nolook.federated.tokens import make_tokens
from tests.federated.certificates import Authority
from tests.federated.made import SMALL, reports
from tests.federated.servers import PATIENCE, Caller, Pair

IDS, FIRST, *_ = reports(SMALL, 40)
CAP = 5  # connections from one address
SECONDS = 5.0  # in which whoever has a token is heard
ATTACK = 15.0  # seconds that somebody tries to shut others out


@pytest.fixture
def pair(forks, tmp_path, request):
    cap = getattr(request, "param", 100)
    made = Pair(forks, tmp_path, [SMALL], options=("--connections-per-address", cap)).start()
    yield made
    assert made.said() == ""
    made.close()


def heard(pair):
    """Assert that an owner, the analyst and the other server are all answered at once."""
    start = time.monotonic()
    with closing(Caller(pair, 0, "owner")) as owner:
        assert owner.put(SMALL, FIRST[0])[0] == 200
    others_are_heard(pair)
    assert time.monotonic() - start < SECONDS


def others_are_heard(pair):
    for who in ("analyst", "peer"):
        with closing(Caller(pair, 0, who)) as caller:
            assert caller("GET", "/v1/batches/ages")[0] == 200


@pytest.mark.parametrize(
    ("pair", "count"),
    [(CAP, 4 * CAP), pytest.param(100, 1010, marks=pytest.mark.slow)],
    indirect=["pair"],
    ids=["small", "large"],
)
def test_idle_connections_keep_nobody_away(pair, count):
    with closing(Caller(pair, 0, None)) as stranger, ExitStack() as idle:
        lines = [idle.enter_context(stranger.connection()) for _ in range(count)]
        heard(pair)
        with suppress(ConnectionError, ssl.SSLError):  # the oldest had to go
            assert lines[0].recv(1) == b""


@pytest.mark.parametrize("pair", [CAP], indirect=True)
def test_bare_and_half_open_connections_keep_nobody_away(pair):
    with ExitStack() as idle:
        for sent in (b"", b"\x16\x03\x01", b"GET / HTTP/1.1\r\n"):
            for _ in range(2 * CAP):
                line = socket.create_connection(("127.0.0.1", pair.ports[0]))
                idle.enter_context(line).sendall(sent)
        heard(pair)


@pytest.mark.parametrize("pair", [CAP], indirect=True)
def test_owners_who_take_all_places_leave_those_of_the_others(pair):
    with ExitStack() as held:
        owners = [held.enter_context(closing(Caller(pair, 0, "owner"))) for _ in range(CAP)]
        for owner in owners:
            assert owner.put(SMALL, FIRST[1])[0] == 200
        with closing(Caller(pair, 0, "owner")) as late:
            assert late.put(SMALL, FIRST[2])[0] == 200
        others_are_heard(pair)
        # The one that asked longest ago made room; it may come again.
        with pytest.raises((OSError, http.client.HTTPException)):
            owners[0].put(SMALL, FIRST[2])
        assert owners[-1].put(SMALL, FIRST[2])[0] == 200
        assert owners[0].put(SMALL, FIRST[2])[0] == 200
    heard(pair)


@pytest.mark.slow
def test_one_token_at_six_addresses_shuts_nobody_out(pair):
    """512 connections, all of one token that is good for one report, renewed all the time."""
    (token,) = make_tokens("owner", pair.homes[0].tokens, most=1)
    end, asked = time.monotonic() + ATTACK, []

    def attack(address, places):
        with ExitStack() as stack:
            caller = stack.enter_context(closing(Caller(pair, 0, None)))
            caller.source = address
            held = [stack.enter_context(ExitStack()) for _ in range(places)]
            for place in cycle(held):
                if time.monotonic() > end:
                    return
                with suppress(OSError):
                    place.close()
                    line = place.enter_context(caller.connection())
                    line.sendall(
                        b"GET /v1/batches/ages HTTP/1.1\r\nhost: a\r\n"
                        b"authorization: Bearer " + token.encode() + b"\r\n\r\n"
                    )
                    asked.append(line.recv(12))

    addresses = [f"127.0.0.{number}" for number in range(2, 8)]
    threads = [threading.Thread(target=attack, args=(each, 86)) for each in addresses]
    for thread in threads:
        thread.start()
    rounds = 0
    while time.monotonic() < end:
        heard(pair)
        rounds += 1
    for thread in threads:
        thread.join(PATIENCE)
    assert rounds >= 3
    assert len(asked) >= 512
    heard(pair)


@pytest.mark.parametrize("pair", [CAP], indirect=True)
def test_a_server_told_to_stop_closes_its_files_and_waits_for_nobody_idle(pair):
    with closing(Caller(pair, 0, "owner")) as owner, ExitStack() as idle:
        for _ in range(CAP):
            idle.enter_context(owner.connection())
        assert owner.put(SMALL, FIRST[0])[0] == 200
        start = time.monotonic()
        os.kill(pair.processes[0].pid, signal.SIGTERM)
        pair.processes[0].wait()
        assert time.monotonic() - start < SECONDS
    folder = pair.data(0) / SMALL.name
    assert not (folder / "state.sqlite-wal").exists()
    pair.processes[0] = None
    pair.start(0)
    heard(pair)


class Line:
    """A connection as far as its place matters; `at` is its address."""

    def __init__(self, places, number, host=None):
        self.at = (host or f"host {number}", number)
        self.own, self.other = socket.socketpair()
        self.other.settimeout(SECONDS)
        places.take(self.own, self.at, self.at[0])

    def ended(self):
        self.other.setblocking(False)
        try:
            return self.other.recv(1) == b""
        except BlockingIOError:
            return False

    def close(self):
        self.own.close()
        self.other.close()


def in_a_loop(check):
    """Run a check of places, and close the lines that it made."""

    async def run():
        with ExitStack() as lines:
            places = Connections(CAP)
            made = iter(range(10**6))
            check(places, lambda host=None: lines.enter_context(
                closing(Line(places, next(made), host))
            ))  # fmt: skip

    asyncio.run(run())


def test_the_oldest_stranger_of_all_makes_room():
    def check(places, line):
        lines = [line() for _ in range(128)]
        assert places.admit(lines[0].at, "owner", b"")
        assert not any(one.ended() for one in lines)
        late = [line() for _ in range(3)]
        assert [one.ended() for one in lines] == [False, True, True, *[False] * 125]
        assert not any(one.ended() for one in late)
        # An address that has many pays with its own.
        crowd = [line("one host") for _ in range(CAP + 2)]
        assert [one.ended() for one in crowd] == [True, True, *[False] * CAP]

    in_a_loop(check)


@pytest.mark.parametrize(("role", "most"), [("owner", 512), ("analyst", 32), ("peer", 32)])
def test_each_role_has_places_of_its_own(role, most):
    def check(places, line):
        held = []
        for i in range(most):
            held.append(line())
            assert places.admit(held[-1].at, role, b"%d" % i)
        for other in {"owner", "analyst", "peer"} - {role}:
            assert places.admit(line().at, other, b"")
        assert not any(one.ended() for one in held)
        # The one that asked longest ago makes room.
        assert places.admit(held[0].at, role, b"0")
        late = line()
        assert places.admit(late.at, role, b"late")
        assert [at for at, one in enumerate(held) if one.ended()] == [1]
        assert not places.admit(held[1].at, role, b"1")
        assert not late.ended()

    in_a_loop(check)


def test_one_token_cannot_shut_out_the_others():
    """As many connections as there are places, from as many addresses, renewed all the time."""

    def check(places, line):
        quiet = line()
        assert places.admit(quiet.at, "owner", b"quiet")
        greedy = [line() for _ in range(100)]
        for _ in range(10):
            for one in greedy:
                if not places.admit(one.at, "owner", b"greedy"):
                    assert one.ended()
        assert sum(not one.ended() for one in greedy) == 32
        assert not quiet.ended()
        # Many tokens fill all places, and still keep nobody away.
        for i in range(600):
            assert places.admit(line().at, "owner", b"%d" % i)
        late = line()
        assert places.admit(late.at, "owner", b"late")
        assert not late.ended()

    in_a_loop(check)


@pytest.mark.parametrize(
    ("host", "network"),
    [
        ("192.0.2.7", "192.0.2.7"), ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"), ("fe80::1%eth0", "fe80::/64"),
    ],
)  # fmt: skip
def test_an_ipv6_network_counts_as_one_address(host, network):
    assert _network(host) == network


def test_a_stranger_has_seconds_whatever_it_sends():
    async def run():
        places = Connections(CAP, patience=0.3)
        with Listener(places, socket.AF_INET) as listener:
            listener.bind(("127.0.0.1", 0))
            server = await asyncio.get_running_loop().create_server(asyncio.Protocol, sock=listener)
            lines = [await asyncio.open_connection(*listener.getsockname()) for _ in range(2)]
            (idle, writer), (known, _) = lines
            await asyncio.sleep(0.1)
            assert places.admit(lines[1][1].get_extra_info("sockname"), "owner", b"")
            start = time.monotonic()
            with suppress(ConnectionError):
                while not idle.at_eof():
                    writer.write(b"x")
                    await asyncio.sleep(0.02)
                    assert time.monotonic() - start < SECONDS
            assert not known.at_eof()
            for _, one in lines:
                one.close()
            server.close()

    asyncio.run(run())


@pytest.mark.parametrize("cap", [0, 513])
def test_caps_that_cannot_be(cap):
    with pytest.raises(ParameterError, match="--connections-per-address"):
        Connections(cap)


def test_broken_handshakes_leave_no_memory_behind(tmp_path):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*Authority(tmp_path).sign("server"))

    def broken():
        return sum(isinstance(one, asyncio.sslproto.SSLProtocol) for one in gc.get_objects())

    async def run():
        with Listener(Connections(CAP), socket.AF_INET) as listener:
            listener.bind(("127.0.0.1", 0))
            loop = asyncio.get_running_loop()
            server = await loop.create_server(asyncio.Protocol, sock=listener, ssl=context)
            for _ in range(3 * BACKLOG):
                _, writer = await asyncio.open_connection(*listener.getsockname())
                writer.close()
                await writer.wait_closed()
            await asyncio.sleep(0.1)
            assert broken() <= BACKLOG + CAP
            server.close()

    gc.collect()
    gc.disable()
    try:
        asyncio.run(run())
    finally:
        gc.enable()


def reset(port, ca):
    """Ask for something, and reset the connection when the answer begins."""
    context = ssl.create_default_context(cafile=ca)
    plain = socket.create_connection(("127.0.0.1", port), timeout=SECONDS)
    with context.wrap_socket(plain, server_hostname="127.0.0.1") as line:
        line.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        assert line.recv(12) == b"HTTP/1.1 401"
        line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def test_connections_that_callers_reset_leave_no_memory_behind(tmp_path):
    authority = Authority(tmp_path)
    config = configured(*authority.sign("server"))
    config.loaded_app = Response(status_code=401)
    held = []

    def protocol():
        made = config.http_protocol_class(config, ServerState(), {})
        held.append(weakref.ref(made))
        return made

    async def run():
        loop = asyncio.get_running_loop()
        async with await loop.create_server(protocol, "127.0.0.1", 0, ssl=config.ssl) as server:
            port = server.sockets[0].getsockname()[1]
            for _ in range(5):
                await asyncio.to_thread(reset, port, authority.path)
            await asyncio.sleep(0.1)
            gc.collect()
            assert len(held) == 5
            assert not any(one() for one in held)

    asyncio.run(run())


ALLOWED = """
import resource
from nolook.federated.server.connections import allow_files
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
allow_files({batches})
print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""


def allowed(**limits):
    code = ALLOWED.format(**limits)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_a_server_may_open_the_files_of_all_places_and_batches():
    assert int(allowed(soft=90, hard=4096, batches=1).stdout) >= 704 + BACKLOG
    assert int(allowed(soft=90, hard=4096, batches=101).stdout) >= 704 + BACKLOG + 400
    assert int(allowed(soft=2048, hard=4096, batches=1).stdout) == 2048
    assert "a process may open 500 files here" in allowed(soft=90, hard=500, batches=1).stderr
