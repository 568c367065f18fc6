"""The life of a batch at one server, step by step; each step that ended is noted outside."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

from attrs import evolve

import nolook
from nolook.federated.failures import RefusedError
from nolook.federated.server.batch_service import _BETWEEN_WORDS, BatchService
from nolook.federated.server.store import Arrival
from nolook.federated.shares import check_reports
from tests.federated.made import LOUD, SMALL, reports, rows_of

BATCH = evolve(SMALL, epsilon=LOUD)
OWN = range(8)
THEIRS = range(1, 12)  # what the other server has
AGREED = [i for i in OWN if i in THEIRS]


class Peer:
    """The other server, closed long ago; it agrees with whatever is right."""

    def __init__(self):
        ids, _, second, *_ = reports(BATCH, 40)
        self._agreed = b"".join(sorted(ids[i] for i in AGREED))
        messages = check_reports(BATCH, 1, rows_of([second[i] for i in THEIRS])).messages
        entries = [ids[i] + one.tobytes() for i, one in zip(THEIRS, messages, strict=True)]
        self._entries = b"".join(sorted(entries))

    def reports(self, name):
        assert name == BATCH.name
        return {
            "batch": BATCH.digest.hex(),
            "closed": True,
            "count": len(THEIRS),
            "digest": hashlib.sha256(self._entries).hexdigest(),
            "agreed": [len(AGREED), hashlib.sha256(self._agreed).hexdigest(), 0],
        }

    def entries(self, name, after):
        assert (name, after) == (BATCH.name, b"")
        return self._entries


def make_ledger(folder):
    budget = nolook.Budget(10 * LOUD)
    nolook.Ledger.create(folder / "ledger", budget, name="x", relation="replace").close()


def opened(folder):
    return BatchService(0, BATCH, folder / "data", folder / "ledger", Peer())


def patiently(service, call, *words):
    """Call until a server has done what it does in the background, or its disk stays full."""
    patience = time.monotonic() + 60
    while True:
        try:
            return call()
        except RefusedError as error:
            if service._next_word:
                patience = min(patience, service._next_word - _BETWEEN_WORDS + 0.2)
            if not any(word in str(error) for word in words) or time.monotonic() > patience:
                raise
            time.sleep(0.001)


def ask(service):
    return patiently(service, service.answer, "added up")


def run(folder, note, *, ending=False):
    """Go through all steps, calling `note` after each."""
    ids, first, *_ = reports(BATCH, 40)
    service = opened(folder)
    note("open")
    for i in OWN[:5]:
        assert service.put(Arrival(ids[i], first[i])).result(60) in {True, False}
        note(f"put {i}")
    together = [service.put(Arrival(ids[i], first[i])) for i in OWN[5:]]
    for i, one in zip(OWN[5:], together, strict=True):
        one.result(60)
        note(f"put {i}")
    assert patiently(service, service.freeze, "being checked")["state"] in {"frozen", "answered"}
    note("freeze")
    answer = ask(service)
    note(f"answer {hashlib.sha256(answer).hexdigest()}")
    if ending:
        assert service.end()["state"] == "ended"
        note("end")
        assert ask(service) == answer
    service.close()
    note("close")
    return answer


def main(folder, notes, done):
    """Run the steps and note them in a file; last, how many operations there were."""
    handle = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    note = lambda text: os.write(handle, f"{text}\n".encode())  # noqa: E731
    run(Path(folder), note, ending=True)
    os.write(handle, f"done {done()}\n".encode())
