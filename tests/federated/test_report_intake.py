"""Sealed reports: only their own server opens them; what is damaged or foreign stays outside."""

from __future__ import annotations

from threading import Event

import pytest
from attrs import evolve

from nolook.errors import ParameterError
from nolook.federated.failures import ReportError
from nolook.federated.reports import MOST_TOGETHER
from nolook.federated.sealing import Unsealer, public_key, seal, sealed_bytes
from nolook.federated.server.report_intake import GroupCommit, arrivals
from nolook.federated.tokens import Token
from tests.federated.made import PRIVATE, ROC, SMALL, reports

IDS, *SENT, _, _ = reports(SMALL, 3)
TOKEN = Token(role="owner", digest=b"digest", most=5)


def taken(sealed, role=0):
    return arrivals(Unsealer(SMALL, PRIVATE[role]), sealed, TOKEN)


def refused(call, *arguments):
    with pytest.raises(ReportError) as caught:
        call(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("role", [0, 1])
def test_a_server_opens_what_was_sealed_for_it(role):
    sealed = seal(SMALL, role, SENT[role][0])
    assert len(sealed) == sealed_bytes(SMALL)
    assert sealed != seal(SMALL, role, SENT[role][0])
    (found,) = taken(sealed, role)
    assert (found.report_id, found.report) == (IDS[0], SENT[role][0])
    assert (found.token, found.most) == (b"digest", 5)
    assert "not sealed for this batch and server" in refused(taken, sealed, 1 - role)


def test_a_change_of_any_byte_is_refused():
    sealed = seal(SMALL, 0, SENT[0][0])
    for at in range(len(sealed)):
        changed = sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :]
        # The curve does not look at one bit of the sender's key.
        if at == 31 and sealed[at] ^ changed[at] == 0x80:
            continue
        refused(taken, changed)
    for cut in (0, 1, 31, 32, 47, 48, 49, len(sealed) - 1):
        refused(taken, sealed[:cut])
    refused(taken, sealed + b"x")


def test_what_is_inside_has_to_be_a_report_of_this_batch_and_role():
    foreign = reports(ROC, 1)
    assert "another batch or server" in refused(taken, seal(SMALL, 0, SENT[1][0]))
    for inside in (b"", b"x", SENT[0][0][:-1], SENT[0][0] + b"x", bytes(len(SENT[0][0]))):
        refused(taken, seal(SMALL, 0, inside))
    refused(taken, seal(ROC, 0, foreign[1][0]))
    refused(taken, SENT[0][0])  # not sealed


def test_reports_that_come_together_are_all_opened():
    sealed = [seal(SMALL, 0, one) for one in SENT[0]]
    found = taken(b"".join(sealed))
    assert [one.report_id for one in found] == IDS
    assert [one.report for one in found] == SENT[0]
    refused(taken, b"".join(sealed[:2]) + sealed[2][:-1])
    refused(taken, sealed[0] + bytes(len(sealed[1])))


def test_a_key_is_the_one_that_the_batch_names():
    assert [Unsealer(SMALL, private).role for private in PRIVATE] == [0, 1]
    with pytest.raises(ParameterError, match="does not name this server's key"):
        Unsealer(SMALL, bytes(32))
    assert public_key(PRIVATE[0]) != public_key(PRIVATE[1])


def test_a_batch_with_a_key_that_is_none_seals_nothing():
    batch = evolve(SMALL, keys=("00" * 32, SMALL.keys[1]))
    with pytest.raises(ParameterError, match="not a public key"):
        seal(batch, 0, SENT[0][0])


def test_one_flush_stores_no_more_than_one_request_may_hold():
    flushes, gate = [], Event()

    class Slow:
        count = 0

        def add(self, together):
            gate.wait(60)
            flushes.append(len(together))
            return [True] * len(together)

    intake = GroupCommit(Slow(), pytest.fail)
    sizes = [1, 100, 100, 100, MOST_TOGETHER - 1, 2, 254, 1]
    found = [intake.put(*[None] * size) for size in sizes]
    gate.set()
    intake.close()
    assert [one.result(0) for one in found] == sizes
    assert sum(flushes) == sum(sizes)
    assert 0 < min(flushes) <= max(flushes) <= MOST_TOGETHER
