"""One server's batch when its process dies, or its disk fails, at any write."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from base64 import b64decode

import numpy as np
import pytest

import nolook
from nolook.federated.server.store import Arrival
from nolook.federated.shares import check_reports
from nolook.kernels.forests import block_counts
from tests.federated import service_steps
from tests.federated.forking import COUNT, FAIL_ON, FAIL_ONCE, KILL, TEAR
from tests.federated.made import LOUD, left_of, reports, rows_of, secrets_of
from tests.federated.service_steps import AGREED, BATCH, OWN
from tests.privacy.ledger_processes import quick_folder

LONG = os.environ.get("NOLOOK_LONG", "") not in {"", "0"}
SLOW = pytest.mark.slow


@pytest.fixture(scope="module")
def place():
    with quick_folder() as made:
        yield made


def attempt(forks, place, at, mode, number=0):
    """Run the steps with a fault; return what was noted, what was said and the operations done."""
    folder, notes = place / "run", place / "notes"
    folder.mkdir()
    service_steps.make_ledger(folder)
    child = forks.steps(folder, notes, (at, mode, number))
    child.wait()
    noted = notes.read_text().splitlines() if notes.exists() else []
    said = notes.with_suffix(".errors").read_text()
    for path in (notes, notes.with_suffix(".errors")):
        path.unlink(missing_ok=True)
    return folder, noted, said


def check_after(folder, noted):
    """Go on with what a dead process left: nothing lost, nothing counted twice, one charge."""
    ids, first, *_ = reports(BATCH, 40)
    service = service_steps.opened(folder)
    put = {int(line.split()[1]) for line in noted if line.startswith("put")}
    status = service.status()
    assert len(put) <= status["count"] <= len(OWN)
    assert "freeze" not in noted or status["state"] in {"frozen", "answered", "ended"}
    assert "end" not in noted or status["state"] == "ended"
    if status["state"] == "ended":
        check_ended(folder, service, noted)
        return
    if status["state"] == "open":
        known = [service.put(Arrival(ids[i], first[i])).result(60) for i in put]
        assert not any(known)
        assert service.status()["count"] == status["count"]
    else:
        assert status["count"] == len(OWN)
    with nolook.Ledger(folder / "ledger") as ledger:
        assert ledger.spent.epsilon in {0.0, LOUD}
    service.close()
    answer = service_steps.run(folder, lambda _: None)
    digest = f"answer {hashlib.sha256(answer).hexdigest()}"
    assert not [line for line in noted if line.startswith("answer")] or digest in noted
    with nolook.Ledger(folder / "ledger") as ledger:
        assert [entry.state for entry in ledger.history()] == ["complete"]
        assert ledger.spent.epsilon == LOUD
    assert service_steps.run(folder, lambda _: None) == answer
    check_deleted(folder)
    share = np.frombuffer(b64decode(json.loads(answer)["answer"]["count"]), "<u8")
    assert share.tolist() == wanted_share().tolist()
    shutil.rmtree(folder)


def check_ended(folder, service, noted):
    """An ended batch has its answer, paid for once, and no report."""
    answer = service_steps.ask(service)
    service.close()
    assert f"answer {hashlib.sha256(answer).hexdigest()}" in noted
    with nolook.Ledger(folder / "ledger") as ledger:
        assert ledger.spent.epsilon == LOUD
    check_deleted(folder)
    shutil.rmtree(folder)


def check_deleted(folder):
    """No file has anything of a report, except for its id."""
    assert not left_of(secrets_of(BATCH, 0, reports(BATCH, 40)[1]), folder / "data")


def wanted_share():
    """Return this server's share of what is answered, from scratch; its noise is 0."""
    _, first, *_ = reports(BATCH, 40)
    checked = check_reports(BATCH, 0, rows_of([first[i] for i in AGREED]))
    cells = checked.counts[0].view(np.int64)
    return block_counts(cells, BATCH.forest.lengths).view(np.uint64)


def test_the_states_are_as_the_checks_assume(forks, place):
    folder, noted, said = attempt(forks, place, -1, COUNT)
    assert said == ""
    puts = [f"put {i}" for i in OWN]
    assert noted[: len(puts) + 2] == ["open", *puts, "freeze"]
    assert noted[len(puts) + 2].startswith("answer ")
    assert noted[len(puts) + 3 : -1] == ["end", "close"]
    check_after(folder, noted)


@SLOW
@pytest.mark.parametrize("mode", [KILL, TEAR], ids=["before", "half done"])
def test_killed_at_every_write(forks, place, mode):
    at, step, ended = (0, 1 if LONG or mode == KILL else 3, 0)
    seen = set()
    while True:
        folder, noted, said = attempt(forks, place, at, mode)
        assert said == ""
        seen.add(noted[-1].split()[0] if noted else "")
        check_after(folder, noted)
        if noted and noted[-1].startswith("done"):
            break
        ended += 1
        at += step
    assert ended * step > 80
    assert {"", "open", "put", "freeze", "answer"} <= seen  # the end was interrupted too


@pytest.mark.parametrize(
    "mode", [pytest.param(FAIL_ONCE, marks=SLOW), FAIL_ON], ids=["once", "from then on"]
)
@pytest.mark.parametrize(
    "number", [errno.ENOSPC, pytest.param(errno.EIO, marks=SLOW)], ids=["full", "failing"]
)
def test_a_disk_that_fails_at_any_write(forks, place, mode, number):
    folder, noted, _ = attempt(forks, place, -1, COUNT)
    shutil.rmtree(folder)
    total, failed = int(noted[-1].split()[1]), 0
    assert total > 80
    for at in range(mode % 2 + 3 * (number == errno.EIO), total, 1 if LONG else 7):
        folder, noted, said = attempt(forks, place, at, mode, number)
        assert "Traceback" not in said
        check_after(folder, noted)
        failed += bool(said)
    # A few, such as the removal of a file that is no longer needed, may fail without harm.
    assert failed > total // 15
