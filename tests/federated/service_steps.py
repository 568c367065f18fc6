"""The life of a batch at one server, step by step; each step that ended is noted outside."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

from attrs import evolve

import nolook
from nolook.federated.failures import RefusedError
from nolook.federated.server.batch_service import BatchService
from tests.federated.made import LOUD, SMALL, reports

BATCH = evolve(SMALL, epsilon=LOUD)
IDS, FIRST, _, VALUES, _ = reports(BATCH, 40)
OWN = range(8)
THEIRS = range(1, 12)  # what the other server has
AGREED = [i for i in OWN if i in THEIRS]


class Peer:
    """The other server, closed long ago; it agrees with whatever is right."""

    def __init__(self, batch=BATCH):
        self._batch = batch

    def reports(self, name):
        assert name == self._batch.name
        ids = self.ids(name, len(THEIRS))
        both = b"".join(sorted(IDS[i] for i in AGREED))
        return {
            "batch": self._batch.digest.hex(),
            "closed": True,
            "count": len(THEIRS),
            "digest": hashlib.sha256(ids).hexdigest(),
            "agreed": [len(AGREED), hashlib.sha256(both).hexdigest()],
        }

    def ids(self, name, count):
        assert (name, count) == (self._batch.name, len(THEIRS))
        return b"".join(sorted(IDS[i] for i in THEIRS))


def make_ledger(folder):
    budget = nolook.Budget(10 * LOUD)
    nolook.Ledger.create(folder / "ledger", budget, name="x", relation="replace").close()


def opened(folder):
    return BatchService(0, BATCH, folder / "data", folder / "ledger", Peer())


def ask(service):
    patience = time.monotonic() + 60
    while True:
        try:
            return service.answer({"question": "curves"})
        except RefusedError as error:
            if "added up" not in str(error):
                raise
            assert time.monotonic() < patience
            time.sleep(0.001)


def run(folder, note):
    """Go through all steps, calling `note` after each."""
    service = opened(folder)
    note("open")
    for i in OWN[:5]:
        assert service.accept(FIRST[i], IDS[i]).result(60) in {True, False}
        note(f"put {i}")
    together = [service.accept(FIRST[i], IDS[i]) for i in OWN[5:]]
    for i, one in zip(OWN[5:], together, strict=True):
        one.result(60)
        note(f"put {i}")
    assert service.freeze()["state"] in {"frozen", "answered"}
    note("freeze")
    answer = ask(service)
    note(f"answer {hashlib.sha256(answer).hexdigest()}")
    service.close()
    note("close")
    return answer


def main(folder, notes, done):
    """Run the steps and note them in a file; last, how many operations there were."""
    handle = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    run(Path(folder), lambda text: os.write(handle, f"{text}\n".encode()))
    os.write(handle, f"done {done()}\n".encode())
