"""A batch's store: states, replays, agreements, files of other batches, damage."""

from __future__ import annotations

import hashlib
import sqlite3

import numpy as np
import pytest

from nolook.federated.failures import RefusedError, StoreError
from nolook.federated.server.store import Agreement, Arrival, Store
from tests.federated.made import ROC, SMALL, reports

IDS, FIRST, *_ = reports(SMALL, 20)
SECRET = bytes(range(32))


def opened(folder, batch=SMALL, role=0, secret=SECRET):
    return Store(folder, batch, role, secret, largest_file=1000)


@pytest.fixture
def store(tmp_path):
    made = opened(tmp_path / "b")
    yield made
    made.close()


def put(store, *which):
    return store.add([Arrival(IDS[i], FIRST[i]) for i in which])


def rows(store):
    return store.rows_by_id(b"", 100)


def ids(store):
    return b"".join(row[0] for row in rows(store))


def propose(store, *inside, rejected=0):
    """Propose the set of some reports; return what it is."""
    both = b"".join(sorted(IDS[i] for i in inside))
    agreement = Agreement(len(inside), hashlib.sha256(both).digest(), rejected)
    outside = [row[1] for row in rows(store) if row[0] not in {IDS[i] for i in inside}]
    store.propose(agreement, np.array(outside, dtype=np.int64))
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
    assert store.read(0, 3).tobytes() == b"".join(FIRST[:3])
    assert ids(store) == b"".join(sorted(IDS[:3]))
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
    for step in (lambda: store.freeze(b"x"), store.drop_reports):
        step()
        assert store.state == "open"
    assert not store.summed
    store.shut()
    propose(store, *range(6))
    store.freeze(b"x")
    store.shut()
    assert store.state == "frozen"
    store.keep_answer(b"1")
    store.freeze(b"z")
    assert store.state == "answered"
    store.drop_reports()
    store = again(store, tmp_path / "b")
    assert store.summed
    assert store.state == "answered"
    assert store.answer == b"1"
    store.keep_answer(b"2")
    assert store.answer == b"1"
    store.check_noise(b"x")
    assert isinstance(refusal(store.check_noise, b"y"), RefusedError)
    store.retire()
    store.freeze(b"x")
    store.shut()
    assert again(store, tmp_path / "b").state == "retired"


def test_an_agreement_tells_who_is_outside(store, tmp_path):
    put(store, *range(6))
    store.shut()
    assert store.agreed is None
    for _ in range(2):
        propose(store, 1, 4)
        agreement = propose(store, 0, 2, 3, 5, rejected=1)
        assert store.agreed == agreement
        assert store.outside().tolist() == [1, 4]
        store = again(store, tmp_path / "b")
    store.close()


def test_ids_are_listed_in_pages(store):
    put(store, *range(10))
    listed, after = [], b""
    while page := store.rows_by_id(after, 3):
        assert len(page) <= 3
        listed += page
        after = page[-1][0]
    assert listed == sorted((IDS[i], i) for i in range(10))


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


def test_reports_that_were_exchanged_on_the_disk_are_damage(store, tmp_path):
    """Each has the right checksum; only the database tells which one was accepted here."""
    put(store, 0, 1)
    store.close()
    (path,) = (tmp_path / "b" / "segments").iterdir()
    content = path.read_bytes()
    length = len(FIRST[0])
    path.write_bytes(content[: -2 * length] + content[-length:] + content[-2 * length : -length])
    store = opened(tmp_path / "b")
    with pytest.raises(StoreError, match="does not fit"):
        store.read(0, 2)
    store.close()


def test_lost_rows_are_damage(store, tmp_path):
    put(store, 0, 1, 2)
    store.close()
    with sqlite3.connect(tmp_path / "b" / "state.sqlite") as database:
        database.execute("DELETE FROM report WHERE position = 1")
    database.close()
    with pytest.raises(StoreError, match="damaged; expected all reports"):
        opened(tmp_path / "b")


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
