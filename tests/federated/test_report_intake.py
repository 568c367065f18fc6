"""Sealed reports: only their own server opens them; what is damaged or foreign stays outside."""

from __future__ import annotations

import pytest
from attrs import evolve

from nolook.errors import ParameterError
from nolook.federated.failures import RefusedError, ReportError
from nolook.federated.sealing import Unsealer, public_key, seal, sealed_bytes
from nolook.federated.server.report_intake import ReportIntake
from nolook.federated.tokens import Token
from tests.federated.made import PRIVATE, ROC, SMALL, reports

IDS, *SENT, _, _ = reports(SMALL, 3)
TOKEN = Token("owner", b"digest", 5)


def intake(batch=SMALL, role=0, private=PRIVATE[0]):
    return ReportIntake(batch, role, private)


def refused(call, *arguments):
    with pytest.raises(ReportError) as caught:
        call(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("role", [0, 1])
def test_a_server_opens_what_was_sealed_for_it(role):
    mine, other = (
        intake(role=role, private=PRIVATE[role]),
        intake(role=1 - role, private=PRIVATE[1 - role]),
    )
    sealed = seal(SMALL, role, SENT[role][0])
    assert len(sealed) == mine.largest == sealed_bytes(SMALL)
    assert sealed != seal(SMALL, role, SENT[role][0])
    found = mine.arrival(sealed, IDS[0], TOKEN)
    assert (found.report_id, found.report) == (IDS[0], SENT[role][0])
    assert (found.token, found.most) == (b"digest", 5)
    assert "not sealed for this batch and server" in refused(other.arrival, sealed, IDS[0], TOKEN)


def test_a_change_of_any_byte_is_refused():
    sealed = seal(SMALL, 0, SENT[0][0])
    for at in range(len(sealed)):
        changed = sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :]
        # The curve does not look at one bit of the sender's key.
        if at == 31 and sealed[at] ^ changed[at] == 0x80:
            continue
        refused(intake().arrival, changed, IDS[0], TOKEN)
    for cut in (0, 1, 31, 32, 47, 48, 49, len(sealed) - 1):
        refused(intake().arrival, sealed[:cut], IDS[0], TOKEN)
    refused(intake().arrival, sealed + b"x", IDS[0], TOKEN)


def test_what_is_inside_has_to_be_a_report_of_this_name_batch_and_role():
    foreign = reports(ROC, 1)
    assert "another id" in refused(intake().arrival, seal(SMALL, 0, SENT[0][0]), IDS[1], TOKEN)
    assert "other server" in refused(intake().arrival, seal(SMALL, 0, SENT[1][0]), IDS[0], TOKEN)
    for inside in (b"", b"x", SENT[0][0][:-1], SENT[0][0] + b"x", bytes(len(SENT[0][0]))):
        refused(intake().arrival, seal(SMALL, 0, inside), IDS[0], TOKEN)
    refused(intake().arrival, seal(ROC, 0, foreign[1][0]), foreign[0][0], TOKEN)
    refused(intake().arrival, SENT[0][0], IDS[0], TOKEN)  # not sealed


def test_an_address_ends_with_an_id():
    assert intake().report_id(IDS[0].hex()) == IDS[0]
    for wrong in ("", "00", "00" * 16, "g" * 64, "A" * 64, "0" * 63):
        with pytest.raises(RefusedError, match="64 hex digits"):
            intake().report_id(wrong)


def test_a_key_is_the_one_that_the_batch_names():
    for role, private in ((1, PRIVATE[0]), (0, PRIVATE[1]), (0, bytes(32))):
        with pytest.raises(ParameterError, match="another key for role"):
            Unsealer(SMALL, role, private)
    assert public_key(PRIVATE[0]) != public_key(PRIVATE[1])


def test_a_batch_with_a_key_that_is_none_seals_nothing():
    batch = evolve(SMALL, keys=("00" * 32, SMALL.keys[1]))
    with pytest.raises(ParameterError, match="not a public key"):
        seal(batch, 0, SENT[0][0])
