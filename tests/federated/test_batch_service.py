"""A batch at one server, and two that agree: states, sets, budgets, what is kept."""

from __future__ import annotations

import json
import shutil
import sqlite3
import threading
import time
from base64 import b64decode
from collections import Counter
from contextlib import closing, contextmanager

import numpy as np
import pytest
from attrs import evolve

import nolook
from nolook.errors import LedgerError
from nolook.federated import analyst, shares
from nolook.federated.failures import RefusedError, ReportError, StoreError
from nolook.federated.server import agreement, batch_service, expander
from nolook.federated.server.batch_service import BatchService
from nolook.federated.server.release import charge, check_ledger, encode, require
from nolook.federated.server.store import Agreement, Arrival, Store
from tests.federated.made import (
    CALIBRATION,
    LOUD,
    ROC,
    SMALL,
    WIDE,
    left_of,
    reports,
    rows_of,
    secrets_of,
)

PATIENCE = 60.0


class Peer:
    """The other server in the same process; it can be away, or lie."""

    def __init__(self):
        self.service = None
        self.lie = {}
        self.change = None
        self.status = None

    def reports(self, name):
        assert name == self.service.batch.name
        if self.status:
            raise RefusedError("it is away", self.status)
        return {**self.service.reports(), **self.lie}

    def entries(self, name, after):
        assert name == self.service.batch.name
        page = self.service.entries(after)
        return self.change(page) if self.change else page


class Both:
    """Two servers in this process."""

    def __init__(self, folder, batch, budget=1e5, delta=0.0):
        self.folder, self.batch = folder, batch
        self.peers = [Peer(), Peer()]
        self.services = [None, None]
        for role in (0, 1):
            cost = nolook.Budget(budget, delta)
            path = self.ledger(role)
            nolook.Ledger.create(path, cost, name="x", relation="replace").close()
            self.start(role)

    def ledger(self, role):
        return self.folder / f"ledger{role}"

    def data(self, role):
        return self.folder / f"data{role}"

    def start(self, role):
        made = BatchService(role, self.batch, self.data(role), self.ledger(role), self.peers[role])
        self.services[role] = self.peers[1 - role].service = made
        return made

    def restart(self, role):
        self.services[role].close()
        return self.start(role)

    def put(self, n, without=((), ())):
        """Send the first reports, but for some at each server."""
        ids, *sent, _, _ = reports(self.batch, 40)
        for role, service in enumerate(self.services):
            chosen = [i for i in range(n) if i not in without[role]]
            stored = [service.put(Arrival(ids[i], sent[role][i])) for i in chosen]
            assert all(one.result(PATIENCE) for one in stored)

    def freeze(self):
        for _ in range(2):
            found = [frozen(service) for service in self.services]
        assert [one["state"] for one in found] == ["frozen"] * 2
        return found

    def ask(self, role=None):
        """Return the answers, waiting while the servers add up."""
        patience = time.monotonic() + PATIENCE
        while True:
            try:
                chosen = self.services if role is None else [self.services[role]]
                return [service.answer() for service in chosen]
            except RefusedError as error:
                if error.status != 503 or "added up" not in str(error):
                    raise
                assert time.monotonic() < patience
                time.sleep(0.01)

    def spent(self):
        found = []
        for role in (0, 1):
            with nolook.Ledger(self.ledger(role)) as ledger:
                found.append(ledger.spent.epsilon)
        return found

    def close(self):
        for service in self.services:
            service.close()


@pytest.fixture
def both(tmp_path):
    with two(tmp_path, SMALL) as made:
        yield made


@contextmanager
def two(folder, batch, **options):
    made = Both(folder, batch, **options)
    try:
        yield made
    finally:
        made.close()


def frozen(service):
    """Freeze a batch, waiting while it checks its reports."""
    patience = time.monotonic() + PATIENCE
    while True:
        try:
            return service.freeze()
        except RefusedError as error:
            if "still being checked" not in str(error):
                raise
            assert time.monotonic() < patience
            time.sleep(0.005)


def decoded(contents):
    return [analyst._decoded(content, "x") for content in contents]


def counts_of(batch, contents):
    """Return the counts of cells in both servers' answers, and the number of reports."""
    first, second = decoded(contents)
    assert (first.n, first.reports) == (second.n, second.reports)
    forest, found = batch.forest, {}
    for name in batch.classes:
        cells = (first.numbers[name] + second.numbers[name]).view(np.int64)[-forest.padded :]
        assert not cells[forest.cells :].any()
        found[name] = cells[: forest.cells].tolist()
    return found, first.n


def refused(status, call, *arguments):
    with pytest.raises((RefusedError, ReportError)) as caught:
        call(*arguments)
    assert caught.value.status == status
    assert "\n" not in str(caught.value)
    return str(caught.value)


def loud(batch):
    return evolve(batch, epsilon=LOUD)


def counted(batch, kept):
    """Return how many of some of the reports are in each cell of each class."""
    *_, values, targets = reports(batch, 40)
    cells, size = np.searchsorted(batch.points()[:-1], values[kept]), len(batch.points())
    if targets is None:
        return {"count": np.bincount(cells, minlength=size).tolist()}
    return {
        name: np.bincount(cells[targets[kept] == positive], minlength=size).tolist()
        for name, positive in (("negative", False), ("positive", True))
    }


def sampler_of(both, monkeypatch, version):
    """Restart both servers as a nolook of some version of the sampler."""
    monkeypatch.setattr(shares, "SAMPLER_VERSION", version)
    for role in (0, 1):
        both.restart(role)


def test_another_sampler_draws_no_second_noise_for_a_batch(both, monkeypatch):
    both.put(9)
    both.freeze()
    (first,) = both.ask(role=0)
    sampler_of(both, monkeypatch, 2)
    assert both.ask(role=0) == [first]
    with pytest.raises(RefusedError, match="other noise"):
        both.ask(role=1)
    assert both.spent() == [1.0, 0.0]
    sampler_of(both, monkeypatch, 1)
    assert both.ask()[0] == first


def test_before_a_batch_is_frozen_any_sampler_will_do(both, monkeypatch):
    both.put(9)
    sampler_of(both, monkeypatch, 2)
    both.freeze()
    found = both.ask()
    sampler_of(both, monkeypatch, 3)
    assert both.ask() == found


@pytest.mark.parametrize("batch", [SMALL, ROC, evolve(SMALL, delta=1e-6)])
def test_a_library_that_draws_other_noise_answers_no_batch_that_is_frozen(
    tmp_path, monkeypatch, batch
):
    with two(tmp_path, batch, delta=1e-5) as both:
        both.put(9)
        both.freeze()
        for name in ("keyed_laplace", "keyed_gaussian"):
            drawn = getattr(shares, name)
            other = lambda *given, drawn=drawn: drawn(*given) + np.uint64(1)  # noqa: E731
            monkeypatch.setattr(shares, name, other)
        for role in (0, 1):
            both.restart(role)
            with pytest.raises(RefusedError, match="draws other noise") as caught:
                both.ask(role)
            assert caught.value.status == 409
        assert both.spent() == [0.0, 0.0]
        monkeypatch.undo()
        for role in (0, 1):
            both.restart(role)
        both.ask()


@pytest.mark.parametrize("batch", [SMALL, ROC, CALIBRATION, WIDE])
def test_answers_have_noise_and_repeat_themselves(tmp_path, batch):
    batch = evolve(batch, epsilon=1e-4)
    with two(tmp_path, batch) as both:
        both.put(40)
        both.freeze()
        found = both.ask()
        assert both.ask() == found
        for role in (0, 1):
            both.restart(role)
        assert both.ask() == found
        assert both.spent() == [1e-4, 1e-4]
        counts, n = counts_of_noisy(batch, found)
        # Scales are above 1e4.
        assert n == 40
        assert len(set(counts)) > 1


def counts_of_noisy(batch, contents):
    first, second = decoded(contents)
    name = batch.classes[0]
    return (first.numbers[name] + second.numbers[name]).view(np.int64).tolist(), first.n


def test_other_reports_or_another_secret_give_other_noise(tmp_path):
    found = []
    for name, without in (("a", ()), ("b", (3,)), ("c", ()), ("d", ())):
        folder = tmp_path / name
        folder.mkdir()
        with two(folder, SMALL) as both:
            if name != "c":  # the same secret
                for role in (0, 1):
                    both.services[role].close()
                    shutil.rmtree(both.data(role))
                    Store(both.data(role), SMALL, role, bytes(range(32))).close()
                    both.start(role)
            both.put(40, without=(without, ()))
            both.freeze()
            found.append(decoded(both.ask())[0].numbers["count"].tolist())
    assert found[0] == found[3]
    assert len({tuple(one) for one in found}) == 3


def test_the_budget_is_charged_once_and_before_the_answer(both):
    both.put(9)
    both.freeze()
    assert both.spent() == [0.0, 0.0]
    both.ask(role=0)
    assert both.spent() == [1.0, 0.0]
    both.ask()
    both.ask()
    assert both.spent() == [1.0, 1.0]
    with nolook.Ledger(both.ledger(0)) as ledger:
        (entry,) = ledger.history()
    assert entry.state == "complete"
    assert "batch ages" in entry.description


def test_a_crash_after_the_charge_is_not_charged_again(both, monkeypatch):
    both.put(9)
    both.freeze()
    monkeypatch.setattr(batch_service, "noisy_blocks", _die)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            both.ask(role=0)
        both.restart(0)
        assert both.spent() == [1.0, 0.0]
    monkeypatch.undo()
    both.ask()
    assert both.spent() == [1.0, 1.0]


def _die(*arguments):
    raise KeyboardInterrupt


def test_a_charge_that_was_not_completed_counts(tmp_path):
    path = tmp_path / "ledger"
    with nolook.Ledger.create(path, nolook.Budget(1.5), name="x", relation="replace") as ledger:
        charge(path, SMALL, bytes(32))
        text = ledger.history()[0].description
    path.unlink()
    with nolook.Ledger.create(path, nolook.Budget(1.5), name="x", relation="replace") as ledger:
        ledger.reserve(nolook.Budget(1.0), relation="replace", description=text)
        charge(path, SMALL, bytes(32))
        charge(path, SMALL, bytes(32))
        assert [entry.state for entry in ledger.history()] == ["complete"]
        # What was given back is not paid for, and other reports are another release.
        refused(402, charge, path, SMALL, bytes(31) + b"x")
        ledger.reserve(nolook.Budget(0.1), relation="replace", description="y").refund("z")
        assert ledger.spent.epsilon == 1.0


def test_either_ledger_can_refuse(tmp_path):
    with two(tmp_path, SMALL, budget=1.5) as both:
        both.put(9)
        both.freeze()
        for role in (0, 1):  # what another release spends meanwhile
            with nolook.Ledger(both.ledger(role)) as ledger:
                ledger.charge(nolook.Budget(0.51), description="x")
            assert "epsilon 0.99" in refused(402, both.ask, role)
        assert both.spent() == [0.51, 0.51]
        assert {s.status()["state"] for s in both.services} == {"frozen"}
        both.ledger(0).unlink()
        refused(503, both.ask, 0)
        path = both.ledger(0)
        nolook.Ledger.create(path, nolook.Budget(1.0), name="x", relation="replace").close()
        assert both.ask(0) == both.ask(0)


def test_a_ledger_of_the_other_relation_is_refused(tmp_path):
    nolook.Ledger.create(tmp_path / "l", nolook.Budget(1.0), name="x").close()
    with pytest.raises(LedgerError, match="--relation replace"):
        check_ledger(tmp_path / "l", [SMALL])


def test_a_ledger_names_the_persons_that_a_batch_protects(tmp_path):
    path, patients = tmp_path / "l", evolve(SMALL, unit="patient_id")
    with nolook.Ledger.create(path, nolook.Budget(9.0), name="x", relation="replace") as ledger:
        charge(path, patients, bytes(32))
        assert ledger.unit == patients.guarantee().unit.in_words()
        # Rows of persons are another promise, whose costs do not add up with these.
        for refuse in (require, lambda *to: charge(*to, bytes(32))):
            assert "protects a row" in refused(503, refuse, path, SMALL)
        require(path, patients)
        check_ledger(path, [patients])
        with pytest.raises(LedgerError, match="a batch protects a row"):
            check_ledger(path, [patients, SMALL])


@pytest.mark.parametrize("n", [0, 3, 7])
def test_a_batch_with_too_few_reports_stays_open(both, n):
    """Closing cannot be undone: it is refused before either server has closed."""
    both.put(n, without=((0, 1), (2, 3)))
    for service in both.services:
        said = refused_when_checked(409, service)
        assert "needs at least 5" in said
        assert ("3 reports count" in said) == (n == 7)  # 5 at each server, 3 at both
        assert service.status()["state"] == "open"
        assert "open" in refused(409, service.answer)
    ids, *sent, _, _ = reports(SMALL, 40)
    for role, service in enumerate(both.services):
        for i in range(10, 16):
            assert service.put(Arrival(ids[i], sent[role][i])).result(PATIENCE)
    both.freeze()
    assert len(both.ask()) == 2


def refused_when_checked(status, service):
    """Freeze until a batch is refused for another reason than that reports are being checked."""
    with pytest.raises(RefusedError) as caught:
        frozen(service)
    assert caught.value.status == status
    return str(caught.value)


def test_a_batch_that_a_ledger_cannot_pay_for_stays_open(tmp_path):
    with two(tmp_path, SMALL, budget=0.99) as both:
        both.put(9)
        for service in both.services:
            assert service.status()["missing"][0] == 402
            assert "epsilon 0.99" in refused(402, service.freeze)
            assert service.status()["state"] == "open"


def test_the_status_says_what_is_missing(both):
    both.put(3)
    said = both.services[0].status()
    assert said["missing"] == (409, "at least 2 more reports are needed")
    assert (said["state"], said["count"], said["closed"]) == ("open", 3, None)
    assert both.services[1].put(Arrival(*first_of(role=1, which=9))).result(PATIENCE)
    both.services[1].put(Arrival(*first_of(role=1, which=10))).result(PATIENCE)
    assert both.services[1].status()["missing"] is None


def first_of(role, which):
    ids, *sent, _, _ = reports(SMALL, 40)
    return ids[which], sent[role][which]


class Endless:
    """Another server whose list never ends: full pages of reports that nobody sent."""

    def __init__(self, batch, closed):
        self.pages, self.asked = 0, threading.Event()
        self._said = {"batch": batch.digest.hex(), "closed": closed, "count": 2**60}
        self._said |= {"digest": "00" * 32 if closed else "", "agreed": None}

    def reports(self, _name):
        return self._said

    def entries(self, _name, _after):
        self.pages += 1
        self.asked.set()
        return b"".join((self.pages * 256 + i).to_bytes(32, "big") + bytes(32) for i in range(256))


class Clock:
    """The time, put forward."""

    ahead = 0.0

    def monotonic(self):
        return time.monotonic() + self.ahead


@pytest.mark.parametrize("closed", [False, True])
def test_an_endless_list_holds_nothing_up_and_ends(tmp_path, monkeypatch, closed):
    with two(tmp_path, SMALL) as both:
        both.put(9)
        service = both.services[0]
        if closed:
            frozen(service)
        peer = service._peer = Endless(SMALL, closed)
        failures = []

        def attempt():
            try:
                frozen(service)
            except RefusedError as error:
                failures.append(error)

        clock = Clock()
        monkeypatch.setattr(agreement, "time", clock)
        thread = threading.Thread(target=attempt)
        thread.start()
        assert peer.asked.wait(PATIENCE)
        # Meanwhile all else goes on, and a second attempt waits for nothing.
        assert "comparing" in refused(503, service.freeze)
        assert service.status()["count"] == 9
        assert service.put(Arrival(*first_of(role=0, which=3))).result(PATIENCE) == 0
        assert service.end()["state"] == "ended"
        assert thread.is_alive()
        clock.ahead = agreement._LONGEST
        thread.join(PATIENCE)
        assert not thread.is_alive()
        assert "took longer than 300 seconds" in str(*failures)


def test_nothing_is_answered_before_both_agreed(both):
    both.put(9)
    assert "open" in refused(409, both.services[0].answer)
    assert frozen(both.services[0])["state"] == "closed"
    refused(409, both.services[0].answer)
    assert frozen(both.services[1])["state"] == "closed"
    for service in both.services:
        refused(409, service.answer)
    assert both.services[0].freeze()["state"] == "frozen"
    refused(409, both.services[1].answer)


def test_a_closed_batch_takes_no_reports_but_knows_its_own(both):
    both.put(9)
    ids, first, *_ = reports(SMALL, 40)
    service = both.services[0]
    frozen(service)
    assert service.put(Arrival(ids[0], first[0])).result(PATIENCE) == 0
    refused(409, service.put(Arrival(ids[9], first[9])).result, PATIENCE)
    assert service.status()["count"] == 9


def test_the_other_server_is_away_or_lies(both):
    both.put(9)
    frozen(both.services[0])
    both.peers[0].status = 503
    refused(503, both.services[0].freeze)
    both.peers[0].status = 401  # this server's own token is wrong: not the analyst's
    refused(502, both.services[0].freeze)
    both.peers[0].status = None
    frozen(both.services[1])
    lies = [{"batch": "00"}, {"digest": "00"}, {"digest": "00" * 32}, {"more": 1}, {"\ud800": 1}]
    lies += [{"count": 8}, {"count": 10}, {"count": 10**9}]
    for lie in lies:
        both.peers[0].lie = lie
        assert refused_any(both.services[0].freeze) in {409, 502, 503}
        assert both.services[0].status()["state"] == "closed"
    both.peers[0].lie = {"agreed": [9, "00" * 32, 0]}
    refused(409, both.services[0].freeze)
    both.peers[0].lie = {}
    both.freeze()


def refused_any(call):
    with pytest.raises(RefusedError) as caught:
        call()
    return caught.value.status


@pytest.mark.parametrize("when", ["open", "frozen", "answered"])
def test_a_batch_whose_secret_was_lost_is_never_answered(both, when):
    file = both.data(0) / "state.sqlite"
    assert file.stat().st_mode & 0o777 == 0o600
    both.put(9)
    if when != "open":
        both.freeze()
    if when == "answered":
        both.ask()
    both.services[0].close()
    changed_file(file, "UPDATE batch SET secret = NULL")
    for _ in range(2):
        with pytest.raises(StoreError, match="is damaged"):
            both.start(0)


def changed_file(file, change, *values):
    """Change a database that nobody uses."""
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("PRAGMA ignore_check_constraints = ON")
        database.execute(change, values)


@pytest.mark.parametrize("batch", [SMALL, WIDE])
def test_reports_are_deleted_when_the_final_sum_is_stored(tmp_path, batch):
    ids, *sent, _, _ = reports(batch, 40)
    texts = [secrets_of(batch, role, sent[role][:20]) for role in (0, 1)]
    with two(tmp_path, batch) as both:
        both.put(20, without=((4,), (5,)))
        for role in (0, 1):
            missing = {0: sent[0][4][:-64], 1: sent[1][5][:-64]}[role]
            found = left_of([one for one in texts[role] if len(one) > 32], both.data(role))
            assert set(found) == {one for one in texts[role] if len(one) > 32} - {missing}
        both.freeze()
        both.ask()
        for role in (0, 1):
            assert left_of(texts[role], both.data(role)) == []
        # A replay is still known.
        both.restart(0)
        assert both.services[0].put(Arrival(ids[0], sent[0][0])).result(PATIENCE) == 0


def test_sums_are_those_from_scratch_and_each_report_is_checked_once(tmp_path, monkeypatch):
    ids, first, *_ = reports(ROC, 40)
    rows, calls = rows_of(first), Counter()

    def checked(batch, role, some):
        assert len(some) <= 7
        calls.update(row.tobytes() for row in some)
        return shares.check_reports(batch, role, some)

    monkeypatch.setattr(expander, "check_reports", checked)
    monkeypatch.setattr(expander, "_MOST_REPORTS", 7)
    for stored in (0, 5, 17, 40):
        store = Store(tmp_path / "b", ROC, 0, bytes(32))
        store.add([Arrival(*one) for one in zip(ids[:stored], first, strict=False)])
        adding = expander.Expander(store, _raise)
        wait_for(lambda store=store, stored=stored: store.checked == stored)
        adding.close()
        assert (store.sums == shares.check_reports(ROC, 0, rows[:stored]).counts).all()
        store.close()
    assert set(calls.values()) == {1}
    assert len(calls) == 40
    store = Store(tmp_path / "b", ROC, 0, bytes(32))
    store.shut()
    store.propose(Agreement(37, bytes(32).hex()), [1, 14, 40])
    store.freeze(b"")
    adding = expander.Expander(store, _raise)
    wait_for(lambda: store.erased)
    adding.close()
    wanted = shares.check_reports(ROC, 0, np.delete(rows, [0, 13, 39], axis=0)).counts
    assert (store.sums == wanted).all()
    store.close()
    # Once more, to take off what is outside the set.
    assert {row.tobytes() for row in rows[[0, 13, 39]]} == {r for r, n in calls.items() if n == 2}
    assert sum(calls.values()) == 43


def _raise(error):
    raise error


def wait_for(condition):
    patience = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < patience
        time.sleep(0.005)


def test_a_damaged_sum_ends_the_answers(both, capfd):
    both.put(9)
    both.freeze()
    both.ask(role=1)
    wait_for(lambda: both.services[0]._store.erased)
    both.services[0].close()
    file = both.data(0) / "state.sqlite"
    changed_file(file, "UPDATE batch SET sums = zeroblob(length(sums))")
    assert file.name not in refused(500, both.start(0).answer)
    assert file.name in capfd.readouterr().err
    assert both.spent() == [0.0, 1.0]
    changed_file(
        both.services[1].close() or both.data(1) / file.name, "UPDATE batch SET sums = x''"
    )
    both.start(1)
    assert both.ask(role=1)  # a stored answer needs no sum


def test_damaged_reports_stop_the_server_and_are_named(both, capfd, monkeypatch):
    monkeypatch.setattr(expander.Expander, "_advance", lambda _: False)
    both.put(9)
    both.services[0].close()
    path = both.data(0) / "state.sqlite"
    changed_file(path, "UPDATE half SET content = zeroblob(length(content)) WHERE position = 9")
    monkeypatch.undo()
    service = both.start(0)
    wait_for(lambda: service._failure is not None)
    ids, first, *_ = reports(SMALL, 40)
    for call in (
        lambda: service.put(Arrival(ids[9], first[9])),
        service.freeze,
        service.answer,
    ):
        assert path.name not in refused(500, call)
    assert path.name in capfd.readouterr().err


def test_a_disk_that_fails_stops_the_server(both, monkeypatch, capfd):
    both.put(3)
    ids, first, *_ = reports(SMALL, 40)
    monkeypatch.setattr(Store, "_enter", _fail)
    refused(503, both.services[0].put(Arrival(ids[5], first[5])).result, PATIENCE)
    monkeypatch.undo()
    refused(500, both.services[0].put, Arrival(ids[6], first[6]))
    assert "cannot be written" in capfd.readouterr().err
    service = both.restart(0)
    assert service.status()["count"] == 3
    assert service.put(Arrival(ids[5], first[5])).result(PATIENCE) == 1


def test_reports_end_in_an_answer_whatever_fails(both, monkeypatch, capfd):
    ids, first, *_ = reports(SMALL, 40)
    service = both.services[0]
    monkeypatch.setattr(Store, "_enter", lambda *_: {}["a value that was sent"])
    refused(503, service.put(Arrival(ids[5], first[5])).result, PATIENCE)
    monkeypatch.undo()
    refused(500, service.put, Arrival(ids[6], first[6]))
    assert capfd.readouterr().err == "nolook: error: internal error in serve: KeyError\n"


def test_reports_of_a_server_that_has_stopped_are_refused(both):
    ids, first, *_ = reports(SMALL, 40)
    both.services[0].close()
    refused(503, both.services[0].put(Arrival(ids[5], first[5])).result, PATIENCE)


def _fail(*_):
    raise sqlite3.OperationalError("disk I/O error")


def test_a_server_goes_on_when_a_full_disk_has_room_again(both, capfd):
    """From the intake to the erased reports, wherever the disk is full, here by SQLite's limit."""
    both.put(9)
    ids, first, *_ = reports(SMALL, 40)
    service = both.services[0]
    wait_for(lambda: service._store.checked == 9)
    fill(service)
    more = [Arrival(ids[i], first[i]) for i in range(9, 40)] * 8
    refused(503, service.put(*more).result, PATIENCE)
    assert service.status()["count"] == 9
    said = capfd.readouterr().err
    assert "the disk is full" in said
    assert said.count("\n") == 1  # told once
    fill(service, full=False)
    assert service.put(*more).result(PATIENCE) == 31
    fill(service)
    wait_for(lambda: service._store.count == 40)
    fill(service, full=False)
    wait_for(lambda: service._store.checked == 40)
    both.freeze()
    assert both.ask()
    assert both.spent() == [1.0, 1.0]


def fill(service, *, full=True):
    """Leave no room in a server's file, or all it may want."""
    store = service._store
    count = store._one("PRAGMA page_count")
    store._rows(f"PRAGMA max_page_count = {count if full else 2**30}")


def test_an_answer_is_the_same_bytes_for_the_same_numbers():
    numbers = {"b": np.array([1, 2**64 - 1], dtype=np.uint64), "a": np.zeros(1, dtype=np.uint64)}
    content = encode(numbers, {"role": 0})
    assert content == encode(dict(reversed(numbers.items())), {"role": 0})
    found = json.loads(content)
    assert found["role"] == 0
    assert b64decode(found["answer"]["b"]) == b"\1" + bytes(7) + b"\xff" * 8
