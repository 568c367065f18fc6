"""A server behind a proxy that passes TLS on: places are counted by the callers' own addresses."""

from __future__ import annotations

import http.client
import re
import shutil
import socket
import ssl
import subprocess
import time
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest

from tests.conftest import skip_or_fail
from tests.federated.made import SMALL, reports
from tests.federated.servers import PATIENCE, Caller, Pair, free_ports

_, FIRST, *_ = reports(SMALL, 40)
PAGE = Path(__file__).parents[2] / "docs" / "federated.md"
CAP = 5  # connections from one address
PROXY, CROWD, OTHER = "127.0.0.1", "127.0.0.2", "127.0.0.3"


@pytest.fixture(scope="module")
def pair(forks, tmp_path_factory):
    folder = tmp_path_factory.mktemp("proxied")
    options = ("--connections-per-address", CAP, "--proxy", PROXY)
    made = Pair(forks, folder, [SMALL], options=options).start(0)
    yield made
    assert made.said() == ""
    made.close()


@pytest.fixture(scope="module")
def proxy_port(pair, tmp_path_factory):
    """Run HAProxy as the page configures it; give its port."""
    # Debian keeps it where only administrators look.
    program = shutil.which(
        "haproxy", path="/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin"
    )
    if program is None:
        skip_or_fail("needs HAProxy")
    (written,) = re.findall(r"```text\n(global\n.*?)```", PAGE.read_text(), re.DOTALL)
    (port,) = free_ports(1)
    written = written.replace("bind :8440", f"bind 127.0.0.1:{port}")
    file = tmp_path_factory.mktemp("haproxy") / "haproxy.cfg"
    file.write_text(written.replace("127.0.0.1:8450", f"127.0.0.1:{pair.ports[0]}"))
    with subprocess.Popen([program, "-db", "-q", "-f", file]) as process:
        patience = time.monotonic() + PATIENCE
        while True:
            with suppress(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port)).close()
                break
            assert process.poll() is None
            assert time.monotonic() < patience
            time.sleep(0.02)
        yield port
        process.kill()


def calling(pair, who, port, source):
    """Return a caller at a network address."""
    made = Caller(pair, 0, who)
    made.port, made.source = port, source
    return made


def test_a_crowd_behind_the_proxy_keeps_no_other_address_away(pair, proxy_port):
    with ExitStack() as stack:
        stranger = stack.enter_context(closing(calling(pair, None, proxy_port, CROWD)))
        owners = [
            stack.enter_context(closing(calling(pair, "owner", proxy_port, CROWD)))
            for _ in range(CAP + 1)
        ]
        for owner, report in zip(owners[:CAP], FIRST, strict=False):
            assert owner.put(SMALL, report)[0] == 200
        for _ in range(4 * CAP):
            bare = socket.create_connection(("127.0.0.1", proxy_port), source_address=(CROWD, 0))
            stack.enter_context(bare)
            with suppress(ConnectionError, ssl.SSLError):
                stack.enter_context(stranger.connection())
        # The crowd's address has all the places it may have: who asked longest ago makes room.
        assert owners[CAP].put(SMALL, FIRST[CAP])[0] == 200
        with pytest.raises((OSError, http.client.HTTPException)):
            owners[0].put(SMALL, FIRST[CAP])
        # Another address has its own, and so has the analyst at the crowd's.
        start = time.monotonic()
        other = stack.enter_context(closing(calling(pair, "owner", proxy_port, OTHER)))
        assert other.put(SMALL, FIRST[CAP + 1])[0] == 200
        analyst = stack.enter_context(closing(calling(pair, "analyst", proxy_port, CROWD)))
        assert analyst("GET", "/v1/batches/ages")[0] == 200
        assert time.monotonic() - start < CAP


LINE = b"PROXY TCP4 198.51.100.7 203.0.113.1 40000 8440\r\n"


def ended(plain):
    """Return whether the server has ended a connection; `ssl` leaks one that it has reset."""
    plain.setblocking(False)
    try:
        return plain.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    finally:
        plain.settimeout(PATIENCE)


def first_line(pair, source, *parts):
    """Connect, send parts before TLS, ask for the status; return the first line of the answer."""
    caller = calling(pair, "analyst", pair.ports[0], source)
    with suppress(ConnectionError, ssl.SSLError, TimeoutError):
        plain = socket.create_connection(
            ("127.0.0.1", pair.ports[0]), timeout=PATIENCE, source_address=(source, 0)
        )
        with closing(plain):
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for part in parts:
                plain.sendall(part)
                time.sleep(0.02)
            if ended(plain):
                return b""
            with caller._context.wrap_socket(plain, server_hostname="127.0.0.1") as line:
                head = f"authorization: Bearer {caller.token}\r\nhost: x\r\n\r\n"
                line.sendall(b"GET /v1/batches/ages HTTP/1.1\r\n" + head.encode())
                return line.recv(12)
    return b""


@pytest.mark.parametrize(
    "parts",
    [
        [LINE],
        [LINE[:20], LINE[20:-1], LINE[-1:]],
        [bytes((letter,)) for letter in LINE],
        [b"PROXY TCP6 2001:db8::1 2001:db8::2 65535 65535\r\n"],
    ],
    ids=["whole", "three parts", "letters", "IPv6"],
)
def test_the_proxy_names_callers_in_one_line_however_it_arrives(pair, parts):
    assert first_line(pair, PROXY, *parts) == b"HTTP/1.1 200"


@pytest.mark.parametrize(
    "parts",
    [
        [], [b"\r\n"], [b"PROXY UNKNOWN\r\n"], [LINE[:-2] + b"\n"], [LINE.replace(b"198", b"x")],
        [LINE, LINE], [b"GET / HTTP/1.1\r\n"], [LINE[:-2] + b" " * 200],
    ],
)  # fmt: skip
def test_nothing_else_comes_from_the_proxy(pair, parts):
    assert first_line(pair, PROXY, *parts) == b""
    assert first_line(pair, PROXY, LINE) == b"HTTP/1.1 200"


def test_nobody_but_the_proxy_names_callers(pair):
    assert first_line(pair, CROWD, LINE) == b""
    assert first_line(pair, CROWD) == b"HTTP/1.1 200"


def test_connections_named_alike_share_the_places_of_one_address(pair):
    def opened(host):
        plain = socket.create_connection(("127.0.0.1", pair.ports[0]), timeout=2.0)
        plain.sendall(LINE.replace(b"198.51.100.7", host))
        return plain

    with ExitStack() as stack:
        other = stack.enter_context(closing(opened(b"198.51.100.8")))
        same = [stack.enter_context(closing(opened(b"198.51.100.9"))) for _ in range(CAP + 1)]
        assert same[0].recv(1) == b""
        for line in (other, *same[1:]):
            line.setblocking(False)
            with pytest.raises(BlockingIOError):
                line.recv(1)
