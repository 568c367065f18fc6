"""Agreement of two servers on the reports that count: each reads from the other, none writes.

A server lists its reports by id, some at a time: an entry is an id and the message of the check. A
report counts if both list it with the same message. Where messages differ the report is rejected.
Rejected reports are counted, and their ids are never published.

Nothing is locked while a server reads from the other one, and reading ends after `_LONGEST`.
"""

from __future__ import annotations

import hashlib
import time
from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

from attrs import astuple

from nolook.federated.batch import Batch
from nolook.federated.failures import RefusedError
from nolook.federated.point_functions import MESSAGE_BYTES
from nolook.federated.reports import ID_BYTES
from nolook.federated.server.store import Agreement, Store
from nolook.formats.strict import Broken, Content, convert

__all__ = ["Peer", "agree", "check_enough", "compared"]

_LONGEST = 300.0  # seconds to read the other server's list

_Said = TypeVar("_Said")


class Peer(Protocol):
    """The other server, as far as this one reads from it."""

    def reports(self, name: str) -> dict[str, Any]:
        """Return the result of `BatchService.reports` there."""

    def entries(self, name: str, after: bytes) -> bytes:
        """Return the next entries of its reports, by id, after an id; nothing at the end."""


class _Theirs(Content, frozen=True):
    """The other server's statement about its reports."""

    batch: str
    closed: bool
    count: int  # stored there; 0 once it is frozen
    digest: str  # of all entries, empty unless it is closed
    agreed: tuple[int, str, int] | None


def check_enough(store: Store, peer: Peer) -> None:
    """Refuse to close a batch before enough of its reports count: it could never be answered.

    Until a batch is closed, reports are only added, so those that count now will count then.
    """
    batch, stored, checked = store.batch, store.count, store.checked
    theirs = _theirs(batch, peer)
    common, read = 0, 0
    if min(stored, theirs.count) >= batch.minimum:
        agreement, _, read = compared(store.all_entries(), _read(batch, peer, theirs))
        common = agreement.count
        if common < batch.minimum and (checked < stored or read < theirs.count):
            raise RefusedError(
                f"the reports are still being checked ({checked:,} of {stored:,} here, {read:,} of "
                f"{theirs.count:,} at the other server); ask again",
                503,
            )
    if common < batch.minimum:
        count = f"{common} reports count"
        if not read:
            count = f"this server has {stored} reports and the other one {theirs.count}"
        raise RefusedError(
            f"{count}; the batch needs at least {batch.minimum} and stays open (collect more)", 409
        )


def agree(store: Store, peer: Peer, noise: bytes) -> None:
    """Find the set that counts; freeze it when the other server found the same.

    Both are closed, so both find the same set, no matter which asks first: this one stores it,
    and freezes when the other has stored the same. Raises a RefusedError if too few reports count,
    or the other server cannot be asked.
    """
    store.listed  # noqa: B018 -- a 503 while this server checks
    batch = store.batch
    theirs = _theirs(batch, peer)
    if not theirs.closed:
        return
    agreement = store.agreed
    if agreement is None or theirs.agreed != astuple(agreement):
        agreement, outside, _ = compared(store.all_entries(), _read(batch, peer, theirs))
        if store.agreed != agreement:
            store.propose(agreement, outside)
    if agreement.count < batch.minimum:
        few = f"{agreement.count} reports count, of at least {batch.minimum} that are needed"
        raise RefusedError(f"{few}; the batch is closed and will never be answered", 409)
    if theirs.agreed == astuple(agreement):
        store.freeze(noise)
    elif theirs.agreed is not None:
        raise RefusedError("the servers do not agree on the reports; one of them is at fault", 409)


def compared(
    own: Iterable[tuple[bytes, int]], theirs: Iterator[bytes]
) -> tuple[Agreement, array[int], int]:
    """Return the set of the entries in both lists, the positions outside it, and `theirs`' length.

    Both lists are sorted by the ids with which entries begin.
    """
    found, count, rejected, outside = hashlib.sha256(), 0, 0, array("q")
    counted = enumerate(theirs, 1)
    read, other = next(counted, (0, None))
    for entry, position in own:
        while other is not None and other[:ID_BYTES] < entry[:ID_BYTES]:
            read, other = next(counted, (read, None))
        if other == entry:
            found.update(entry[:ID_BYTES])
            count += 1
        else:
            rejected += other is not None and other[:ID_BYTES] == entry[:ID_BYTES]
            outside.append(position)
    for read, _ in counted:  # to the end, where it is checked that all arrived  # noqa: B007
        pass
    return Agreement(count, found.hexdigest(), rejected), outside, read


def _theirs(batch: Batch, peer: Peer) -> _Theirs:
    said = _asked(lambda: peer.reports(batch.name))
    try:
        theirs = convert(said, _Theirs)
    except Broken:
        raise RefusedError("the other server does not answer like one of nolook's", 502) from None
    if theirs.batch != batch.digest.hex():
        raise RefusedError("the other server has another batch of this name", 409)
    return theirs


def _read(batch: Batch, peer: Peer, theirs: _Theirs) -> Iterator[bytes]:
    """Yield the other server's entries in order.

    Those of a closed batch must be the ones that it stated; an open one may have more by now.
    """
    if theirs.closed and not theirs.digest:
        raise RefusedError("the other server froze other reports; one of them is at fault", 409)
    size, latest = ID_BYTES + MESSAGE_BYTES, time.monotonic() + _LONGEST
    found, after, left = hashlib.sha256(), b"", theirs.count
    while left > 0 or not theirs.closed:
        page = _asked(lambda: peer.entries(batch.name, after))  # noqa: B023 -- called at once
        entries = [page[at : at + size] for at in range(0, len(page), size)]
        if time.monotonic() > latest:
            took = f"took longer than {_LONGEST:.0f} seconds; ask its operator"
            raise RefusedError(f"reading the other server's list of reports {took}", 502)
        if not theirs.closed and not entries:
            return
        if not entries or (theirs.closed and len(entries) > left) or len(entries[-1]) < size:
            break
        for entry in entries:
            if entry[:ID_BYTES] <= after:
                raise RefusedError("the other server's list of reports is not sorted", 502)
            after = entry[:ID_BYTES]
            yield entry
        found.update(page)
        left -= len(entries)
    if not theirs.closed or left or found.hexdigest() != theirs.digest:
        raise RefusedError("the other server's list of reports was damaged; try again", 503)


def _asked(ask: Callable[[], _Said]) -> _Said:
    """Ask the other server; its refusal is not passed on as ours."""
    try:
        return ask()
    except RefusedError as error:
        status = 503 if error.status == 503 else 502
        raise RefusedError(f"the other server cannot be reached: {error}", status) from None
