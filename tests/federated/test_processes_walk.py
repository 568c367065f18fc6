"""Two real servers that are killed at any moment, beside a plain list of what they must hold."""

from __future__ import annotations

import http.client
import os
import random
import threading
import time
from base64 import b64decode
from contextlib import suppress

import numpy as np
import pytest
from attrs import evolve

import nolook
from nolook.federated.sealing import seal
from nolook.kernels.forests import block_counts
from tests.federated.forking import COUNT, KILL, TEAR
from tests.federated.made import LOUD, SMALL, changed, reports
from tests.federated.servers import PATIENCE, Caller, Pair
from tests.privacy.ledger_processes import quick_folder

LONG = os.environ.get("NOLOOK_LONG", "") not in {"", "0"}
SLOW_SEEDS = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 30 if LONG else 4)]
BATCH = evolve(SMALL, epsilon=LOUD)
REPORTS = 120
LOST = None  # no response


class Walk:
    """The servers, and what they must hold after every step."""

    def __init__(self, forks, folder, seed):
        self.chance = random.Random(seed)
        self.ids, *self.sent, self.values, _ = reports(BATCH, REPORTS)
        self.pair = Pair(forks, folder, [BATCH]).start()
        self.stored = [set(), set()]
        self.states = ["open", "open"]
        self.answers = [None, None]
        self.deaths = 0
        self.armed = [False, False]
        self.callers = [
            {who: Caller(self.pair, role, who) for who in ("owner", "analyst")} for role in (0, 1)
        ]

    def call(self, role, who, *request):
        """Return status and content, LOST if the server died over it."""
        try:
            return self.callers[role][who](*request)
        except (OSError, http.client.HTTPException):
            assert self.armed[role], "a server ended a connection though nobody killed it"
            return LOST

    def arm(self, role, most):
        """Have a server die at one of its next writes."""
        how = self.chance.choice([KILL, TEAR])
        self.armed[role] = True
        self.pair.processes[role].call("arm", self.chance.randint(0, most), how)

    def sure(self, role, call, *arguments):
        """Call until it is answered: what was to kill the server may do so a little later."""
        while (found := call(role, *arguments)) is LOST:
            self.pair.processes[role].wait()
            self.revive(role)
        return found

    def put(self, role, i, report=None):
        path = f"/v1/batches/{BATCH.name}/reports"
        return self.call(role, "owner", "POST", path, self.body(role, i, report))

    def body(self, role, i, report=None):
        """Return what is sent: a sealed report."""
        return seal(BATCH, role, report or self.sent[role][i])

    def post(self, role, what):
        return self.call(role, "analyst", "POST", f"/v1/batches/{BATCH.name}/{what}")

    def status(self, role):
        path = f"/v1/batches/{BATCH.name}"
        status, found = self.sure(role, self.call, "analyst", "GET", path)
        assert status == 200
        return found

    def check(self):
        """Compare both servers with the list."""
        for role in (0, 1):
            found = self.status(role)
            assert (found["count"], found["state"]) == (len(self.stored[role]), self.states[role])
        assert self.pair.said() == ""

    def revive(self, role):
        """Start a server again if it died; else see that it lives on."""
        if self.pair.processes[role].call("arm", -1, COUNT) is not None:
            return
        self.deaths += 1
        self.pair.kill(role)
        for caller in self.callers[role].values():
            caller.close()
        self.armed[role] = False
        self.pair.start(role)

    def settle(self, role, numbers, outcomes):
        """Note what became of reports; where nothing was said, ask by sending them again."""
        for i, said in zip(numbers, outcomes, strict=True):
            known = i in self.stored[role]
            status, answer = said or self.sure(role, self.put, i)
            if self.states[role] != "open" and not known:
                assert status == 409
            else:
                # Sent again, it may be new or not: either is once.
                assert status == 200
                assert answer["new"] in ({0} if known else {1} if said else {0, 1})
                self.stored[role].add(i)

    # The steps.

    def upload(self, role):
        numbers = self.chance.sample(range(REPORTS), self.chance.randint(1, 3))
        self.settle(role, numbers, [self.put(role, i) for i in numbers])

    def replay(self, role):
        if self.stored[role]:
            i = self.chance.choice(sorted(self.stored[role]))
            for report, status in (
                (self.sent[role][i], 200),
                (changed(self.sent[role][i]), 400),
                (self.sent[1 - role][i], 400),
            ):
                assert self.sure(role, self.put, i, report)[0] == status

    def upload_and_die(self, role):
        self.arm(role, 9)
        numbers = self.chance.sample(range(REPORTS), 2)
        outcomes = [self.put(role, i) for i in numbers]
        self.revive(role)
        self.settle(role, numbers, outcomes)

    def kill_among_uploads(self, role):
        """Several owners at once, and `kill -9` at some moment."""
        numbers = self.chance.sample(range(REPORTS), 12)
        outcomes = dict.fromkeys(numbers)

        def send(some):
            caller = Caller(self.pair, role, "owner")
            for i in some:
                with suppress(OSError, http.client.HTTPException):
                    outcomes[i] = caller.put(BATCH, self.sent[role][i])
            caller.close()

        threads = [threading.Thread(target=send, args=(numbers[k::4],)) for k in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(self.chance.uniform(0, 0.08))
        self.pair.processes[role].kill()
        for thread in threads:
            thread.join(PATIENCE)
        self.revive(role)
        self.settle(role, numbers, [outcomes[i] for i in numbers])

    def drop_response(self, role):
        i = self.chance.randrange(REPORTS)
        path = f"/v1/batches/{BATCH.name}/reports"
        caller = self.callers[role]["owner"]
        head = f"POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {caller.token}\r\n"
        with caller.connection() as line:
            body = self.body(role, i)
            line.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        # It is on its way, and may come after the next one.
        time.sleep(0.05)
        self.settle(role, [i], [LOST])

    def freeze(self, role, faulty=False):
        if faulty:
            self.arm(role, 20)
        found = self.post(role, "freeze")
        while found is not LOST and found[0] == 503 and "being checked" in found[1]["error"]:
            time.sleep(0.02)
            found = self.post(role, "freeze")
        self.revive(role)
        if found is LOST:
            state = self.status(role)["state"]
            order = ["open", "closed", "frozen", "answered"]
            assert order.index(state) >= order.index(self.states[role])
            self.states[role] = state
        elif found[0] == 200:
            self.states[role] = found[1]["state"]
        else:
            assert found[0] == 409  # too few in common
            assert len(self.stored[0] & self.stored[1]) < BATCH.minimum
            assert self.status(role)["state"] == self.states[role] == "open"

    def freeze_and_die(self, role):
        self.freeze(role, faulty=True)

    def query(self, role, faulty=False):
        if faulty:
            self.arm(role, 40)
        found = self.post(role, "answer")
        while found is not LOST and found[0] == 503:
            time.sleep(0.02)
            found = self.post(role, "answer")
        self.revive(role)
        if self.states[role] in {"open", "closed"}:
            assert found is LOST or found[0] == 409
            return
        if found is not LOST:
            assert found[0] == 200
            self.answers[role] = self.answers[role] or found[1]
            assert found[1] == self.answers[role]
        self.states[role] = self.status(role)["state"]
        assert found is LOST or self.states[role] == "answered"

    def query_and_die(self, role):
        self.query(role, faulty=True)

    def restart(self, role):
        self.pair.processes[role].kill()
        self.revive(role)


OPEN = [
    Walk.upload, Walk.upload, Walk.upload, Walk.replay, Walk.upload_and_die,
    Walk.kill_among_uploads, Walk.drop_response, Walk.query, Walk.restart,
]  # fmt: skip
CLOSING = [
    Walk.freeze, Walk.freeze, Walk.freeze_and_die, Walk.query, Walk.query_and_die, Walk.query,
    Walk.upload, Walk.replay, Walk.upload_and_die, Walk.restart,
]  # fmt: skip


def finish(walk):
    """Freeze and ask whatever happened before; compare the sum with the list."""
    for _ in range(2):
        for role in (0, 1):
            walk.freeze(role)
            walk.check()
    for role in (0, 1):
        walk.query(role)
    common = sorted(walk.stored[0] & walk.stored[1])
    assert len(common) >= BATCH.minimum
    for role in (0, 1):
        assert walk.answers[role]["count"] == len(common)
    numbers = [b64decode(one["answer"]["count"]) for one in walk.answers]
    total = sum(np.frombuffer(one, dtype="<u8") for one in numbers)
    wanted = np.bincount(walk.values[common].astype(int), minlength=8)
    wanted = block_counts(wanted, BATCH.forest.lengths)
    assert total.tolist() == wanted.tolist()
    for role in (0, 1):
        walk.restart(role)
        walk.query(role)
        with nolook.Ledger(walk.pair.homes[role].ledger) as ledger:
            assert [entry.state for entry in ledger.history()] == ["complete"]
            assert ledger.spent.epsilon == LOUD
    walk.check()


# Python leaves a socket open whose other end goes away between connection and handshake.
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.parametrize("seed", [0, *SLOW_SEEDS])
def test_a_random_walk_beside_a_plain_list(forks, seed):
    with quick_folder() as folder:
        walk = Walk(forks, folder, seed)
        try:
            for steps, count in ((OPEN, 20), (CLOSING, 14)):
                for _ in range(count * (4 if LONG else 1)):
                    walk.chance.choice(steps)(walk, walk.chance.randrange(2))
                    walk.check()
                if steps is OPEN:  # enough for an answer, whatever comes
                    for role in (0, 1):
                        walk.settle(role, range(8), [walk.put(role, i) for i in range(8)])
            finish(walk)
            assert walk.deaths > 5
        finally:
            walk.pair.close()
            for callers in walk.callers:
                for caller in callers.values():
                    caller.close()
