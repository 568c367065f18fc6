"""What a batch of format 2 may be, and that its digest names all that reports depend on."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest
from attrs import evolve, fields

import nolook
from nolook.errors import ParameterError
from nolook.federated import point_batch as module
from nolook.federated.batch_file import read_batch, write_batch
from nolook.federated.point_batch import PointBatch
from tests.federated.point_made import KEYS, NONCE, SERVERS, point_batch

PLAIN = point_batch(epsilon=1.0, minimum=100)
POINTS = hashlib.sha256(np.arange(100.0).astype("<f8").tobytes()).hexdigest()
#: What is hashed. Owners, servers and analysts of one batch may run different releases of nolook.
PINNED = (
    '{"delta":0.0,"epsilon":1.0,"format":2,"grid":["linear",0.0,99.0,1.0],'
    f'"keys":["{KEYS[0]}","{KEYS[1]}"],"kind":"ecdf",'
    f'"lengths":[10,1],"minimum":100,"name":"ages","nonce":"{NONCE}","points":"{POINTS}",'
    '"relation":"replace","servers":["https://one.example","https://two.example"]}'
)


def test_the_digest_is_pinned():
    assert PLAIN.digest == hashlib.sha256(PINNED.encode("ascii")).digest()


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "heights"},
        {"kind": "roc"},
        {"epsilon": np.nextafter(1.0, 2.0)},
        {"delta": 1e-6},
        {"grid": nolook.LinearGrid(0, 99, 0.5)},
        {"minimum": 101},
        {"servers": SERVERS[::-1]},
        {"keys": KEYS[::-1]},
        {"nonce": NONCE[::-1]},
        {"lengths": (16, 1)},
    ],
)
def test_whatever_is_changed_changes_the_digest_and_so_every_key(changed):
    other = evolve(PLAIN, **changed)
    assert other.digest != PLAIN.digest
    assert other.functions.context == other.digest


def test_every_parameter_is_in_the_content():
    assert {field.name for field in fields(PointBatch)} <= set(PLAIN.content())


def test_other_thresholds_of_the_same_grid_have_another_digest(monkeypatch):
    """As a later version might lay them."""
    points = PLAIN.points().copy()
    points[3] = np.nextafter(3.0, 4.0)
    other = point_batch(epsilon=1.0, minimum=100)
    monkeypatch.setattr(type(other), "points", lambda _: points)
    assert other.digest != PLAIN.digest


def test_each_batch_has_a_nonce_of_its_own():
    one, other = (
        PointBatch("ages", "ecdf", 1.0, None, servers=SERVERS, keys=KEYS) for _ in range(2)
    )
    assert one.nonce != other.nonce
    assert one.digest != other.digest


@pytest.mark.parametrize(
    "batch",
    [
        PLAIN,
        point_batch("roc", 0.5, nolook.LogGrid(0.001, 1, 0.1)),
        point_batch("hosmer-lemeshow", 1.0, None),
        point_batch("ecdf", 1.0, None, delta=1e-6),
    ],
)
def test_a_batch_survives_its_file(tmp_path, batch):
    path = tmp_path / "batch.json"
    write_batch(batch, path)
    found = read_batch(path)
    assert found == evolve(batch, lengths=batch.forest.lengths)
    assert found.digest == batch.digest


def test_a_file_of_format_1_is_read_and_one_of_other_thresholds_or_formats_refused(tmp_path):
    path = tmp_path / "batch.json"
    older = nolook.federated.batch.Batch("ages", "ecdf", 1.0)
    write_batch(older, path)
    assert read_batch(path) == older
    path.write_text(json.dumps(older.content() | {"format": 3}), encoding="utf-8")
    with pytest.raises(ParameterError, match="expected format 1 or 2"):
        read_batch(path)
    content = PLAIN.content() | {"points": "0" * 64}
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ParameterError, match="this nolook lays other thresholds"):
        read_batch(path)


def test_blocks_stay_as_the_file_says(tmp_path):
    """Even where this nolook would choose others."""
    path = tmp_path / "batch.json"
    path.write_text(json.dumps(PLAIN.content() | {"lengths": [20, 5, 1]}), encoding="utf-8")
    assert read_batch(path).forest.lengths == (20, 5, 1)


def test_classes_are_the_top_bit():
    assert PLAIN.functions.levels == PLAIN.levels == 7
    roc = point_batch("roc", 1.0, nolook.LinearGrid(0.25, 1, 0.25))
    assert (roc.functions.levels, roc.levels) == (3, 2)
    assert len(roc.classes) == 2
    widest = point_batch("ecdf", 1.0, None)
    assert widest.levels == module.WHOLE_LEVELS == 17


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"servers": ("a", "a")}, "^servers is not two different names"),
        ({"servers": ("a",)}, "^servers is not two"),
        ({"servers": ("a b", "c")}, "^servers is not two"),
        ({"servers": 3}, "^servers is not two"),
        ({"keys": ("x", "y")}, "^keys is not two different keys"),
        ({"keys": KEYS[:1] * 2}, "^keys is not two different keys"),
        ({"nonce": "xyz"}, "^nonce is not 32 hexadecimal digits"),
        ({"delta": 1.5}, "^delta is"),
        ({"delta": 1e-6, "kind": "roc"}, "^delta is 1e-06 for roc; expected 0"),
        ({"lengths": (3, 2)}, "^lengths is not that of blocks"),
        ({"epsilon": 1e-12}, "epsilon"),
        ({"grid": nolook.LinearGrid(0, 1, 2.0**-18)}, r"expected at most 2\*\*17"),
    ],
)
def test_parameters_are_refused(wrong, message):
    with pytest.raises(ParameterError, match=message):
        evolve(PLAIN, **wrong)
