"""Private distributions in files; the command line's tests run real ones."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

import nolook
from nolook import ECDF, LinearGrid, ParameterError
from tests.formats.edited import load_text, refusal
from tests.report.test_distributions import values


def saved(ecdf, folder):
    nolook.save(ecdf, folder / "valid.json")
    return json.loads((folder / "valid.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def valid(tmp_path_factory):
    ecdf = ECDF(1.0, LinearGrid(0, 100, 1)).fit(values())
    return saved(ecdf, tmp_path_factory.mktemp("valid"))


@pytest.fixture
def document(valid):
    return copy.deepcopy(valid)


def test_a_file_holds_only_where_the_counts_change(tmp_path):
    ecdf = ECDF(0.1).fit(np.full(3000, 7.0))
    document = saved(ecdf, tmp_path)
    assert len(ecdf.distribution_.points) > 100_000
    assert 1 <= len(document["counts"]["thresholds"]) < 1000
    assert (tmp_path / "valid.json").stat().st_size < 50_000


def test_a_distribution_that_was_not_fitted_is_not_saved(tmp_path):
    with pytest.raises(ParameterError, match="fitted"):
        nolook.save(ECDF(), tmp_path / "x.json")
    assert list(tmp_path.iterdir()) == []


def test_nothing_of_a_table_but_what_was_released_is_in_the_file(valid):
    assert set(valid) == {
        *("format", "version", "nolook_version", "kind", "privacy", "read_options"),
        *("grid", "whole", "counts", "squares"),
    }
    own = {"thresholds", "counts", "lengths", "block_variance", "rows_variance", "left_out"}
    assert set(valid["counts"]) == own


EDITS = {
    "lengths": [
        *([], [0], [-1], [2], [10, 3, 1], [1, 10], [1, 1], [101, 1], [10, 0, 1], [10**400, 1]),
        *([10.5, 1], [1] * 10_000),
    ],
    "block_variance": [-1],
    "rows_variance": [-1],
    "left_out": [[1.0], [1.0, -1.0], 3.0],
    "thresholds": [[1.5]],
    "counts": [[1.0]],
}


@pytest.mark.parametrize(
    ("key", "value"), [(k, v) for k, several in EDITS.items() for v in several]
)
def test_edited_counts_are_refused_in_one_line(tmp_path, document, key, value):
    document["counts"][key] = value
    refusal(tmp_path, json.dumps(document))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("grid", ["other", 0, 100, 1]),
        ("grid", ["linear", 0, 100, -1]),
        ("privacy", {"epsilon": 2.0}),
        ("read_options", {"features": ["a", "b"], "categories": {}, "missing": "drop-row"}),
    ],
)
def test_other_edits_are_refused_in_one_line(tmp_path, document, key, value):
    document[key] = value
    refusal(tmp_path, json.dumps(document))


def test_a_wrong_number_of_the_guarantee_is_said_to_be_there(tmp_path, document):
    document["privacy"]["delta"] = None
    assert "in privacy, expected" in refusal(tmp_path, json.dumps(document))


def test_impossible_counts_are_refused(tmp_path, document):
    told = document["counts"]
    places, counts = told["thresholds"], told["counts"]
    for edited in (
        {"thresholds": [places[1], places[0], *places[2:]]},
        {"thresholds": [places[0] + 0.25, *places[1:]]},
        {"thresholds": [places[0], places[0], *places[2:]]},
        {"counts": [counts[1], counts[0], *counts[2:]]},
        {"counts": [counts[0], counts[0], *counts[2:]]},
        {"counts": [*counts[:-1], 0.5]},
    ):
        refusal(tmp_path, json.dumps(document | {"counts": told | edited}))
    load_text(tmp_path, json.dumps(document))
