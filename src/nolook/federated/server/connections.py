"""Connection limits: idle or unauthenticated callers cannot exhaust the server.

A connection is a stranger's until a request with a valid token arrives over it. Strangers have
seconds, TLS handshake included, and the oldest makes room for the next. Owners, analysts and the
other server each have places of their own, so that none can crowd out another. Nor can one owner
crowd out other owners: the connection that asked longest ago makes room, first of all one with the
same token, then one from the same network.
"""

from __future__ import annotations

import asyncio
import gc
import re
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Any

from attrs import define

from nolook._validation import check_count
from nolook.errors import ParameterError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["BACKLOG", "Connections", "Listener", "allow_files"]

#: Taken at once, before the event loop closes the strangers that lost their places.
BACKLOG = 128

_STRANGER, _OWNER = "stranger", "owner"
_PLACES = {_STRANGER: 128, _OWNER: 512, "analyst": 32, "peer": 32}
_PER_TOKEN = 32  # connections, whatever their addresses
# Until a connection is closed, from its start or the last request with a token.
_SECONDS = {_STRANGER: 10.0, _OWNER: 60.0, "analyst": 600.0, "peer": 600.0}
# Open files, with room to spare: those of the server itself, and of each batch.
_OWN_FILES, _FILES_OF_BATCH = 64, 8

_PROXY_LINE = re.compile(rb"PROXY TCP[46] ([0-9a-fA-F.:]{2,39}) [0-9a-fA-F.:]+ \d+ \d+\r\n")
_LONGEST_PROXY_LINE = 107

Address = tuple[str, int]


@define(eq=False)
class _Place:
    connection: socket.socket
    host: str | None  # None until the proxy has named it
    role: str = _STRANGER
    token: bytes = b""  # its digest
    timer: asyncio.TimerHandle | None = None


class Connections:
    """The open connections of a server; only its event loop uses them.

    From one network address come at most `per_address` strangers, and as many owners. Strangers
    have `patience` seconds.
    """

    def __init__(self, per_address: int, patience: float = _SECONDS[_STRANGER]) -> None:
        self._per_address = check_count(per_address, "--connections-per-address", _PLACES[_OWNER])
        self._seconds = {**_SECONDS, _STRANGER: patience}
        self._places: dict[Address, _Place] = {}
        self._taken = 0

    def take(self, connection: socket.socket, address: Address, host: str | None) -> None:
        """Give a new connection a place; where there is none, the oldest stranger loses its own."""
        self._taken += 1
        if self._taken % BACKLOG == 0:
            gc.collect()  # a broken handshake leaves a circle of objects with 256 KB
            if self._taken == BACKLOG:
                gc.freeze()  # what the first callers had loaded need not be searched again
        strangers = self._held(_STRANGER)
        if not self._end_nearest(strangers, host) and len(strangers) >= _PLACES[_STRANGER]:
            self._end(strangers[0])
        self._places[address] = _Place(connection, host)
        self._limit(self._places[address])

    def name(self, address: Address, host: str) -> None:
        """Count a connection from the proxy to its caller's network address."""
        self._end_nearest(self._held(_STRANGER), host)
        if address in self._places:
            self._places[address].host = host

    def admit(self, address: Address, role: str, token: bytes) -> bool:
        """Give a caller with a valid token a place of its role; False if it lost its connection."""
        place = self._places.pop(address, None)
        if place is None:
            return False
        if (place.role, place.token) != (role, token):
            held = self._held(role)
            same = [other for other in held if other.token == token]
            near = [other for other in held if other.host == place.host and role == _OWNER]
            crowds = ((same, _PER_TOKEN), (near, self._per_address), (held, _PLACES[role]))
            full = next((crowd for crowd, most in crowds if len(crowd) >= most), None)
            if full:
                self._end(full[0])
            place.role, place.token = role, token
        self._places[address] = place  # the last one: it asked just now
        self._limit(place)
        return True

    def _end_nearest(self, strangers: list[_Place], host: str | None) -> bool:
        """End the oldest stranger of a network address that has all it may; return whether."""
        near = [place for place in strangers if place.host == host is not None]
        if len(near) >= self._per_address:
            self._end(near[0])
        return len(near) >= self._per_address

    def _held(self, role: str) -> list[_Place]:
        """Return the open connections of a role and forget closed ones; last, who asked last."""
        kept = self._places.items()
        self._places = {at: place for at, place in kept if place.connection.fileno() >= 0}
        return [place for place in self._places.values() if place.role == role]

    def _limit(self, place: _Place) -> None:
        """Start the time that a connection has left."""
        if place.timer is not None:
            place.timer.cancel()
        seconds = self._seconds[place.role]
        place.timer = asyncio.get_running_loop().call_later(seconds, self._end, place)

    def _end(self, place: _Place) -> None:
        """Break a connection; the event loop notices, and closes it."""
        if place.timer is not None:
            place.timer.cancel()
        self._places = {at: one for at, one in self._places.items() if one is not place}
        with suppress(OSError):  # it may be closed already
            place.connection.shutdown(socket.SHUT_RDWR)


class _ProxiedSocket(socket.socket):
    """A connection from the proxy: its first line names the caller (PROXY protocol, version 1)."""

    named: Callable[[str], None] | None = None
    _line = b""

    def recv_into(self, buffer: WriteableBuffer, nbytes: int = 0, flags: int = 0) -> int:
        """Receive what follows the line."""
        if self.named is not None:
            self._read_line(self.named)
        return super().recv_into(buffer, nbytes, flags)

    def _read_line(self, named: Callable[[str], None]) -> None:
        seen = self.recv(_LONGEST_PROXY_LINE - len(self._line), socket.MSG_PEEK)
        end = seen.find(b"\n") + 1
        self._line += self.recv(end or len(seen))
        if seen and not end and len(self._line) < _LONGEST_PROXY_LINE:
            raise BlockingIOError  # the rest is on its way
        found = _PROXY_LINE.fullmatch(self._line)
        if found is None:
            raise ConnectionAbortedError
        self.named = None
        try:
            named(_network(found[1].decode()))
        except ValueError:
            raise ConnectionAbortedError from None


class Listener(socket.socket):
    """A listening socket that gives each connection a place before anything is read from it.

    Only connections from the network address `proxy` may, and must, name their callers.
    """

    def __init__(
        self,
        connections: Connections,
        family: int,
        handle: int | None = None,
        proxy: str | None = None,
    ) -> None:
        # asyncio sends small answers at once only over a socket that says it is TCP's.
        super().__init__(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, handle)
        self._connections = connections
        self._proxy = proxy and str(ip_address(proxy))

    def accept(self) -> tuple[socket.socket, Any]:
        """Take the next connection."""
        connection, address = super().accept()
        host: str | None = address[0].removeprefix("::ffff:")
        if host == self._proxy:
            connection = _ProxiedSocket(
                connection.family, connection.type, connection.proto, connection.detach()
            )
            connection.named = partial(self._connections.name, address[:2])
            host = None
        self._connections.take(connection, address[:2], host and _network(host))
        return connection, address


def _network(host: str) -> str:
    """Return an IPv4 address, or the /64 network of an IPv6 one, which is one subscriber's."""
    address = ip_address(host.partition("%")[0])
    if address.version == 4:
        return str(address)
    return str(ip_network((int(address), 64), strict=False))


def allow_files(batches: int) -> None:
    """Raise the system's limit for this process to all places and the files of the batches.

    A batch whose files cannot be opened takes no more reports, so callers must not use them up.
    """
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    wanted = sum(_PLACES.values()) + BACKLOG + _OWN_FILES + _FILES_OF_BATCH * batches
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):
        raise ParameterError(
            f"a process may open {hard} files here; expected at least {wanted} (ulimit -Hn)"
        ) from None
