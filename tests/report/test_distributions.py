"""Private distributions in files and on pages; the command line's tests run real ones."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

import nolook
from nolook import ECDF, LinearGrid, LogGrid, ParameterError
from nolook.report.distribution_findings import ecdf_findings, quantiles_findings
from nolook.report.page import render_page
from nolook.report.picture import Bar, Line, Picture, draw
from nolook.report.score_findings import Scored, roc_findings
from tests.report.edited import load_text, refusal
from tests.report.pages import Page
from tests.report.test_html import NASTY

GRIDS = [None, LinearGrid(0, 100, 0.1), LogGrid(1, 1000, 0.01)]


def values(seed=0, count=3000):
    return np.random.default_rng(seed).normal(50, 10, count)


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
    [{}, {"delta": 1e-6, "smoothing": "isotonic"}, {"smoothing": None, "relation": "replace"}],
    ids=["default", "gaussian", "raw"],
)
def test_a_distribution_comes_back_and_answers_the_same(tmp_path, grid, more):
    ecdf = ECDF(0.5, grid, **more).fit(values())
    nolook.save(ecdf, tmp_path / "x.json")
    loaded = nolook.load(tmp_path / "x.json")
    assert type(loaded) is ECDF
    assert loaded.get_params() == ecdf.get_params()
    for attribute in ("privacy_", "recipe_", "n_samples_"):
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
        | {"rows", "levels", "node_variance", "rows_variance", "thresholds", "counts"}
        | {"budget", "privacy"}
    )
    assert (valid["format"], valid["schema_version"]) == ("nolook-distribution", 1)
    assert valid["counts"][-1] == valid["rows"]


EDITS = {
    "schema_version": [0, 2, "1", None, True],
    "column": ["", 3, None, "other"],
    "grid": [[], "linear", {}, {"kind": "other", "low": 0, "high": 100, "step": 1}],
    "smoothing": ["l3", 1],
    "recipe": [None, {}],
    "rows": [0, -1, None, "1", 1e400, 17.5],
    "levels": [6, 8, 7.5, None],
    "node_variance": [-1, None, "x"],
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
    assert "'more' is unknown" in refusal(tmp_path, json.dumps(document | {"more": 1}))


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


@pytest.mark.parametrize(
    "data",
    [
        [],
        [3.0],
        np.full(100, -5.0),
        np.full(100, 1e300),
        [np.inf] * 50 + [-np.inf] * 50,
        np.zeros(1000),
        np.full(1000, 1e-320),
    ],
    ids=["empty", "one", "equal", "huge", "infinite", "zero", "tiny"],
)
@pytest.mark.parametrize("smoothing", ["l2", None])
@pytest.mark.parametrize("epsilon", [0.01, 50.0])
def test_the_page_of_any_distribution(data, smoothing, epsilon):
    ecdf = ECDF(epsilon, smoothing=smoothing).fit(np.array(data, dtype=float))
    page = Page(render_page(ecdf_findings(ecdf, "x"), table="t"))
    assert (page.unbalanced, page.outside) == ([], [])
    (curve,) = (a for a in page.all("polyline") if a["class"] == "curve")
    points = np.array([pair.split(",") for pair in curve["points"].split()], dtype=float)
    assert ((points >= 0) & (points <= 1000)).all()
    assert "nan" not in page.text


@pytest.mark.parametrize("name", NASTY)
def test_names_are_shown_and_never_read_as_markup(name):
    ecdf = ECDF(1.0, LinearGrid(0, 100, 1), random_state=1).fit(values())
    found = nolook.quantiles(values()[:, np.newaxis], epsilon=1.0)
    object.__setattr__(found, "names", (name,))
    curve = nolook.ROCCurve(1.0, LinearGrid(0, 100, 1)).fit(values(), values(1) > 50)
    for findings in (
        ecdf_findings(ecdf, name),
        quantiles_findings(found, ecdf.recipe_, {}),
        roc_findings(curve, Scored(name, name, name)),
    ):
        page = Page(render_page(findings, table=name))
        assert (page.unbalanced, page.outside) == ([], [])
        assert not page.all("script")


def test_the_page_says_what_the_release_says():
    ecdf = ECDF(0.5, LinearGrid(0, 100, 1), smoothing=None).fit(values())
    page = Page(render_page(ecdf_findings(ecdf, "age"), table="people.csv"))
    for text in (
        "Private distribution of age",
        "From the table people.csv",
        "epsilon 0.5",
        f"{ecdf.n_samples_:,.0f}",
        f"{ecdf.quantile(0.95):.6g}",
        "from 0 to 100 in steps of 1",
        "counts up to each threshold",
        "if this page gives one, it is a noisy one",
    ):
        assert text in page.text
    public = ECDF(0.5, LinearGrid(0, 100, 1), relation="replace").fit(values())
    page = Page(render_page(ecdf_findings(public, "age"), table="people.csv"))
    assert "The number of rows is not protected" in page.text
    assert "none, it is public" in page.text
    assert "3,000" in page.text


def test_the_page_of_a_curve_warns_of_the_scored_model():
    curve = nolook.ROCCurve(1.0, LinearGrid(0, 100, 1)).fit(values(), values() > 50)
    page = Page(render_page(roc_findings(curve, Scored("s", "ill", "yes")), table="t"))
    for text in (
        curve.caution,
        "Private ROC curve of s",
        f"{curve.auc_:.3f}",
        "Target ill",
        "Positive class yes",
        "counts of each class up to each threshold",
    ):
        assert text in page.text
    # Higher scores are positive: the curve runs far above the line of guessing.
    _, line = page.all("polyline")
    points = np.array([pair.split(",") for pair in line["points"].split()], dtype=float)
    assert np.trapezoid(1000 - points[:, 1], points[:, 0]) > 0.9e6


def test_a_seed_is_marked_on_the_page():
    ecdf = ECDF(0.5, random_state=3).fit(values())
    page = Page(render_page(ecdf_findings(ecdf, "age"), table="t"))
    assert "NOT PRIVATE" in page.text
    assert "Private distribution" not in page.text


def test_what_a_picture_draws_lies_where_it_should():
    picture = Picture(
        title="t",
        across="x",
        up="y",
        low=-2.0,
        high=2.0,
        lines=(Line("curve", np.array([-2.0, 0.0, 3.0]), np.array([0.0, 0.5, 1.5])),),
        legend="l",
        band=(np.array([-2.0, 2.0]), np.array([-0.5, 0.25]), np.array([0.25, 0.75])),
        bars=(Bar(0.0, 0.5, 0.25, 0.75),),
    )
    page = Page(draw(picture))
    (line,) = page.all("polyline")
    assert line["points"] == "0.0,1000.0 500.0,500.0 1000.0,0.0"
    (band,) = page.all("polygon")
    assert band["points"] == "0.0,750.0 1000.0,250.0 1000.0,750.0 0.0,1000.0"
    (circle,) = page.all("circle")
    assert circle["cx"] == "53.500%"
    bar = page.all("line")[-1]
    assert float(bar["y1"]) > float(circle["cy"]) > float(bar["y2"])
    # Ticks, at round numbers.
    assert [a["x"] for a in page.all("text")[5:10]] == [
        f"{10 + 87 * share:.3f}%" for share in (0, 0.25, 0.5, 0.75, 1)
    ]
