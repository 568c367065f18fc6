"""Reports as bytes: what is put in comes out, and whatever is wrong is refused."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from attrs import evolve

import nolook
from nolook.federated.dcf import key_bytes
from nolook.federated.wire import ReportError, check, encode, report_bytes, unpack
from tests.federated.roles import BATCHES, ECDF, ROC, kind, reported

WIDE = evolve(ECDF, name="wide", grid=None)


def made(batch, n=5):
    generator = np.random.default_rng(0)
    ids = generator.integers(0, 256, (n, 16), dtype=np.uint8)
    shares = generator.integers(0, 2**64, (n, len(batch.curves)), dtype=np.uint64)
    size = (n, len(batch.curves), key_bytes(batch.levels))
    return ids, shares, generator.integers(0, 256, size, dtype=np.uint8)


def sealed(report):
    """Return a report whose last bytes fit the others."""
    return bytes(report[:-32]) + hashlib.sha256(report[:-32]).digest()


def changed(report, at, value):
    return report[:at] + value + report[at + len(value) :]


@pytest.mark.parametrize("n", [0, 1, 5])
@pytest.mark.parametrize("role", [0, 1])
@pytest.mark.parametrize("batch", [*BATCHES, WIDE], ids=lambda batch: batch.name + batch.kind)
def test_what_is_put_in_comes_out(batch, role, n):
    parts = made(batch, n)
    reports = encode(batch, role, *parts)
    assert reports.shape == (n, report_bytes(batch))
    assert reports.dtype == np.uint8
    if n:
        for part, again in zip(parts, unpack(batch, reports), strict=True):
            np.testing.assert_array_equal(again, part)
            assert again.dtype == part.dtype
    assert [check(batch, role, row.tobytes()) for row in reports] == [
        row.tobytes() for row in parts[0]
    ]


@pytest.mark.parametrize("batch", [*BATCHES, WIDE], ids=lambda batch: batch.name + batch.kind)
def test_a_report_is_laid_out_as_written(batch):
    """Built here from the table in the module's docstring."""
    ids, shares, keys = made(batch, 1)
    curves = len(batch.curves)
    text = b"NLKR" + bytes([1, 1, 1, curves, batch.levels, 0, 0, 0]) + batch.digest
    text += ids[0].tobytes()
    for curve in range(curves):
        text += int(shares[0, curve]).to_bytes(8, "little") + keys[0, curve].tobytes()
    text += hashlib.sha256(text).digest()
    assert encode(batch, 1, ids, shares, keys)[0].tobytes() == text
    assert report_bytes(batch) == 60 + curves * (8 + key_bytes(batch.levels)) + 32 == len(text)


@pytest.mark.parametrize("batch", BATCHES, ids=kind)
def test_owners_make_such_reports(batch):
    for role, reports in enumerate(reported(batch, [0.1, 0.7], [True, False])):
        ids = {check(batch, role, row.tobytes()) for row in reports}
        assert len(ids) == 2


MISTAKES = [
    (0, b"PNG\0", "is not one of nolook's"),
    (4, b"\2", "has another version; expected 1"),
    (5, b"\0", "has shares of another group"),
    (6, b"\0", "is for the other server; expected role 1"),
    (6, b"\2", "is for the other server; expected role 1"),
    (7, b"\1", "is for another batch; expected scores"),
    (8, b"\7", "is for another batch; expected scores"),
    (9, b"\1", "is for another batch; expected scores"),
    (11, b"\1", "is for another batch; expected scores"),
    (12, bytes(32), "is for another batch; expected scores"),
]


@pytest.mark.parametrize(("at", "value", "expected"), MISTAKES)
def test_a_mistake_in_a_field_is_named(at, value, expected):
    report = encode(ROC, 1, *made(ROC, 1))[0].tobytes()
    wrong = sealed(changed(report, at, value))
    with pytest.raises(ReportError, match=expected) as caught:
        check(ROC, 1, wrong)
    assert caught.value.status == 400
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("other", ["name", "epsilon", "grid", "minimum", "kind"])
def test_reports_for_another_batch_are_refused(other):
    value = {
        "name": "others",
        "epsilon": 2.0,
        "grid": nolook.LinearGrid(1 / 64, 1, 1 / 63),
        "minimum": 7,
        "kind": "ecdf",
    }[other]
    report = encode(ROC, 0, *made(ROC, 1))[0].tobytes()
    with pytest.raises(ReportError):
        check(evolve(ROC, **{other: value}), 0, report)


def test_every_changed_byte_is_noticed():
    report = encode(ROC, 0, *made(ROC, 1))[0].tobytes()
    for at in range(len(report)):
        for flip in (1, 0x80, 0xFF):
            with pytest.raises(ReportError) as caught:
                check(ROC, 0, changed(report, at, bytes([report[at] ^ flip])))
            assert caught.value.status == 400


def test_every_other_length_is_refused():
    report = encode(ROC, 0, *made(ROC, 1))[0].tobytes()
    for length in range(len(report)):
        with pytest.raises(ReportError) as caught:
            check(ROC, 0, report[:length])
        assert caught.value.status == 400
    for more in (b"\0", report, bytes(10**6)):
        with pytest.raises(ReportError, match=f"expected {len(report)}") as caught:
            check(ROC, 0, report + more)
        assert caught.value.status == 413


def test_an_error_quotes_nothing_of_a_report():
    """Neither secret content nor an id."""
    ids, shares, keys = made(ROC, 1)
    report = encode(ROC, 0, ids, shares, keys)[0].tobytes()
    secrets = (ids.tobytes().hex(), *map(str, shares[0].tolist()), keys.tobytes().hex()[:16])
    for wrong in (report[:-1], report + b"\0", changed(report, 70, b"\0\0"), b"", report[:50]):
        with pytest.raises(ReportError) as caught:
            check(ROC, 0, wrong)
        message = str(caught.value)
        assert len(message) < 100
        assert not any(secret in message for secret in secrets)
