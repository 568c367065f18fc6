"""Reports: one id for both halves, which nobody else can use; what is damaged is refused."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from nolook.algorithms.grids import LinearGrid
from nolook.errors import ParameterError
from nolook.federated.failures import ReportError
from nolook.federated.reports import check, make_reports, report_bytes, unpack
from nolook.privacy.noise import SystemEntropy
from tests.federated.made import NONCE, SCORES, batch_of, both_halves, changed, commitment, resealed

BATCH = batch_of()
IDS, HALVES = both_halves(BATCH, [30.0, 40.0, np.nan])


def half(role, k=0):
    return HALVES[role][k].tobytes()


def test_both_servers_find_one_id_and_the_key():
    keys = [unpack(BATCH, HALVES[role])[1] for role in (0, 1)]
    for k in range(3):
        assert check(BATCH, 0, half(0, k)) == check(BATCH, 1, half(1, k)) == IDS[k].tobytes()
        assert (keys[0][k, 16:] == keys[1][k, 16:]).all()
    assert len({each.tobytes() for each in IDS}) == 3
    assert (unpack(BATCH, HALVES[0])[0] == IDS).all()
    assert HALVES[0].shape == (3, report_bytes(BATCH))


def test_the_id_is_made_of_both_commitments():
    """By definition, from the bytes of both halves."""
    commitments = [commitment(BATCH, role, half(role)[:-64]) for role in (0, 1)]
    assert half(0)[-64:-32] == commitments[1]
    assert half(1)[-64:-32] == commitments[0]
    text = b"nolook report: id" + b"".join(commitments)
    assert IDS[0].tobytes() == hashlib.sha256(text).digest()


@pytest.mark.parametrize("role", [0, 1])
def test_no_byte_can_be_changed(role):
    for place in range(report_bytes(BATCH)):
        damaged = bytearray(half(role))
        damaged[place] ^= 1
        with pytest.raises(ReportError, match="was damaged"):
            check(BATCH, role, bytes(damaged))


def test_whoever_changes_a_half_gets_another_id():
    """Nobody can be first under the id of somebody else's report."""
    for place in (0, 60, 240):
        forged = bytearray(half(0))
        forged[place] ^= 1
        again = resealed(BATCH, 0, bytes(forged))
        assert check(BATCH, 0, again) != IDS[0].tobytes()
    borrowed = resealed(BATCH, 0, half(0, 1)[:-64] + half(0)[-64:])
    assert check(BATCH, 0, borrowed) not in {each.tobytes() for each in IDS}


def test_reports_for_others_are_refused():
    other = evolve(BATCH, nonce=NONCE[::-1])
    for batch, role in ((BATCH, 1), (other, 0), (other, 1)):
        with pytest.raises(ReportError, match="for another batch or server"):
            check(batch, role, half(0))
        # Sent on as if it were for that one: it gets another id.
        assert check(batch, role, resealed(batch, role, half(0))) != IDS[0].tobytes()


def test_a_report_is_laid_out_as_written():
    """Built here from the table in the module's docstring."""
    batch = batch_of("roc", grid=SCORES)
    ids, halves = both_halves(batch, [0.3], [True])
    for role in (0, 1):
        key, other = (unpack(batch, halves[one])[1].tobytes() for one in (role, 1 - role))
        text = key + commitment(batch, 1 - role, other) + ids[0].tobytes()
        assert halves[role][0].tobytes() == text


@pytest.mark.parametrize(
    "parameter",
    [
        {"name": "others"},
        {"epsilon": 2.0},
        {"minimum": 7},
        {"grid": LinearGrid(0, 99, 0.99)},
        {"delta": 1e-6},
        {"lengths": (50, 1)},
    ],
)
def test_reports_for_a_batch_with_another_parameter_are_refused(parameter):
    with pytest.raises(ReportError, match="for another batch"):
        check(evolve(BATCH, **parameter), 0, half(0))


def test_every_other_length_is_refused():
    whole = half(0) + bytes(100)
    for length in [*range(report_bytes(BATCH)), len(whole) - 99, len(whole)]:
        for report in (whole[:length], resealed(BATCH, 0, whole[:length])):
            with pytest.raises(ReportError) as caught:
                check(BATCH, 0, report)
            assert caught.value.status == 400


def test_an_error_quotes_nothing_of_a_report():
    secrets = (IDS[0].tobytes().hex(), half(0)[:16].hex())
    for wrong in (half(0)[:-1], half(0) + b"\0", changed(half(0)), b"", half(0)[:50]):
        with pytest.raises(ReportError) as caught:
            check(BATCH, 0, wrong)
        message = str(caught.value)
        assert len(message) < 120
        assert "\n" not in message
        assert not any(secret in message for secret in secrets)


def test_no_owner_at_all_is_fine():
    ids, *halves = make_reports(BATCH, [], None, SystemEntropy())
    assert [len(each) for each in (ids, *halves)] == [0, 0, 0]


@given(st.binary(max_size=400), st.integers(0, 1))
def test_no_bytes_raise_anything_else(report, role):
    for text in (report, half(role)[:16] + report):
        with pytest.raises(ReportError):
            check(BATCH, role, text)


def test_two_reports_of_one_value_share_no_secret():
    """Neither another owner's nor one made at another time."""
    _, first, second = make_reports(BATCH, [1.0, 1.0], None, SystemEntropy())
    _, again, _ = make_reports(BATCH, [1.0], None, SystemEntropy())
    seeds = {unpack(BATCH, rows)[1][k, :16].tobytes() for rows in (first, second) for k in (0, 1)}
    assert len(seeds | {unpack(BATCH, again)[1][0, :16].tobytes()}) == 5


def test_values_and_targets_of_another_form():
    roc = batch_of("roc", grid=SCORES)
    for batch, values, targets, message in (
        *[
            (BATCH, wrong, None, "values is not an array of numbers")
            for wrong in ([[1.0]], 1.0, ["secret"], [[1], [2, 3]], [10**400])
        ],
        (BATCH, [1.0], [True], "targets is given for ecdf; expected None"),
        (roc, [1.0], None, r"targets has shape \(\) and dtype object; expected a boolean"),
        (roc, [1.0], [1], "targets has shape .* and dtype int64; expected a boolean for each"),
        (roc, [1.0, 0.5], [True], "for each of the 2 values"),
        (roc, [1.0], [[True]], r"targets has shape \(1, 1\)"),
    ):
        with pytest.raises(ParameterError, match=message) as caught:
            both_halves(batch, values, targets)
        assert "\n" not in str(caught.value)
        assert "secret" not in str(caught.value)
