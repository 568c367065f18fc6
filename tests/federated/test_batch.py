"""What a batch may be, and that its digest names everything a release depends on."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest
from attrs import evolve, fields

import nolook
from nolook.errors import ParameterError
from nolook.federated.batch import FULL_LEVELS, KINDS, Batch
from nolook.federated.batch_file import read_batch, write_batch

GRID = nolook.LinearGrid(0, 1, 0.25)
PLAIN = Batch("ages-2026", "ecdf", 1.0, nolook.LinearGrid(0, 120, 1))
#: What is hashed. Owners, servers and analysts of one batch may run different releases of nolook.
PINNED = {
    PLAIN: '{"epsilon":1.0,"format":1,"grid":["linear",0.0,120.0,1.0],"kind":"ecdf","minimum":100,'
    '"name":"ages-2026","relation":"replace"}',
    Batch("scores", "roc", 0.5, nolook.LogGrid(0.001, 1, 0.1), 500): '{"epsilon":0.5,"format":1,'
    '"grid":["log",0.001,1.0,0.1],"kind":"roc","minimum":500,"name":"scores","relation":"replace"}',
    Batch("c", "hosmer-lemeshow", 2, None, 1): '{"epsilon":2.0,"format":1,"grid":null,'
    '"kind":"hosmer-lemeshow","minimum":1,"name":"c","relation":"replace"}',
    Batch("any", "ecdf", 1e-3, None): '{"epsilon":0.001,"format":1,"grid":null,"kind":"ecdf",'
    '"minimum":100,"name":"any","relation":"replace"}',
}


@pytest.mark.parametrize(("batch", "text"), PINNED.items())
def test_the_digest_is_pinned(batch, text):
    assert batch.digest == hashlib.sha256(text.encode("ascii")).digest()


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "ages-2027"},
        {"kind": "roc"},
        {"epsilon": np.nextafter(1.0, 2.0)},
        {"grid": None},
        {"grid": nolook.LinearGrid(0, 120, 2)},
        {"grid": nolook.LinearGrid(0, np.nextafter(120, 121), 1)},
        {"grid": nolook.LogGrid(1, 120, 1)},
        {"minimum": 101},
    ],
)
def test_whatever_is_changed_changes_the_digest(changed):
    assert evolve(PLAIN, **changed).digest != PLAIN.digest


def test_every_parameter_is_in_the_content():
    assert {field.name for field in fields(Batch)} <= set(PLAIN.content())


@pytest.mark.parametrize("batch", PINNED, ids=lambda batch: batch.name)
def test_a_batch_survives_its_file(tmp_path, batch):
    write_batch(batch, tmp_path / "batch.json")
    again = read_batch(tmp_path / "batch.json")
    assert again == batch
    assert again.digest == batch.digest


def test_numbers_of_any_type_make_one_batch():
    batch = Batch("ages-2026", "ecdf", np.float32(1), nolook.LinearGrid(0, 120, 1), np.int8(100))
    assert batch.digest == PLAIN.digest


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"name": "Ages"}, "name is not a short word of a to z, digits and hyphens"),
        ({"name": ""}, "name is not a short word"),
        ({"name": "-a"}, "name is not a short word"),
        ({"name": "a/../b"}, "name is not a short word"),
        ({"name": "a\n"}, "name is not a short word"),
        ({"name": "a" * 65}, "name is not a short word"),
        ({"name": 7}, "name is not a short word"),
        ({"kind": "mean"}, "kind is 'mean'; expected one of"),
        ({"kind": None}, "kind"),
        ({"epsilon": 0.0}, "epsilon is 0.0; expected"),
        ({"epsilon": float("nan")}, "epsilon is nan; expected"),
        ({"epsilon": "much"}, "epsilon"),
        ({"minimum": 0}, "minimum is 0; expected"),
        ({"minimum": 2**31 + 1}, "minimum is 2147483649; expected"),
        ({"minimum": 1.5}, "minimum is 1.5; expected"),
        ({"grid": [0, 1]}, "grid is a value of type list; expected a LinearGrid"),
        ({"kind": "hosmer-lemeshow"}, "grid is given for hosmer-lemeshow; expected None"),
        ({"kind": "roc", "grid": None}, r"expected at most 2\*\*16 for an ROC curve"),
        ({"kind": "roc", "grid": nolook.LinearGrid(0, 2**16, 1)}, "grid has 65537 thresholds"),
    ],
)
def test_a_wrong_parameter_is_one_line(changed, expected):
    with pytest.raises(ParameterError, match=expected) as caught:
        evolve(PLAIN, **changed)
    assert "\n" not in str(caught.value)


def refused(file, content, expected):
    file.write_text(json.dumps(content))
    with pytest.raises(ParameterError, match=expected) as caught:
        read_batch(file)
    assert str(caught.value).startswith(f"{file} is not a batch: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"format": 3}, "expected format 1 or 2; another one needs another nolook"),
        ({"relation": "add-remove"}, r"add-remove.*\$\.relation"),
        ({"more": 1}, "unknown field `more`"),
        ({"format": None}, r"\$\.format"),
        ({"grid": ["linear", 0, 1]}, r"length 4, got 3 - at `\$\.grid`"),
        ({"grid": ["cubic", 0, 1, 0.5]}, r"cubic.*\$\.grid\[0\]"),
        ({"grid": [["linear"], 0, 1, 0.5]}, r"\$\.grid\[0\]"),
        ({"grid": ["linear", 0, 1, True]}, r"\$\.grid\[3\]"),
        ({"grid": ["linear", 1, 0, 0.5]}, "low is 1.0 and high is 0.0"),
        ({"grid": "linear"}, r"\$\.grid"),
        ({"kind": ["ecdf"]}, "kind"),
        ({"name": "A"}, "name is not a short word"),
        ({"name": None}, r"\$\.name"),
        ({"epsilon": "1"}, "epsilon"),
        ({"minimum": None}, "minimum"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path, changed, expected):
    refused(tmp_path / "batch.json", PLAIN.content() | changed, expected)


@pytest.mark.parametrize("name", PLAIN.content())
def test_a_file_without_a_field_is_refused(tmp_path, name):
    content = PLAIN.content()
    del content[name]
    refused(tmp_path / "batch.json", content, f"missing required field `{name}`")


@pytest.mark.parametrize(
    ("grid", "levels"),
    [
        (nolook.LinearGrid(0, 1, 1), 1),
        (nolook.LinearGrid(0, 2, 1), 2),
        (nolook.LinearGrid(0, 3, 1), 2),
        (nolook.LinearGrid(0, 4, 1), 3),
        (nolook.LinearGrid(0, 2**16 - 1, 1), 16),
        (nolook.LinearGrid(0, 2**16, 1), 17),
        (None, 17),
    ],
)
def test_levels_are_those_of_the_grid(grid, levels):
    batch = Batch("a", "ecdf", 1.0, grid)
    assert batch.levels == levels
    assert 2 ** (levels - 1) < len(batch.points()) <= 2**levels
    assert batch.whole == (levels <= FULL_LEVELS)


def test_probabilities_have_a_grid_of_their_own():
    batch = Batch("a", "hosmer-lemeshow", 1.0)
    np.testing.assert_array_equal(batch.points(), np.arange(1, 1025) / 1024)
    assert batch.levels == 10


def test_thresholds_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        PLAIN.points()[0] = 7.0


def test_each_kind_has_its_curves():
    assert {kind: Batch("a", kind, 1.0, GRID).curves for kind in ("ecdf", "roc")} == {
        kind: KINDS[kind] for kind in ("ecdf", "roc")
    }
    assert Batch("a", "hosmer-lemeshow", 1.0).curves == KINDS["hosmer-lemeshow"]
