"""A batch's store: states, replays, agreements, files of other batches, damage."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from nolook.federated.failures import RefusedError, StoreError
from nolook.federated.point_functions import Checked
from nolook.federated.server.store import Agreement, Arrival, Store
from nolook.federated.shares import check_reports
from tests.federated.made import ROC, SMALL, left_of, reports, rows_of

IDS, FIRST, SECOND, *_ = reports(SMALL, 20)
SECRET = bytes(range(32))


def opened(folder, batch=SMALL, role=0, secret=SECRET):
    return Store(folder, batch, role, secret)


@pytest.fixture
def store(tmp_path):
    made = opened(tmp_path / "b")
    yield made
    made.close()


def put(store, *which):
    return store.add([Arrival(IDS[i], FIRST[i]) for i in which])


def read(store, after=0, last=100, most=100, **named):
    """Return reports as bytes."""
    blocks = list(store.halves(after, last, most, **named))
    assert all(0 < len(block) <= most for block in blocks)
    return [row.tobytes() for block in blocks for row in block]


def check_all(store):
    """Check the reports that were not."""
    for block in store.halves(store.checked, store.count, 3):
        store.add_checked(check_reports(SMALL, 0, block))


def propose(store, *inside, rejected=0):
    """Propose the set of some reports; return what it is."""
    both = b"".join(sorted(IDS[i] for i in inside))
    agreement = Agreement(len(inside), hashlib.sha256(both).hexdigest(), rejected)
    check_all(store)
    names = {IDS[i] for i in inside}
    store.propose(
        agreement, [at for entry, at in store.entries(b"", 100) if entry[:32] not in names]
    )
    return agreement


def refusal(call, *arguments):
    with pytest.raises(RefusedError) as caught:
        call(*arguments)
    return caught.value


def again(store, folder):
    store.close()
    return opened(folder)


def test_a_report_is_stored_once(store, tmp_path):
    assert put(store, 0, 1, 0) == [True, True, False]
    assert put(store, 1, 2) == [False, True]
    store = again(store, tmp_path / "b")
    assert put(store, 0, 2) == [False, False]
    assert store.count == 3
    assert read(store) == FIRST[:3]
    store.close()


def test_late_reports_are_refused_and_replays_are_not(store):
    put(store, 0)
    store.shut()
    known, late = put(store, 0, 1)
    assert known is False
    assert isinstance(late, RefusedError)
    assert late.status == 409
    assert store.count == 1
    assert store.state == "closed"


def test_states_go_one_way(store, tmp_path):
    put(store, *range(6))
    for step in (store.freeze, store.keep_answer):
        step(b"x")
        assert store.state == "open"
    store.shut()
    propose(store, *range(6))
    store.freeze(b"x")
    store.shut()
    assert store.state == "frozen"
    store.keep_answer(b"1")
    store.freeze(b"z")
    assert store.state == "answered"
    assert not store.erased
    store.finish(store.sums)
    store = again(store, tmp_path / "b")
    assert store.erased
    assert store.state == "answered"
    assert store.answer == b"1"
    store.keep_answer(b"2")
    assert store.answer == b"1"
    store.check_noise(b"x")
    assert isinstance(refusal(store.check_noise, b"y"), RefusedError)
    store.end()
    for step in (store.freeze, store.keep_answer):
        step(b"x")
    store.shut()
    store = again(store, tmp_path / "b")
    assert (store.state, store.answer) == ("ended", b"1")
    store.close()


def test_an_agreement_tells_who_is_outside(store, tmp_path):
    put(store, *range(6))
    store.shut()
    assert store.agreed is None
    for _ in range(2):
        propose(store, 1, 4)
        agreement = propose(store, 0, 2, 3, 5, rejected=1)
        assert store.agreed == agreement
        assert (
            read(store, outside=True) == read(store, most=1, outside=True) == [FIRST[1], FIRST[4]]
        )
        store = again(store, tmp_path / "b")
    store.close()


def test_ids_are_listed_in_pages(store):
    put(store, *range(10))
    check_all(store)
    listed, after = [], b""
    while page := store.entries(after, 3):
        assert len(page) <= 3
        listed += page
        after = page[-1][0][:32]
    messages = check_reports(SMALL, 0, rows_of(FIRST[:10])).messages
    wanted = [(IDS[i] + messages[i].tobytes(), i + 1) for i in range(10)]
    assert listed == sorted(wanted)


def test_files_of_another_batch_role_or_program_are_refused(store, tmp_path):
    put(store, 0)
    store.close()
    for batch, role in ((ROC, 0), (SMALL, 1)):
        with pytest.raises(StoreError, match="another batch or role"):
            opened(tmp_path / "b", batch, role)
    other = tmp_path / "other"
    other.mkdir()
    with sqlite3.connect(other / "state.sqlite") as database:
        database.execute("CREATE TABLE x (y)")
    database.close()
    with pytest.raises(StoreError, match="damaged, or another nolook"):
        opened(other)


def test_two_servers_never_share_a_folder(store, tmp_path):
    with pytest.raises(StoreError, match="in use by another server"):
        opened(tmp_path / "b")


def test_the_first_secret_stays(store, tmp_path):
    store.close()
    store = opened(tmp_path / "b", secret=bytes(32))
    assert store.secret == SECRET
    store.close()


def test_damage_is_one_line_that_names_the_file(store, tmp_path):
    put(store, *range(8))
    store.close()
    place = tmp_path / "b" / "state.sqlite"
    whole = place.read_bytes()
    for content in (b"nothing", whole[: len(whole) // 2], bytes(len(whole))):
        place.write_bytes(content)
        with pytest.raises(StoreError, match=r"state\.sqlite") as caught:
            opened(tmp_path / "b")
        assert "\n" not in str(caught.value)


def changed(store, folder, *changes):
    """Change a store's database while nobody uses it, and open it again."""
    store.close()
    with closing(sqlite3.connect(folder / "state.sqlite")) as database, database:
        for change in changes:
            database.execute(change)
    return opened(folder)


@pytest.mark.parametrize(
    "change",
    [
        ["UPDATE half SET position = -position", "UPDATE half SET position = 3 + position"],
        ["DELETE FROM half WHERE position = 1"],
        ["DELETE FROM half WHERE position = 2"],
        ["UPDATE half SET content = substr(content, 2)"],
    ],
)
def test_reports_that_are_not_those_accepted_are_damage(store, tmp_path, change):
    """Each half has the right checksum; the id tells which one was accepted here."""
    put(store, 0, 1)
    store = changed(store, tmp_path / "b", *change)
    with pytest.raises(StoreError, match="lost accepted reports"):
        read(store)
    store.close()


def test_a_changed_byte_of_a_report_is_found(store, tmp_path):
    put(store, *range(5))
    store.close()
    place = tmp_path / "b" / "state.sqlite"
    whole = place.read_bytes()
    start = whole.index(FIRST[2])
    for at in range(start, start + len(FIRST[2]), 5):
        place.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        store = opened(tmp_path / "b")
        with pytest.raises(StoreError, match=r"state\.sqlite"):
            read(store)
        store.close()


def test_reports_to_the_other_server_are_damage(store):
    """The file is trusted for nothing: every report is checked as one that arrives is."""
    store.add([Arrival(IDS[0], SECOND[0])])
    with pytest.raises(StoreError, match="lost accepted reports"):
        read(store)


@pytest.mark.parametrize("most", [1, 3, 100])
def test_reports_come_back_in_blocks(store, tmp_path, most):
    put(store, *range(7))
    store = again(store, tmp_path / "b")
    for after in range(8):
        for last in range(8):
            assert read(store, after, last, most) == FIRST[after:last]
    store.close()


@pytest.mark.parametrize("how", ["finish", "end"])
def test_what_is_deleted_leaves_the_file(store, tmp_path, how):
    chance = np.random.default_rng(1)
    arrivals = [Arrival(chance.bytes(32), chance.bytes(500)) for _ in range(2000)]
    assert all(store.add(arrivals))
    messages = chance.integers(0, 256, (2000, 32), dtype=np.uint8)
    sums = chance.integers(0, 2**63, (1, 8), dtype=np.uint64)
    store.add_checked(Checked(messages, sums))
    gone = [one.report for one in arrivals[::250]] + [one.tobytes() for one in messages[::250]]
    assert len(left_of(gone, tmp_path)) == len(gone)
    if how == "end":
        gone += [SECRET, sums.tobytes()]
        store.end()
    else:
        store.finish(sums)
        store.shrink()
    assert left_of(gone, tmp_path) == []
    assert (tmp_path / "b" / "state.sqlite").stat().st_size < 2000 * 200


def test_a_secret_a_sum_or_a_row_that_was_lost_is_damage(store, tmp_path):
    put(store, 0, 1, 2)
    store = changed(store, tmp_path / "b", "UPDATE batch SET sums = substr(sums, 2)")
    with pytest.raises(StoreError, match="the sum of its reports is lost"):
        _ = store.sums
    lost = ["PRAGMA ignore_check_constraints = ON", "UPDATE batch SET secret = NULL"]
    with pytest.raises(StoreError, match="damaged"):
        changed(store, tmp_path / "b", *lost)
    lost = ["UPDATE batch SET secret = zeroblob(32)", "DELETE FROM report WHERE position = 2"]
    with pytest.raises(StoreError, match="damaged; it lost accepted reports"):
        changed(store, tmp_path / "b", *lost)


def test_a_token_sends_no_more_than_it_may_and_replays_are_not_counted(store, tmp_path):
    def send(which, token, most):
        return store.add([Arrival(IDS[i], FIRST[i], token, most) for i in which])

    assert send([0, 0, 1], b"a", 2) == [True, False, True]
    for _ in range(2):
        known, late = send([1, 2], b"a", 2)
        assert known is False
        assert (late.status, "all the reports it may" in str(late)) == (403, True)
        store = again(store, tmp_path / "b")
    once = send([3, 4], b"b", 1)
    assert once[0] is True
    assert once[1].status == 403
    # What was refused may come with another token; without a limit all may come.
    assert send([2], b"c", 1) == [True]
    assert send([4, 5], b"d", None) == [True, True]
    store.close()
