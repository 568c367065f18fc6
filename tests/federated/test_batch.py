"""What a batch may be, and that its digest names all that reports depend on."""

from __future__ import annotations

import hashlib
import itertools
import json

import numpy as np
import pytest
from attrs import evolve, fields

import nolook
from nolook.errors import ParameterError
from nolook.federated.batch import LARGEST_LEVELS, Batch
from nolook.federated.batch_content import read_batch, write_batch
from tests.federated.made import KEYS, NONCE, SERVERS, batch_of

PLAIN = batch_of(epsilon=1.0, minimum=100)
POINTS = hashlib.sha256(np.arange(100.0).astype("<f8").tobytes()).hexdigest()
#: What is hashed. Owners, servers and analysts of one batch may run different releases of nolook.
PINNED = (
    '{"authorities":["",""],"columns":[],"delta":0.0,"epsilon":1.0,"grid":["linear",0.0,99.0,1.0],'
    f'"keys":["{KEYS[0]}","{KEYS[1]}"],"kind":"ecdf",'
    f'"labels":[],"lengths":[10,1],"minimum":100,"name":"ages","nonce":"{NONCE}","points":"{POINTS}",'
    '"relation":"replace","servers":["https://0.example","https://1.example"],"unit":null,"version":1}'
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
        {"authorities": ("a", "b")},
        {"columns": ("age",)},
        {"unit": "patient"},
        {"nonce": NONCE[::-1]},
        {"lengths": (16, 1)},
    ],
)
def test_whatever_is_changed_changes_the_digest_and_so_every_key(changed):
    other = evolve(PLAIN, **changed)
    assert other.digest != PLAIN.digest
    assert other.functions.context == other.digest


def test_every_parameter_is_in_the_content():
    assert {field.name for field in fields(Batch)} <= set(PLAIN.content())


def test_other_thresholds_of_the_same_grid_have_another_digest(monkeypatch):
    """As a later version might lay them."""
    points = PLAIN.points().copy()
    points[3] = np.nextafter(3.0, 4.0)
    other = batch_of(epsilon=1.0, minimum=100)
    monkeypatch.setattr(type(other), "points", lambda _: points)
    assert other.digest != PLAIN.digest


def test_each_batch_has_a_nonce_of_its_own():
    one, other = (Batch("ages", "ecdf", 1.0, None, servers=SERVERS, keys=KEYS) for _ in range(2))
    assert one.nonce != other.nonce
    assert one.digest != other.digest


@pytest.mark.parametrize(
    "batch",
    [
        PLAIN,
        batch_of("roc", 0.5, nolook.LogGrid(0.001, 1, 0.1)),
        batch_of("hosmer-lemeshow", 1.0, None),
        batch_of("ecdf", 1.0, None, delta=1e-6),
    ],
)
def test_a_batch_survives_its_file(tmp_path, batch):
    path = tmp_path / "batch.json"
    write_batch(batch, path)
    found = read_batch(path)
    assert found == evolve(batch, lengths=batch.forest.lengths)
    assert found.digest == batch.digest


def refused(file, content, expected):
    file.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ParameterError, match=expected) as caught:
        read_batch(file)
    assert str(caught.value).startswith(f"{file} is not a batch: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"version": 2}, r"expected version 1 \(another one needs another nolook\)"),
        ({"points": "0" * 64}, "this nolook computes other thresholds"),
        ({"relation": "add-remove"}, r"invalid value - at `\$\.relation"),
        ({"more": 1}, "unknown field `more`"),
        ({"version": None}, r"\$\.version"),
        ({"grid": ["linear", 0, 1]}, r"length 4, got 3 - at `\$\.grid`"),
        ({"grid": ["cubic", 0, 1, 0.5]}, r"invalid value - at `\$\.grid\[0\]"),
        ({"grid": [["linear"], 0, 1, 0.5]}, r"\$\.grid\[0\]"),
        ({"grid": ["linear", 0, 1, True]}, r"\$\.grid\[3\]"),
        ({"grid": ["linear", 1, 0, 0.5]}, "low is 1.0 and high is 0.0"),
        ({"grid": "linear"}, r"\$\.grid"),
        ({"kind": ["ecdf"]}, "kind"),
        ({"name": "A"}, "name is not a short word"),
        ({"name": None}, r"\$\.name"),
        ({"epsilon": "1"}, "epsilon"),
        ({"minimum": None}, "minimum"),
        ({"servers": ["a"]}, r"length 2, got 1 - at `\$\.servers`"),
        ({"lengths": [3, 2]}, "lengths is not that of blocks"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path, changed, expected):
    refused(tmp_path / "batch.json", PLAIN.content() | changed, expected)


@pytest.mark.parametrize("name", PLAIN.content())
def test_a_file_without_a_field_is_refused(tmp_path, name):
    content = PLAIN.content()
    del content[name]
    refused(tmp_path / "batch.json", content, f"missing required field `{name}`")


def test_blocks_stay_as_the_file_says(tmp_path):
    """Even where this nolook would choose others."""
    path = tmp_path / "batch.json"
    path.write_text(json.dumps(PLAIN.content() | {"lengths": [20, 5, 1]}), encoding="utf-8")
    assert read_batch(path).forest.lengths == (20, 5, 1)


def test_classes_are_the_top_bit():
    assert PLAIN.functions.levels == PLAIN.levels == 7
    roc = batch_of("roc", 1.0, nolook.LinearGrid(0.25, 1, 0.25))
    assert (roc.functions.levels, roc.levels) == (3, 2)
    assert len(roc.classes) == 2


@pytest.mark.parametrize(
    ("grid", "levels"),
    [
        (nolook.LinearGrid(0, 1, 1), 1),
        (nolook.LinearGrid(0, 2, 1), 2),
        (nolook.LinearGrid(0, 3, 1), 2),
        (nolook.LinearGrid(0, 4, 1), 3),
        (nolook.LinearGrid(0, 2**16 - 1, 1), 16),
        (nolook.LinearGrid(0, 2**16, 1), 17),
        (None, LARGEST_LEVELS),
    ],
)
def test_levels_are_those_of_the_grid(grid, levels):
    batch = batch_of(grid=grid)
    assert batch.levels == levels
    assert 2 ** (levels - 1) < len(batch.points()) <= 2**levels


def test_probabilities_have_a_grid_of_their_own():
    batch = batch_of("hosmer-lemeshow", 1.0, None)
    np.testing.assert_array_equal(batch.points(), np.arange(1, 1025) / 1024)
    assert batch.levels == 10


def test_thresholds_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        PLAIN.points()[0] = 7.0


def test_numbers_of_any_type_make_one_batch():
    assert batch_of(epsilon=np.float32(1), minimum=np.int8(100)).digest == PLAIN.digest


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(2.0**-17, 0.0), *itertools.product([0.1, 0.3, 7.0], [0.0, 1e-6])]
)
def test_the_guarantee_is_the_budget_under_replacement(epsilon, delta):
    stated = batch_of(epsilon=epsilon, delta=delta).guarantee()
    assert (stated.epsilon, stated.delta, stated.relation) == (epsilon, delta, "replace")
    assert stated.private


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        *[
            ({"name": name}, "^name is not a short word of a to z, digits and hyphens")
            for name in ("Ages", "", "-a", "a/../b", "a\n", "a" * 65)
        ],
        ({"kind": "mean"}, "^kind is 'mean'; expected one of"),
        ({"kind": None}, "^kind"),
        ({"epsilon": 0.0}, "^epsilon is 0.0; expected"),
        ({"epsilon": float("nan")}, "^epsilon is nan; expected"),
        ({"epsilon": "much"}, "^epsilon"),
        ({"epsilon": 1e-12}, "^epsilon is 1e-12"),
        ({"epsilon": 2.0**-17, "delta": 1e-6}, "use a larger budget"),
        ({"minimum": 0}, "^minimum is 0; expected"),
        ({"minimum": 2**31 + 1}, "^minimum is 2147483649; expected"),
        ({"minimum": 1.5}, "^minimum is 1.5; expected"),
        ({"kind": "hosmer-lemeshow"}, "^grid is given for hosmer-lemeshow; expected None"),
        ({"servers": ("a", "a")}, "^servers and keys are not two different names"),
        ({"servers": ("a b", "c")}, "^servers and keys are not"),
        ({"keys": ("x", "y")}, "^servers and keys are not"),
        ({"keys": KEYS[:1] * 2}, "^servers and keys are not"),
        ({"nonce": "xyz"}, "^nonce is not 32 random hexadecimal digits"),
        ({"delta": 1.5}, "^delta is"),
        ({"delta": 1e-6, "kind": "roc"}, "^delta is 1e-06 for roc; expected 0"),
        ({"lengths": (3, 2)}, "^lengths is not that of blocks"),
        ({"grid": nolook.LinearGrid(0, 1, 2.0**-18)}, r"expected at most 2\*\*17 for ecdf"),
        ({"kind": "roc", "grid": None}, r"expected at most 2\*\*16 for roc"),
        ({"kind": "roc", "grid": nolook.LinearGrid(0, 2**16, 1)}, "^grid has 65537 thresholds"),
    ],
)
def test_a_wrong_parameter_is_one_line(wrong, message):
    with pytest.raises(ParameterError, match=message) as caught:
        evolve(PLAIN, **wrong)
    assert "\n" not in str(caught.value)
