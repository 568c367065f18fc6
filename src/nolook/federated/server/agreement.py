"""How two servers find the reports that both have: each reads from the other, none writes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from nolook.federated.batch import Batch
from nolook.federated.failures import RefusedError
from nolook.federated.server.store import Agreement, Store
from nolook.federated.wire import ID_BYTES
from nolook.formats.strict import Broken, Content, convert

__all__ = ["Peer", "agree", "common"]

_Said = TypeVar("_Said")


class Peer(Protocol):
    """The other server, as far as this one reads from it."""

    def reports(self, name: str) -> dict[str, Any]:
        """Return what `BatchService.reports` returns there."""

    def ids(self, name: str, count: int) -> bytes:
        """Return the `count` ids that are there, sorted."""


class _Theirs(Content, frozen=True):
    """What the other server says about its reports."""

    batch: str
    closed: bool
    count: int
    digest: str
    agreed: tuple[int, str] | None


def agree(store: Store, batch: Batch, peer: Peer) -> None:
    """Find the set that both servers have; freeze it when the other one found the same.

    Both are closed, so both find the same set, whoever asks first: this one stores what it found,
    and freezes when the other has stored the same. Raises a RefusedError if they have too few
    reports in common, or the other server cannot be asked.
    """
    theirs = _theirs(batch, peer)
    if theirs.batch != batch.digest.hex():
        raise RefusedError("the other server has another batch of this name", 409)
    if not theirs.closed:
        return
    both = own = store.ids()
    if theirs.digest != hashlib.sha256(own).hexdigest():
        listed = _asked(lambda: peer.ids(batch.name, theirs.count))
        if hashlib.sha256(listed).hexdigest() != theirs.digest:
            raise RefusedError("the other server's list of reports was damaged; try again", 503)
        both = common(own, listed)
    agreement = Agreement(len(both) // ID_BYTES, hashlib.sha256(both).digest())
    if store.agreed != agreement:
        store.propose(both)
    if agreement.count < batch.minimum:
        raise RefusedError(
            f"both servers have {agreement.count} reports in common, fewer than the batch's "
            f"minimum of {batch.minimum}; it is closed and will never be answered",
            409,
        )
    if theirs.agreed == (agreement.count, agreement.digest.hex()):
        store.freeze()
    elif theirs.agreed is not None:
        raise RefusedError("the servers do not agree on the reports; one of them is at fault", 409)


def _theirs(batch: Batch, peer: Peer) -> _Theirs:
    said = _asked(lambda: peer.reports(batch.name))
    try:
        return convert(said, _Theirs)
    except Broken:
        raise RefusedError("the other server does not answer like one of nolook's", 502) from None


def _asked(ask: Callable[[], _Said]) -> _Said:
    """Ask the other server; its refusal is not passed on as ours."""
    try:
        return ask()
    except RefusedError as error:
        status = 503 if error.status == 503 else 502
        raise RefusedError(f"the other server cannot be asked: {error}", status) from None


def common(first: bytes, second: bytes) -> bytes:
    """Return the sorted ids that are in both of two strings of ids."""
    lists = [
        {ids[at : at + ID_BYTES] for at in range(0, len(ids), ID_BYTES)} for ids in (first, second)
    ]
    return b"".join(sorted(lists[0] & lists[1]))
