"""Ledgers when processes die, disks fail, files are damaged: never overspent, never a free release.

Real processes on a faulty disk (`faulty_disk.c`), killed or failed at every operation that changes
a file; power failures at every such moment; damage of every byte; many processes at once against a
plain model.
"""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import signal
import sqlite3
import tempfile
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from nolook.errors import BudgetExceededError, LedgerError
from nolook.privacy.guarantee import Budget, GaussianEvent, PrivacyGuarantee
from nolook.privacy.ledger import Ledger, charge
from tests.privacy.ledger_processes import DIED, LONG, Processes, quick_folder
from tests.privacy.ledger_worker import COUNT, FAIL_ON, FAIL_ONCE, KILL, TEAR, fit_arguments
from tests.privacy.power_loss import Disk, moments, read_record, survivals

TEST = {"relation": "add-remove", "description": "test"}
STEPS = (
    ("create", 1.0),
    ("open",),
    ("reserve", 0.5),
    ("complete", 1),
    ("reserve", 0.25),
    ("refund", 2),
    ("reserve", 0.125),
    ("close",),
)


@pytest.fixture(scope="module")
def processes():
    started = Processes()
    yield started
    started.close()


@pytest.fixture
def folder():
    with quick_folder() as place:
        yield place


def on(path, step):
    name, *arguments = step
    return (name, path, *arguments)


def states(path):
    with Ledger(path) as ledger:
        entries = ledger.history()
        charged = sum(
            (Fraction(repr(e.cost.epsilon)) for e in entries if e.state != "refunded"), Fraction(0)
        )
        assert ledger.spent.epsilon == charged <= 1
        assert [e.cost.epsilon for e in entries] == [0.5, 0.25, 0.125][: len(entries)]
        return [entry.state for entry in entries]


#: What the entries may be after so many steps have ended and the next one may have begun.
AFTER = [
    [],
    ["reserved"],
    ["complete"],
    ["complete", "reserved"],
    ["complete", "refunded"],
    ["complete", "refunded", "reserved"],
]


def check_after(path, ended):
    """Check a ledger after the first steps have ended and something happened in the next one."""
    if not path.exists():
        assert ended == 0
        return False
    done = max(min(ended, 7) - 2, 0)
    assert states(path) in AFTER[done : done + 2]
    return True


def test_the_states_are_as_the_checks_assume(folder):
    path = folder / "a.ledger"
    with Ledger.create(path, Budget(1.0), name="x") as ledger:
        seen = [states(path)]
        first = ledger.reserve(Budget(0.5), **TEST)
        seen.append(states(path))
        first.complete()
        seen.append(states(path))
        second = ledger.reserve(Budget(0.25), **TEST)
        seen.append(states(path))
        second.refund("x")
        seen.append(states(path))
        ledger.reserve(Budget(0.125), **TEST)
        seen.append(states(path))
    assert seen == AFTER


def test_the_faulty_disk_sees_every_change(processes, folder):
    """Played back in full, the record gives the files as they are."""
    root = folder / "root"
    root.mkdir()
    worker = processes.start(root)
    worker.call("record", folder / "record")
    disk = Disk(root)
    for step in STEPS[:-1]:
        worker.call(*on(root / "a.ledger", step))
    record = list(read_record(folder / "record"))
    for operation in record:
        disk.do(*operation)
    disk.write(folder / "again", lambda: True)
    assert sorted(p.name for p in (folder / "again").iterdir()) == ["a.ledger"]
    assert (folder / "again" / "a.ledger").read_bytes() == (root / "a.ledger").read_bytes()
    worker.call("arm", 0, COUNT)
    worker.call("reserve", root / "a.ledger", 0.01)
    assert worker.call("done") == sum(o[0] != "!" for o in read_record(folder / "record")) - len(
        record
    )
    worker.leave()


@pytest.mark.parametrize("mode", [KILL, TEAR], ids=["before", "half done"])
def test_killed_at_every_write(processes, folder, mode):
    kills = 0
    while True:
        root = folder / str(kills)
        root.mkdir()
        path = root / "a.ledger"
        worker = processes.start(root)
        worker.call("arm", kills, mode)
        ended = 0
        while ended < len(STEPS) and worker.attempt(*on(path, STEPS[ended]))[0] != DIED:
            ended += 1
        there = check_after(path, ended)
        if ended == len(STEPS):
            break
        # Whoever comes next goes on with what is left.
        with (Ledger if there else partial_create)(path) as ledger:
            left = ledger.remaining.epsilon
            with pytest.raises(BudgetExceededError):
                ledger.reserve(Budget(left + 2.0**-20), **TEST)
            ledger.reserve(Budget(left), **TEST).complete()
            assert ledger.remaining.epsilon == 0.0
        assert not Path(f"{path}-journal").exists()
        kills += 1
    assert worker.call("done") == kills > 60
    worker.leave()


def partial_create(path):
    return Ledger.create(path, Budget(1.0), name="again")


def test_power_lost_at_every_write(processes, folder):
    root = folder / "root"
    root.mkdir()
    worker = processes.start(root)
    worker.call("record", folder / "record")
    worker.call("steps", [on(str(root / "a.ledger"), step) for step in STEPS])
    worker.leave()
    record = list(read_record(folder / "record"))
    chance = random.Random(1)
    lost = 0
    disk = Disk(root)
    stops = set(moments(record))
    ended = 0
    for done in range(len(record) + 1):
        if done in stops:
            for survives in survivals(chance, 60 if LONG else 3):
                with tempfile.TemporaryDirectory(dir=folder) as place:
                    disk.write(Path(place), survives)
                    check_after(Path(place) / "a.ledger", ended)
                    lost += 1
        if done < len(record):
            ended += record[done][0] == "!"
            disk.do(*record[done])
    assert ended == len(STEPS)
    assert lost > 300


@pytest.mark.parametrize(
    ("mode", "number"),
    [
        pytest.param(FAIL_ONCE, errno.ENOSPC, id="full once"),
        pytest.param(FAIL_ON, errno.EIO, id="failing from then on"),
        pytest.param(FAIL_ON, errno.ENOSPC, id="full from then on", marks=pytest.mark.slow),
        pytest.param(FAIL_ONCE, errno.EIO, id="failing once", marks=pytest.mark.slow),
    ],
)
def test_a_disk_that_fails_at_every_write(processes, folder, mode, number):
    failures = 0
    while True:
        root = folder / str(failures)
        root.mkdir()
        path = root / "a.ledger"
        Ledger.create(path, Budget(1.0), name="x").close()
        worker = processes.start(root)
        worker.call("open", path)
        worker.call("arm", failures, mode, number)
        granted = {}
        for name, value in [("reserve", 0.5), ("complete", 1), ("reserve", 0.25)]:
            kind, answer = worker.attempt(name, path, value)
            if kind != "ok":
                assert kind == "LedgerError"
                assert "cannot be" in answer
                break
            granted[answer or value] = "reserved" if answer else "complete"
        with Ledger(path) as ledger:
            found = {entry.id: entry.state for entry in ledger.history()}
        assert granted.items() <= found.items() or granted == {1: "reserved"}
        assert len(found) <= len(granted) + 1
        happened = worker.call("done")
        # The same process goes on when there is room again, and so does every other.
        worker.call("arm", -1, COUNT)
        left = worker.call("remaining", path)
        entry = worker.call("reserve", path, left)
        worker.call("complete", path, entry)
        with Ledger(path) as ledger:
            assert ledger.remaining.epsilon == 0.0
            assert set(granted) <= {e.id for e in ledger.history()}
        worker.leave()
        if kind == "ok" and happened <= failures:
            break
        failures += 1
    assert failures > 40


def damage(content, chance):
    """Yield damaged versions of a file: bits, pages and ends."""
    pages = range(0, len(content), 4096)
    for place in range(len(content)) if LONG else chance.sample(range(len(content)), 400):
        bit = 1 << chance.randrange(8)
        yield content[:place] + bytes([content[place] ^ bit]) + content[place + 1 :]
    # Where it matters most: the file's head, and all that is not empty.
    used = [place for place in range(len(content)) if content[place]]
    for place in used if LONG else {*range(100), *chance.sample(used, min(len(used), 600))}:
        yield content[:place] + bytes([chance.randrange(256)]) + content[place + 1 :]
    for start in pages:
        for noise in (chance.randbytes(4096), bytes(4096), b"\xff" * 4096):
            yield content[:start] + noise + content[start + 4096 :]
        yield content[:start]
        yield content[:start] + content[start + 4096 :]
    for _ in range(500 if LONG else 50):
        yield content[: chance.randrange(len(content))]
        length = chance.randrange(2, 600)
        place = chance.randrange(len(content) - length)
        yield content[:place] + chance.randbytes(length) + content[place + length :]
        yield content + chance.randbytes(length)


def everything(ledger):
    return ledger.name, ledger.budget, ledger.relation, ledger.history()


def seen(path):
    with Ledger(path) as ledger:
        return everything(ledger)


def check_damaged(path, allowed):
    """Check that a damaged ledger is refused, or says what it said; return whether it was."""
    try:
        with Ledger(path) as ledger:
            found = everything(ledger)
            assert found in allowed
            made = ledger.reserve(Budget(0.01), **TEST)
            assert ledger.history()[: len(found[3])] == found[3]
    except LedgerError as error:
        return "\n" not in str(error)
    assert seen(path)[3][made._entry - 1].cost == Budget(0.01)
    return False


def test_damage_is_refused_or_changes_nothing(folder):
    path = folder / "a.ledger"
    with Ledger.create(path, Budget(3.0, 1e-5), name="people") as ledger:
        for number in range(12):
            made = ledger.reserve(
                Budget(0.1, 1e-7), relation="add-remove", description=f"release {number} " * 40
            )
            (made.complete, lambda made=made: made.refund("stopped"), int)[number % 3]()
    before, content = seen(path), path.read_bytes()
    assert len(content) >= 4 * 4096
    refused = kept = 0
    for broken in damage(content, random.Random(2)):
        path.write_bytes(broken)
        if check_damaged(path, [before]):
            refused += 1
        else:
            kept += 1
        Path(f"{path}-journal").unlink(missing_ok=True)
    assert refused > 500
    assert kept > 50  # damage of empty space


def test_a_damaged_or_missing_journal_is_noticed(processes, folder):
    """A journal is what takes back half a change; without it the half must not count."""
    refused = checked = 0
    for kills in range(100):
        root = folder / str(kills)
        root.mkdir()
        path = root / "a.ledger"
        with Ledger.create(path, Budget(1.0), name="x") as ledger:
            ledger.reserve(Budget(0.5), **TEST).complete()
        before = seen(path)
        worker = processes.start(root)
        worker.call("open", path)
        worker.call("arm", kills, KILL)
        if worker.attempt("reserve", path, 0.25, "again")[0] != DIED:
            break
        journal = Path(f"{path}-journal")
        if not journal.exists():
            continue
        file, content = path.read_bytes(), journal.read_bytes()
        chance = random.Random(kills)
        broken = [None, b"", *damage(content, chance)] if len(content) > 600 else [None, b""]
        for version in chance.sample(broken, min(len(broken), 2000 if LONG else 40)):
            path.write_bytes(file)
            journal.unlink(missing_ok=True)
            if version is not None:
                journal.write_bytes(version)
            checked += 1
            try:
                with Ledger(path) as ledger:
                    found = everything(ledger)
            except LedgerError:
                refused += 1
                continue
            # Whole as before, or with the whole charge although nobody was told of it.
            assert found[:3] == before[:3]
            assert found[3][:1] == before[3]
            assert [(e.cost, e.state) for e in found[3][1:]] in [[], [(Budget(0.25), "reserved")]]
    worker.leave()
    assert checked > 100
    assert 0 < refused < checked


def guarantee(epsilon):
    return PrivacyGuarantee(epsilon, 0.0, "add-remove", (GaussianEvent("x", 0.1),), private=True)


def with_older_copy(folder):
    path = folder / "a.ledger"
    Ledger.create(path, Budget(1.0), name="x").close()
    copy = folder / "copy"
    shutil.copyfile(path, copy)
    return path, copy


@pytest.mark.parametrize("how", [os.replace, shutil.copyfile], ids=["renamed", "overwritten"])
@pytest.mark.parametrize("reads", [True, False])
def test_an_older_copy_put_back_while_open_is_refused(folder, how, reads):
    path, copy = with_older_copy(folder)
    with Ledger(path) as ledger:
        ledger.reserve(Budget(0.7), **TEST).complete()
        how(copy, path)
        if reads and how is shutil.copyfile:
            with pytest.raises(LedgerError, match="older copy"):
                ledger.remaining  # noqa: B018 -- reading it is the test
        for _ in range(2):
            with pytest.raises(LedgerError, match=r"older copy|replaced|damaged") as caught:
                ledger.reserve(Budget(0.7), **TEST)
            assert not isinstance(caught.value, BudgetExceededError)


@pytest.mark.parametrize("others", [0, 1, 2], ids=["alone", "as many changes", "more changes"])
@pytest.mark.parametrize("reads", [True, False])
def test_an_older_copy_is_refused_right_after_the_charge_that_it_lacks(folder, others, reads):
    path, copy = with_older_copy(folder)
    with Ledger(path) as ledger:
        ledger.reserve(Budget(0.7), **TEST)
        shutil.copyfile(copy, path)
        for _ in range(others):
            with Ledger(path) as other:  # a connection of its own, as another process has
                other.reserve(Budget(0.1), **TEST)
        with pytest.raises(LedgerError, match="older copy"):
            _ = ledger.remaining if reads else ledger.reserve(Budget(0.2), **TEST)
    assert len(seen(path)[3]) == others


def test_charges_of_others_are_no_older_copy(folder):
    path, _ = with_older_copy(folder)
    with Ledger(path) as ledger:
        for number in range(1, 4):
            ledger.reserve(Budget(0.1), **TEST).complete()
            with Ledger(path) as other:
                other.reserve(Budget(0.1), **TEST).refund("stopped")
            assert len(ledger.history()) == 2 * number


@pytest.mark.parametrize(
    "change",
    [
        "PRAGMA journal_mode = wal",
        "PRAGMA user_version = 2",
        "CREATE TRIGGER t AFTER INSERT ON release BEGIN DELETE FROM release; END",
        "CREATE TABLE other (id)",
    ],
)
@pytest.mark.parametrize("reads", [True, False])
def test_another_kind_of_file_is_refused_while_open(folder, change, reads):
    path, _ = with_older_copy(folder)
    with Ledger(path) as ledger:
        ledger.reserve(Budget(0.5), **TEST)
        with closing(sqlite3.connect(path, isolation_level=None)) as side:
            side.execute(change)
            for _ in range(2):
                with pytest.raises(LedgerError, match=r"damaged|version"):
                    _ = ledger.remaining if reads else ledger.reserve(Budget(0.2), **TEST)
            assert side.execute("SELECT count(*) FROM release").fetchone() == (1,)


@pytest.mark.parametrize("how", ["removed", "renamed", "replaced", "link turned"])
def test_a_release_is_withheld_if_its_ledger_goes_away(folder, how):
    path, copy = with_older_copy(folder)
    if how == "link turned":
        path.rename(folder / "real")
        path.symlink_to("real")
    delivered = []
    with Ledger(path) as ledger:
        with pytest.raises(LedgerError, match=r"moved or replaced|cannot be opened"):  # noqa: PT012
            with charge(ledger, guarantee(0.5), "x"):
                if how in {"removed", "link turned"}:
                    path.unlink()
                elif how == "renamed":
                    path.rename(folder / "elsewhere")
                else:
                    copy.replace(path)
                if how == "link turned":
                    path.symlink_to(copy)
            delivered.append("release")
        with pytest.raises(LedgerError), charge(ledger, guarantee(0.1), "x"):
            delivered.append("another")
    assert not delivered


def test_an_older_copy_put_back_between_uses_is_not_noticed(folder):
    """The documented limit: nothing outside the file says what was in it."""
    path, copy = with_older_copy(folder)
    with Ledger(path) as ledger:
        ledger.reserve(Budget(0.7), **TEST).complete()
    copy.replace(path)
    with Ledger(path) as ledger:
        assert ledger.remaining.epsilon == 1.0


def test_a_copy_made_at_any_time_is_whole_or_refused(processes, folder):
    """Copies of the file alone, as a backup makes them, while another process writes."""
    path = folder / "a.ledger"
    Ledger.create(path, Budget(1.0), name="x").close()
    worker = processes.start(folder)
    worker.call("open", path)
    whole = 0
    for number in range(1, 21):
        worker.send("reserve", path, 0.01)
        for copy in (folder / f"{number}.{i}" for i in range(5)):
            shutil.copyfile(path, copy)
            try:
                with Ledger(copy) as ledger:
                    found = len(ledger.history())
            except LedgerError:
                continue
            assert number - 1 <= found <= number
            whole += 1
        worker.receive()
    worker.leave()
    assert whole > 20


@pytest.mark.parametrize("seconds", [-(10**9), 10**9, -(10**10)])
def test_a_clock_set_back_changes_no_sum(processes, folder, seconds):
    path = folder / "a.ledger"
    worker = processes.start(folder)
    worker.call("create", path, 1.0)
    worker.call("open", path)
    assert worker.call("reserve", path, 0.5) == 1
    worker.call("clock", seconds)
    assert worker.call("reserve", path, 0.25) == 2
    worker.call("complete", path, 1)
    assert worker.attempt("reserve", path, 0.5)[0] == "BudgetExceededError"
    with Ledger(path) as ledger:
        first, second = ledger.history()
    assert (first.state, second.state) == ("complete", "reserved")
    assert (first.time < second.time) == (seconds > 0)
    worker.leave()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("writable", [True, False], ids=["folder", "nothing"])
@pytest.mark.parametrize("killed", [False, True], ids=["whole", "with a journal"])
def test_a_ledger_one_may_only_read(processes, folder, writable, killed):
    path, _ = with_older_copy(folder)
    whole = path.read_bytes()
    for at in range(100) if killed else ():
        victim = processes.start(folder)
        victim.call("open", path)
        victim.call("arm", at, KILL)
        assert victim.attempt("reserve", path, 0.5)[0] == DIED
        if path.read_bytes() != whole:  # half of the change is in the file
            break
        Path(f"{path}-journal").unlink(missing_ok=True)
    path.chmod(0o444)
    folder.chmod(0o777 if writable else 0o555)
    worker = processes.start(folder)
    worker.call("become", 65534)
    before = path.read_bytes()
    if killed:
        assert worker.attempt("open", path)[0] == "LedgerError"
    else:
        worker.call("open", path)
        assert worker.call("remaining", path) == 1.0
        kind, message = worker.attempt("reserve", path, 0.5)
        assert kind == "LedgerError"
        assert "may write to" in message
    assert path.read_bytes() == before
    worker.leave()
    assert states(path) == []


def test_a_release_that_is_paid_for_is_delivered_though_its_mark_fails(folder, monkeypatch):
    path = folder / "a.ledger"
    delivered = []
    with Ledger.create(path, Budget(1.0), name="x") as ledger:
        with charge(ledger, guarantee(0.5), "x"):
            ledger._file.database.execute("PRAGMA query_only = ON")
        delivered.append("release")
        assert ledger.history()[0].state == "reserved"
        assert ledger.remaining.epsilon == 0.5
    assert delivered


class Machine(RuleBasedStateMachine):
    """Several processes and a plain list: after anything, the file says what the list says."""

    budget = Fraction(2)
    processes: Processes
    # Who wins a race is chance: what is drawn does not depend on it.
    any_number = st.integers(0, 99)

    def __init__(self):
        super().__init__()
        self.place = quick_folder()
        self.folder = self.place.__enter__()
        self.path = self.folder / "a.ledger"
        Ledger.create(self.path, Budget(2.0), name="people").close()
        self.workers = []
        self.entries = []  # [cost, state, worker]
        self.start()

    def teardown(self):
        for worker in self.workers:
            worker.leave()
        self.place.__exit__(None, None, None)

    def charged(self):
        return sum((Fraction(c) for c, s, _ in self.entries if s != "refunded"), Fraction(0))

    def found(self):
        with Ledger(self.path) as ledger:
            entries = ledger.history()
            assert ledger.remaining.epsilon >= 0.0
        return [(repr(e.cost.epsilon), e.state) for e in entries]

    def listed(self):
        return [(cost, state) for cost, state, _ in self.entries]

    def kill_one(self, worker):
        worker.kill()
        self.bury(worker)

    def bury(self, worker):
        self.workers.remove(worker)
        if not self.workers:
            self.start()

    @rule()
    def start(self):
        if len(self.workers) == 4:
            return
        worker = self.processes.start(self.folder)
        worker.call("open", self.path)
        self.workers.append(worker)

    def worker(self, which):
        return self.workers[which % len(self.workers)]

    @rule(which=any_number, cost=st.sampled_from(["0.1", "0.3", "0.25", "1.0", "1.9", "1e-12"]))
    def reserve(self, which, cost):
        worker = self.worker(which)
        kind, entry = worker.attempt("reserve", self.path, float(cost))
        if self.charged() + Fraction(cost) > self.budget:
            assert kind == "BudgetExceededError"
        else:
            assert kind == "ok"
            self.entries.append([cost, "reserved", worker])
            assert entry == len(self.entries)

    def settleable(self, which):
        mine = [
            number
            for number, (_, _, worker) in enumerate(self.entries, 1)
            if worker in self.workers
        ]
        return mine[which % len(mine)] if mine else None

    @rule(which=any_number, name=st.sampled_from(["complete", "refund"]))
    def finish_first_pass(self, which, name):
        number = self.settleable(which)
        if number is None:
            return
        entry = self.entries[number - 1]
        kind, answer = entry[2].attempt(name, self.path, number)
        if entry[1] == "reserved":
            assert kind == "ok"
            entry[1] = {"refund": "refunded", "complete": "complete"}[name]
        else:
            assert kind == "LedgerError"
            assert "settled" in answer

    faults = st.one_of(
        st.tuples(st.just(KILL) | st.just(TEAR), st.just(0)),
        st.tuples(
            st.just(FAIL_ONCE) | st.just(FAIL_ON), st.sampled_from([errno.ENOSPC, errno.EIO])
        ),
    )

    @rule(which=any_number, at=st.integers(0, 20), fault=faults)
    def reserve_on_a_faulty_disk(self, which, at, fault):
        worker = self.worker(which)
        worker.call("arm", at, *fault)
        new = ("0.2", "reserved")
        allowed = [self.listed(), [*self.listed(), new]]
        kind, _ = worker.attempt("reserve", self.path, 0.2)
        if self.charged() + Fraction("0.2") > self.budget:
            assert kind != "ok"
            del allowed[1]
        elif kind == "ok":
            del allowed[0]
        assert kind != "BudgetExceededError" or len(allowed) == 1
        if kind == DIED:
            self.bury(worker)
        found = self.found()
        assert found in allowed
        if len(found) > len(self.entries):
            self.entries.append([*new, None])
            assert self.charged() <= self.budget
        if worker in self.workers:
            worker.call("arm", -1, COUNT)

    @rule(which=any_number, at=st.integers(0, 20), fault=faults)
    def complete_on_a_faulty_disk(self, which, at, fault):
        number = self.settleable(which)
        if number is None or self.entries[number - 1][1] != "reserved":
            return
        entry = self.entries[number - 1]
        worker = entry[2]
        worker.call("arm", at, *fault)
        kind, _ = worker.attempt("complete", self.path, number)
        assert kind in {"ok", "LedgerError", DIED}
        if kind == DIED:
            self.bury(worker)
        entry[1] = self.found()[number - 1][1]
        assert entry[1] == "complete" or (entry[1] == "reserved" and kind != "ok")
        if worker in self.workers:
            worker.call("arm", -1, COUNT)

    @rule(which=any_number)
    def kill(self, which):
        self.kill_one(self.worker(which))

    @rule(which=any_number, seconds=st.integers(-(10**9), 10**9))
    def set_clock(self, which, seconds):
        self.worker(which).call("clock", seconds)

    @rule(which=any_number)
    def open_again(self, which):
        worker = self.worker(which)
        worker.call("close", self.path)
        worker.call("open", self.path)
        self.entries = [
            [cost, state, None if owner is worker else owner] for cost, state, owner in self.entries
        ]

    @rule(
        costs=st.lists(st.sampled_from(["0.1", "0.4", "0.7"]), min_size=2, max_size=4),
        killed=st.booleans(),
    )
    def race(self, costs, killed):
        while len(self.workers) < len(costs):
            self.start()
        runners = list(zip(self.workers, costs, strict=False))
        for worker, cost in runners:
            worker.send("reserve", self.path, float(cost))
        if killed:
            os.kill(runners[0][0].pid, signal.SIGKILL)
        granted, refused, unknown = {}, [], []
        for worker, cost in runners:
            kind, answer = worker.receive()
            if kind == "ok":
                granted[answer] = (cost, worker)
            elif kind == DIED:
                unknown.append(cost)
            else:
                assert kind == "BudgetExceededError"
                refused.append(cost)
        if killed:
            self.kill_one(runners[0][0])
        new = self.found()[len(self.entries) :]
        for number, (cost, state) in enumerate(new, len(self.entries) + 1):
            expected, worker = granted.pop(number, (None, None))
            if expected is None:
                unknown.remove(cost)
            assert expected in {None, cost}
            assert state == "reserved"
            self.entries.append([cost, state, worker])
        assert not granted
        assert all(self.charged() + Fraction(cost) > self.budget for cost in refused)

    @invariant()
    def the_file_says_what_the_list_says(self):
        assert self.found() == self.listed()
        assert self.charged() <= self.budget


def test_many_processes_and_a_plain_list(processes):
    class Bound(Machine):
        pass

    Bound.processes = processes
    case = Bound.TestCase
    case.settings = settings(
        max_examples=300 if LONG else 8,
        stateful_step_count=50 if LONG else 25,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    case().runTest()


@pytest.fixture(scope="module")
def programs():
    started = Processes(program=True)
    yield started
    started.close()


def run_fit(programs, root, at, mode, number=0):
    """Run the command line's fit with a fault; return whether it lived, and its status."""
    root.mkdir()
    arguments = fit_arguments(root)
    worker = programs.start(root)
    worker.call("arm", at, mode, number)
    printed = root.parent / f"{root.name}.txt"
    kind, status = worker.attempt("command_line", arguments, printed)
    done = worker.call("done") if kind == "ok" else None
    worker.leave()
    return status, done, printed.read_text()


def check_fit(root, status, printed):
    """Check that nothing was delivered, not even in part, that was not charged."""
    with Ledger(root / "a.ledger") as ledger:
        entries = ledger.history()
        assert ledger.spent.epsilon == len(entries) <= 1
    delivered = [
        p for p in root.iterdir() if not p.name.startswith("a.ledger") and p.stat().st_size
    ]
    if status not in {0, None}:
        assert printed.count("\n") <= 1
        assert "Traceback" not in printed
    if delivered or (printed and not status):
        assert [entry.state for entry in entries] in [["complete"], ["reserved"]]
    if (root / "m.json").exists():
        json.loads((root / "m.json").read_text())
    if status == 0:
        assert {p.name for p in delivered} == {"m.json", "r.html"}
        assert "income" in printed
    return len(entries)


MODES = [pytest.param(mode, marks=pytest.mark.slow) for mode in (KILL, FAIL_ONCE, FAIL_ON)]


@pytest.mark.parametrize("mode", [TEAR, *MODES])
def test_a_fit_that_dies_or_fails_at_every_write(programs, folder, mode):
    number = errno.ENOSPC if mode in {FAIL_ONCE, FAIL_ON} else 0
    status, total, printed = run_fit(programs, folder / "whole", -1, COUNT)
    assert status == 0
    assert check_fit(folder / "whole", status, printed) == 1
    assert total > 50
    counts = set()
    step = 1 if LONG or mode == KILL else 6 if mode == TEAR else 3
    for at in range(mode % step, total, step):
        root = folder / str(at)
        status, _, printed = run_fit(programs, root, at, mode, number)
        assert (status is None) == (mode in {KILL, TEAR})
        counts.add(check_fit(root, status, printed))
        shutil.rmtree(root)
    assert counts == {0, 1}
