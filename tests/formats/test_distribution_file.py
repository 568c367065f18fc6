"""Private distributions in files; the command line's tests run real ones."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

import nolook
from nolook import ECDF, LinearGrid, LogGrid, ParameterError
from tests.formats.edited import load_text, refusal
from tests.formats.old_files import FOLDER
from tests.report.test_distributions import values

GRIDS = [None, LinearGrid(0, 100, 0.1), LogGrid(1, 1000, 0.01)]


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


@pytest.mark.parametrize("grid", GRIDS, ids=["doubles", "linear", "log"])
@pytest.mark.parametrize(
    "more",
    [{}, {"delta": 1e-6}, {"smoothing": None, "relation": "replace"}],
    ids=["default", "gaussian", "raw"],
)
def test_a_distribution_comes_back_and_answers_the_same(tmp_path, grid, more):
    ecdf = ECDF(0.5, grid, **more).fit(values())
    nolook.save(ecdf, tmp_path / "x.json")
    loaded = nolook.load(tmp_path / "x.json")
    assert type(loaded) is ECDF
    assert loaded.get_params() == ecdf.get_params()
    for attribute in ("privacy_", "recipe_", "n_rows_"):
        assert getattr(loaded, attribute) == getattr(ecdf, attribute)
    places = np.concatenate([values(1), [-np.inf, np.inf, 0, 50], ecdf.distribution_.points[::7]])
    shares = np.linspace(0, 1, 101)
    for ours, theirs in zip(
        (*loaded.cdf(places, return_std=True), *loaded.quantile(shares, return_std=True)),
        (*ecdf.cdf(places, return_std=True), *ecdf.quantile(shares, return_std=True)),
        strict=True,
    ):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(loaded.pdf(places), ecdf.pdf(places))
    assert loaded.trimmed_mean(return_std=True) == ecdf.trimmed_mean(return_std=True)
    edges = [0, 40, 50, 80]
    np.testing.assert_array_equal(loaded.histogram(edges), ecdf.histogram(edges))
    # A loaded one can be saved and fitted again.
    nolook.save(loaded, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "x.json").read_bytes()
    loaded.fit(values(2))


def test_a_file_holds_only_where_the_counts_change(tmp_path):
    ecdf = ECDF(0.1).fit(np.full(3000, 7.0))
    document = saved(ecdf, tmp_path)
    assert len(ecdf.distribution_.points) > 100_000
    assert 1 <= len(document["thresholds"]) < 1000
    assert (tmp_path / "valid.json").stat().st_size < 50_000


def test_a_distribution_that_was_not_fitted_is_not_saved(tmp_path):
    with pytest.raises(ParameterError, match="fitted"):
        nolook.save(ECDF(), tmp_path / "x.json")
    assert list(tmp_path.iterdir()) == []


def test_nothing_of_a_table_but_what_was_released_is_in_the_file(valid):
    assert set(valid) == (
        {"format", "schema_version", "nolook_version", "column", "grid", "smoothing", "recipe"}
        | {"rows", "lengths", "block_variance", "rows_variance", "thresholds", "counts"}
        | {"budget", "privacy"}
    )
    assert (valid["format"], valid["schema_version"]) == ("nolook-distribution", 2)
    assert valid["counts"][-1] == valid["rows"]


EDITS = {
    "schema_version": [0, 1, 3, "2", None, True],
    "column": ["", 3, None, "other"],
    "grid": [[], "linear", {}, {"kind": "other", "low": 0, "high": 100, "step": 1}],
    "smoothing": ["l3", "l2", "l1", 1],
    "recipe": [None, {}],
    "rows": [0, -1, None, "1", 1e400, 17.5],
    "nolook_version": ["", None, 1],
    "lengths": [
        [],
        [0],
        [-1],
        [2],
        [10, 3, 1],
        [1, 10],
        [1, 1],
        [101, 1],
        [10, 0, 1],
        [10**400, 1],
        [10.5, 1],
        ["1"],
        None,
        1,
        {},
        [1] * 10_000,
    ],
    "block_variance": [-1, None, "x", 1e400],
    "rows_variance": [-1, None],
    "thresholds": [[], None, [1.5], {}],
    "counts": [[], None, [1.0]],
    "budget": [{"epsilon": 2.0, "delta": 0.0}],
    "privacy": [None, {}],
}


@pytest.mark.parametrize(
    ("key", "value"), [(k, v) for k, several in EDITS.items() for v in several]
)
def test_an_edited_file_is_refused_in_one_line(tmp_path, document, key, value):
    document[key] = value
    refusal(tmp_path, json.dumps(document))


def test_a_missing_or_unknown_key_is_refused(tmp_path, document):
    for key in document:
        rest = {name: value for name, value in document.items() if name != key}
        refusal(tmp_path, json.dumps(rest))
    assert "unknown field `more`" in refusal(tmp_path, json.dumps(document | {"more": 1}))


@pytest.mark.parametrize("key", ["budget", "privacy"])
def test_a_wrong_number_is_named_with_the_part_it_is_in(tmp_path, document, key):
    document[key]["delta"] = None
    assert f"in {key}, delta is None; expected" in refusal(tmp_path, json.dumps(document))


OLD = "people.distribution.json"


def test_a_file_is_of_one_version(tmp_path, document):
    old = json.loads((FOLDER / OLD).read_text(encoding="utf-8"))
    refusal(tmp_path, json.dumps(old | {"schema_version": 2}))
    refusal(tmp_path, json.dumps(document | {"levels": 7, "node_variance": 1.0}))


def test_impossible_counts_are_refused(tmp_path, document):
    places, counts = document["thresholds"], document["counts"]
    for edited in (
        {"thresholds": [places[1], places[0], *places[2:]]},
        {"thresholds": [places[0] + 0.25, *places[1:]]},
        {"thresholds": [places[0], places[0], *places[2:]]},
        {"counts": [counts[1], counts[0], *counts[2:]]},
        {"counts": [counts[0], counts[0], *counts[2:]]},
        {"counts": [*counts[:-1], counts[-1] + 1]},
        {"thresholds": places[:-1], "counts": counts[:-1]},
    ):
        refusal(tmp_path, json.dumps(document | edited))
    load_text(tmp_path, json.dumps(document))
