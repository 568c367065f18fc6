"""Files of older versions are read as they were."""

from __future__ import annotations

import json

import numpy as np
import pytest

import nolook
from nolook.report.origin import Origin
from tests.formats.old_files import FILES, FOLDER, facts
from tests.report.pages import Page

EXPECTED = json.loads((FOLDER / "expected.json").read_text())


def test_every_old_file_has_its_facts():
    assert sorted(EXPECTED) == FILES
    kinds = {name.split(".", 1)[1] for name in FILES}
    assert kinds >= {"model.json", "selection.json", "distribution.json", "batch.json", "ledger"}


@pytest.mark.parametrize("name", FILES)
def test_an_old_file_says_what_it_said(name, tmp_path):
    found, (*shown,) = facts(name, tmp_path)
    same(found, EXPECTED[name])
    reason = EXPECTED[name].get("why not private")
    for text in shown:
        assert ("NOT PRIVATE" in text.upper()) == (reason is not None)
    if shown:
        page, printed = shown
        assert Page(page).unbalanced == []
        assert reason is None or reason.split("=")[0] in printed


@pytest.mark.parametrize("name", [n for n in FILES if "model" in n or "distribution" in n])
def test_an_old_file_is_saved_as_it_was(name, tmp_path):
    nolook.save(nolook.load(FOLDER / name), tmp_path / "again.json")
    old, again = (json.loads(path.read_text()) for path in (FOLDER / name, tmp_path / "again.json"))
    again["nolook_version"] = old["nolook_version"]
    assert json.dumps(again, sort_keys=True) == json.dumps(old, sort_keys=True)


def test_a_model_of_an_older_version_that_is_fitted_anew_is_one_of_this_version(tmp_path):
    model = nolook.load(FOLDER / "tukey-paper.model.json")
    X = np.random.default_rng(0).normal(size=(8000, 3))
    model.fit(X, X[:, 0])
    nolook.save(model, tmp_path / "again.json")
    again = nolook.load(tmp_path / "again.json")
    assert again.privacy_.private
    assert Origin.of_model(again).settings == ()


def same(found, expected):
    """Compare facts; numbers may differ in their last bits from machine to machine."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key, value in expected.items():
            same(found[key], value)
    elif _are_numbers(expected):
        ours, theirs = ([float.fromhex(one) for one in both] for both in (found, expected))
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-300)
    else:
        assert json.loads(json.dumps(found)) == expected


def _are_numbers(value):
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        return False
    return all("0x" in one or one in {"inf", "-inf"} for one in value)
