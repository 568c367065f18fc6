"""Two servers: which reports count, beside a plain model of the protocol."""

from __future__ import annotations

import hashlib
import os
import random
from itertools import count

import pytest
from attrs import evolve

from nolook.federated.answers import distribution
from nolook.federated.failures import RefusedError
from nolook.federated.server.store import Arrival
from tests.federated.forged_keys import FORGERIES
from tests.federated.made import (
    CALIBRATION,
    LOUD,
    ROC,
    SMALL,
    WIDE,
    forged,
    left_of,
    reports,
    secrets_of,
)
from tests.federated.test_batch_service import (
    PATIENCE,
    Both,
    counted,
    counts_of,
    decoded,
    frozen,
    refused,
    two,
)

LONG = os.environ.get("NOLOOK_LONG", "") not in {"", "0"}
BATCH = evolve(SMALL, epsilon=LOUD)
ENTRY = 64  # bytes: an id and a message


def put_forged(both, kinds=FORGERIES, each=3):
    """Send forged reports to both servers; return how many."""
    sent = 0
    for seed, forge in enumerate(kinds.values()):
        ids, *halves = forged(both.batch, forge, each, seed)
        for role, service in enumerate(both.services):
            for name, half in zip(ids, halves[role], strict=True):
                assert service.put(Arrival(name, half)).result(PATIENCE)
        sent += each
    return sent


@pytest.mark.parametrize("batch", [SMALL, ROC, CALIBRATION, WIDE])
def test_forged_reports_and_those_at_one_server_change_no_count(tmp_path, batch):
    batch = evolve(batch, epsilon=LOUD)
    with two(tmp_path, batch) as both:
        both.put(40, without=((1, 2, 39), (2, 7)))
        sent = put_forged(both)
        status = both.freeze()
        kept = [i for i in range(40) if i not in {1, 2, 7, 39}]
        assert [(one["agreed"], one["rejected"]) for one in status] == [(36, sent)] * 2
        assert counts_of(batch, both.ask()) == (counted(batch, kept), 36)


def test_the_answer_is_what_the_analyst_can_read(tmp_path):
    with two(tmp_path, evolve(ROC, epsilon=LOUD)) as both:
        both.put(40)
        put_forged(both)
        both.freeze()
        answers = decoded(both.ask())
        curve = distribution(both.batch, *answers)
        *_, targets = reports(both.batch, 40)
        assert curve.n_positive_ == pytest.approx(targets.sum(), abs=1e-6)
        assert (
            answers[0].reports
            == hashlib.sha256(b"".join(sorted(reports(both.batch, 40)[0]))).digest()
        )


def test_a_batch_of_forged_reports_alone_is_never_closed(tmp_path):
    with two(tmp_path, BATCH) as both:
        put_forged(both)
        for service in both.services:
            with pytest.raises(RefusedError, match="0 reports count; the batch needs at least 5"):
                frozen(service)
            assert service.status()["state"] == "open"
        assert both.spent() == [0.0, 0.0]


def test_rejected_reports_are_counted_and_never_named(tmp_path):
    with two(tmp_path, BATCH) as both:
        both.put(9)
        ids, *halves = forged(BATCH, FORGERIES["weights"], 1)
        for role, service in enumerate(both.services):
            service.put(Arrival(ids[0], halves[role][0])).result(PATIENCE)
        told = [str(one) for one in both.freeze()] + [str(one) for one in both.ask()]
        told += [str(service.status()) for service in both.services]
        told += [str(service.reports()) for service in both.services]
        assert not any(ids[0].hex() in text for text in told)
        for service in both.services:
            refused(409, service.entries, b"")


class Model:
    """What both servers must hold and do: a plain account of the protocol."""

    def __init__(self, batch, bad):
        self.batch, self.bad = batch, bad
        self.stored = [set(), set()]
        self.states = ["open", "open"]
        self.proposed = [None, None]
        self.lying = [False, False]

    def put(self, role, i):
        """Return True if new, False if known, None if refused."""
        if i in self.stored[role]:
            return False
        if self.states[role] != "open":
            return None
        self.stored[role].add(i)
        return True

    def freeze(self, role):
        """Return the state, or None if it is refused."""
        both = (self.stored[0] & self.stored[1]) - self.bad
        if self.states[role] == "open":
            if len(both) < self.batch.minimum:
                return None
            self.states[role] = "closed"
        if self.states[role] != "closed" or self.states[1 - role] == "open":
            return self.states[role]
        if self.lying[1 - role]:
            return None
        self.proposed[role] = both
        if self.proposed[1 - role] == both:
            self.states[role] = "frozen"
        return self.states[role]

    def ask(self, role):
        """Tell whether it is answered."""
        if self.states[role] in {"frozen", "answered"}:
            self.states[role] = "answered"
            return True
        return False


class Walk:
    """Two servers beside the model."""

    def __init__(self, folder, seed):
        self.chance = random.Random(seed)
        self.both = Both(folder, BATCH)
        ids, *sent = (list(part) for part in reports(BATCH, 40)[:3])
        kinds = list(FORGERIES.values())
        for k, forge in enumerate(kinds):
            for parts, more in zip((ids, *sent), forged(BATCH, forge, 2, k), strict=True):
                parts.append(more[0])
        self.ids, self.sent = ids, sent
        self.model = Model(BATCH, set(range(40, 40 + len(kinds))))
        self.answers = [None, None]
        self.steps = count()

    def put(self, role):
        i = self.chance.randrange(len(self.ids))
        service, wanted = self.both.services[role], self.model.put(role, i)
        outcome = service.put(Arrival(self.ids[i], self.sent[role][i]))
        if wanted is None:
            refused(409, outcome.result, PATIENCE)
        else:
            assert outcome.result(PATIENCE) == wanted

    def freeze(self, role):
        peer = self.both.peers[role]
        if self.model.states[role] != "open" and self.chance.random() < 0.3:
            self.lie(peer)
            self.model.lying[1 - role] = True
        wanted = self.model.freeze(role)
        try:
            state = frozen(self.both.services[role])["state"]
        except RefusedError:
            state = None
        assert state == wanted
        peer.lie, peer.change = {}, None
        self.model.lying[1 - role] = False

    def lie(self, peer):
        """Have the other server lose, change or repeat an entry on its way."""
        lies = [
            lambda page: page[ENTRY:],
            lambda page: page[:-1] + bytes([page[-1] ^ 1]) if page else bytes(ENTRY),
            lambda page: page + page[-ENTRY:] if page else bytes(ENTRY),
            lambda page: page[ENTRY:] + page[:ENTRY] if len(page) > ENTRY else bytes(ENTRY),
        ]
        peer.change = self.chance.choice(lies)
        peer.lie = {"agreed": None}

    def ask(self, role):
        if self.model.ask(role):
            (answer,) = self.both.ask(role=role)
            self.answers[role] = self.answers[role] or answer
            assert answer == self.answers[role]
        else:
            refused(409, self.both.services[role].answer)

    def restart(self, role):
        self.both.restart(role)

    def check(self):
        for role, service in enumerate(self.both.services):
            status = service.status()
            stored, state = self.model.stored[role], self.model.states[role]
            assert (status["count"], status["state"]) == (len(stored), state)
        wanted = [LOUD if one == "answered" else 0.0 for one in self.model.states]
        assert self.both.spent() == wanted


@pytest.mark.parametrize("seed", range(40 if LONG else 4))
def test_a_random_walk_beside_the_model(tmp_path, seed):
    walk = Walk(tmp_path, seed)
    steps = [walk.put] * 8 + [walk.restart]
    closing = [walk.freeze] * 3 + [walk.ask, walk.put, walk.restart]
    try:
        for chosen, many in ((steps, 90), (closing, 25)):
            for _ in range(many):
                walk.chance.choice(chosen)(walk.chance.randrange(2))
                walk.check()
        for _ in range(2):
            for role in (0, 1):
                walk.model.freeze(role)
                frozen(walk.both.services[role])
                walk.check()
        for role in (0, 1):
            walk.ask(role)
        kept = sorted((walk.model.stored[0] & walk.model.stored[1]) - walk.model.bad)
        assert counts_of(BATCH, walk.both.ask()) == (counted(BATCH, kept), len(kept))
    finally:
        walk.both.close()


def test_a_server_that_leaves_reports_out_is_answered_by_nobody(tmp_path):
    """Its list is whole in itself: another set than the other server finds."""
    with two(tmp_path, BATCH) as both:
        both.put(12)
        liar = both.services[1]
        for service in both.services:
            frozen(service) if service.status()["state"] == "open" else None
        page = liar.entries(b"")
        fewer = page[ENTRY:]
        both.peers[0].change = lambda whole_page: fewer if whole_page == page else whole_page
        both.peers[0].lie = {"count": 11, "digest": hashlib.sha256(fewer).hexdigest()}
        for _ in range(2):
            refused(409, both.services[0].freeze)  # the liar's own set is another
        assert both.services[0].status()["agreed"] == 11
        assert both.services[0].status()["state"] == "closed"
        # It says that it agrees: then this server answers about 11 reports, and only about them.
        agreed = both.services[0].reports()["agreed"]
        both.peers[0].lie |= {"agreed": agreed}
        assert both.services[0].freeze()["state"] == "frozen"
        answer = both.ask(role=0)
        both.peers[0].lie, both.peers[0].change = {}, None
        assert both.services[0].freeze()["state"] == "answered"
        assert both.ask(role=0) == answer
        refused(409, liar.freeze)
        refused(409, liar.answer)
        assert both.spent() == [LOUD, 0.0]


def test_an_ended_batch_keeps_its_answers_and_nothing_else(tmp_path):
    with two(tmp_path, BATCH) as both:
        both.put(12)
        both.freeze()
        (answer,) = both.ask(role=0)
        gone = [secrets_of(BATCH, role, reports(BATCH, 40)[1 + role]) for role in (0, 1)]
        for role, service in enumerate(both.services):
            gone[role] += [service._store.secret, service._store.sums.astype("<u8").tobytes()]
            assert left_of(gone[role][-2:], both.data(role)) == gone[role][-2:]
        assert [service.end()["state"] for service in both.services] == ["ended"] * 2
        for role in (0, 1):
            for _ in range(2):
                assert left_of(gone[role], both.data(role)) == []
                both.restart(role)
        assert both.ask(role=0) == [answer]
        assert "ended" in refused(410, both.ask, 1)
        ids, first, *_ = reports(BATCH, 40)
        assert both.services[0].put(Arrival(ids[0], first[0])).result(PATIENCE) == 0
        refused(409, both.services[0].put(Arrival(ids[20], first[20])).result, PATIENCE)
        assert both.services[1].freeze()["state"] == "ended"
        assert both.spent() == [LOUD, 0.0]


@pytest.mark.parametrize("when", ["open", "closed", "frozen"])
def test_a_batch_can_end_before_it_is_answered(tmp_path, when):
    with two(tmp_path, BATCH) as both:
        both.put(12)
        if when == "closed":
            frozen(both.services[0])
        if when == "frozen":
            both.freeze()
        for service in both.services:
            assert service.end()["state"] == "ended"
            refused(410, service.answer)
        both.restart(0)
        assert left_of(secrets_of(BATCH, 0, reports(BATCH, 40)[1]), both.data(0)) == []
