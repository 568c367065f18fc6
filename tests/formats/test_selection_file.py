"""A selection in the model file; the command line's tests run real ones."""

from __future__ import annotations

import json

import pytest

import nolook
from nolook import ParameterError
from tests.formats.edited import put, refusal
from tests.report.test_selection import NAMES, fitted


@pytest.fixture(scope="module")
def named():
    return fitted(names=NAMES)


@pytest.fixture
def document(tmp_path, named):
    nolook.save(named, tmp_path / "valid.json")
    return json.loads((tmp_path / "valid.json").read_text(encoding="utf-8"))


def test_a_selector_with_parameters_of_its_own_is_not_saved(tmp_path):
    class Ours(nolook.KendallSelector):
        def __init__(self, k=5, epsilon=1.0, random_state=None):
            super().__init__(k, epsilon, random_state=random_state)

    with pytest.raises(nolook.ParameterError, match=r"cannot be saved: in parameters, .*`sample`"):
        nolook.save(fitted(Ours(2)), tmp_path / "model.json")
    assert not list(tmp_path.iterdir())


def test_a_pipeline_that_was_not_fitted_is_not_saved(tmp_path):
    pipeline = nolook.PrivatePipeline(nolook.KendallSelector(), nolook.LinearRegression())
    with pytest.raises(ParameterError, match="call fit first"):
        nolook.save(pipeline, tmp_path / "model.json")
    assert not list(tmp_path.iterdir())


def test_the_guarantee_is_that_of_both_parts_in_sequence(document, named, tmp_path):
    assert document["kind"] == "pipeline"
    assert document["budget"] == {"epsilon": 20.0, "delta": named.delta}
    assert not document["model"].keys() & {"features", "target", "read_options"}
    loaded = nolook.load(tmp_path / "valid.json")
    assert loaded.privacy == named.privacy
    parts = [document[step]["privacy"] for step in ("selection", "model")]
    together = [event for part in parts for event in part["mechanisms"]]
    assert loaded.privacy.to_dict()["mechanisms"] == together
    assert [round(part["epsilon"], 9) for part in parts] == [4.0, 16.0]


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (("split",), 1.0, "< 1.0 - at `$.split`"),
        (("split",), 0, "> 0.0 - at `$.split`"),
        (("named",), 1, "expected `bool`, got `int` - at `$.named`"),
        (("selection", "named"), False, "selection.named where named is true"),
        (("selection", "method"), "magic", "one of 'kendall', 'lasso', 'moments', 'sis'"),
        (("selection", "chosen"), ["x3", "x3"], "each column once"),
        (("selection", "chosen"), NAMES, "not all"),
        (("selection", "chosen"), ["x3"], "as many columns as parameters.k"),
        (("selection", "chosen"), ["x3", "x9"], "some of features"),
        (("selection", "features"), NAMES[:4], "features to be those of read_options"),
        (("selection", "parameters", "k"), 2.0, "in parameters, expected `int | str`"),
        (("model", "method"), "magic", "one of 'linear'"),
        (("model", "read_options"), {"features": ["x1"]}, "omit what selection says"),
        (("model", "target"), "other", "omit what selection says"),
        (("model", "kind"), "selection", "invalid value - at `$.kind`"),
        (("budget", "epsilon"), 19.0, "less than the parts cost: 20 and"),
        (("budget", "epsilon"), -1.0, "epsilon"),
        (("budget", "delta"), 2.0, "delta"),
        (("model", "privacy", "relation"), "replace", "the parts differ in relation or unit"),
    ],
)
def test_impossible_contents_are_refused_by_name(tmp_path, document, path, value, expected):
    assert expected in refusal(tmp_path, json.dumps(put(document, path, value)))
