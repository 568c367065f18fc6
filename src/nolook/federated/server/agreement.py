"""How two servers find the reports that count: each reads from the other, none writes.

A server lists its reports by id, some at a time: an entry is an id and the message of the check. A
report counts if both list it with the same message. Where messages differ the report is rejected.
Rejected reports are counted, and their ids are never published.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

from nolook.federated.batch import Batch
from nolook.federated.failures import RefusedError
from nolook.federated.point_functions import MESSAGE_BYTES
from nolook.federated.reports import ID_BYTES
from nolook.federated.server.store import Agreement, Store
from nolook.formats.strict import Broken, Content, convert

__all__ = ["PAGE", "Entries", "Peer", "agree", "compared", "said"]

#: Entries that a server sends at once.
PAGE = 8192

_Said = TypeVar("_Said")


class Peer(Protocol):
    """The other server, as far as this one reads from it."""

    def reports(self, name: str) -> dict[str, Any]:
        """Return what `BatchService.reports` returns there."""

    def entries(self, name: str, after: bytes) -> bytes:
        """Return the next entries of its reports, by id, after an id; nothing at the end."""


class Entries:
    """The list of the reports of a closed batch at one server: entries with their positions."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._listed: tuple[int, str] | None = None

    def page(self, after: bytes) -> list[tuple[bytes, int]]:
        """Return the next entries after an id; a 503 while checking goes on."""
        if self._store.checked < self._store.count:
            raise RefusedError("the reports are still being checked; ask again", 503)
        return self._store.entries(after, PAGE)

    def __iter__(self) -> Iterator[tuple[bytes, int]]:
        """Yield every entry."""
        after = b""
        while page := self.page(after):
            yield from page
            after = page[-1][0][:ID_BYTES]

    def listed(self) -> tuple[int, str]:
        """Return the number of entries and the digest of all, in hexadecimal digits."""
        if self._listed is None:
            found, count = hashlib.sha256(), 0
            for entry, _ in self:
                found.update(entry)
                count += 1
            self._listed = count, found.hexdigest()
        return self._listed


class _Theirs(Content, frozen=True):
    """The other server's statement about its reports."""

    batch: str
    closed: bool
    count: int
    digest: str
    agreed: tuple[int, str, int] | None


def said(agreement: Agreement | None) -> tuple[int, str, int] | None:
    """Return an agreement as the servers exchange it."""
    if agreement is None:
        return None
    return agreement.count, agreement.digest.hex(), agreement.rejected


def agree(store: Store, own: Entries, peer: Peer, noise: bytes) -> None:
    """Find the set that counts; freeze it when the other server found the same.

    Both are closed, so both find the same set, whoever asks first: this one stores what it found,
    and freezes when the other has stored the same. Raises a RefusedError if too few reports count,
    or the other server cannot be asked.
    """
    own.listed()  # a 503 while this server checks
    batch = store.batch
    theirs = _theirs(batch, peer)
    if theirs.batch != batch.digest.hex():
        raise RefusedError("the other server has another batch of this name", 409)
    if not theirs.closed:
        return
    agreement = store.agreed
    if agreement is None or theirs.agreed != said(agreement):
        if not theirs.digest:
            raise RefusedError("the other server froze other reports; one of them is at fault", 409)
        agreement, outside = compared(own, _read(batch, peer, theirs))
        if store.agreed != agreement:
            store.propose(agreement, outside)
    if agreement.count < batch.minimum:
        raise RefusedError(
            f"both servers have {agreement.count} reports in common that count, fewer than the "
            f"batch's minimum of {batch.minimum}; it is closed and will never be answered",
            409,
        )
    if theirs.agreed == said(agreement):
        store.freeze(noise)
    elif theirs.agreed is not None:
        raise RefusedError("the servers do not agree on the reports; one of them is at fault", 409)


def compared(
    own: Iterable[tuple[bytes, int]], theirs: Iterator[bytes]
) -> tuple[Agreement, array[int]]:
    """Return the set of the entries that are in both lists, and the positions that are not in it.

    Both lists are sorted by the ids with which entries begin.
    """
    found, count, rejected, outside = hashlib.sha256(), 0, 0, array("q")
    other = next(theirs, None)
    for entry, position in own:
        while other is not None and other[:ID_BYTES] < entry[:ID_BYTES]:
            other = next(theirs, None)
        if other == entry:
            found.update(entry[:ID_BYTES])
            count += 1
        else:
            rejected += other is not None and other[:ID_BYTES] == entry[:ID_BYTES]
            outside.append(position)
    for _ in theirs:  # to the end, where it is checked that all arrived
        pass
    return Agreement(count, found.digest(), rejected), outside


def _theirs(batch: Batch, peer: Peer) -> _Theirs:
    said = _asked(lambda: peer.reports(batch.name))
    try:
        return convert(said, _Theirs)
    except Broken:
        raise RefusedError("the other server does not answer like one of nolook's", 502) from None


def _read(batch: Batch, peer: Peer, theirs: _Theirs) -> Iterator[bytes]:
    """Yield the other server's entries in order; at the end, see that they are those it has."""
    size = ID_BYTES + MESSAGE_BYTES
    found, after, left = hashlib.sha256(), b"", theirs.count
    while left > 0:
        page = _asked(lambda: peer.entries(batch.name, after))  # noqa: B023 -- called at once
        entries = [page[at : at + size] for at in range(0, len(page), size)]
        if not entries or len(entries) > left or len(entries[-1]) < size:
            break
        for entry in entries:
            if entry[:ID_BYTES] <= after:
                raise RefusedError("the other server's list of reports is not sorted", 502)
            after = entry[:ID_BYTES]
            yield entry
        found.update(page)
        left -= len(entries)
    if left or found.hexdigest() != theirs.digest:
        raise RefusedError("the other server's list of reports was damaged; try again", 503)


def _asked(ask: Callable[[], _Said]) -> _Said:
    """Ask the other server; its refusal is not passed on as ours."""
    try:
        return ask()
    except RefusedError as error:
        status = 503 if error.status == 503 else 502
        raise RefusedError(f"the other server cannot be asked: {error}", status) from None
