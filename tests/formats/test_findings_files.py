"""Files of findings: what they keep and leave out, and what is refused by name."""

from __future__ import annotations

import json

import pytest
from attrs import evolve

import nolook
from nolook._unit import Unit
from nolook.algorithms.evaluation import Calibrated
from tests.formats.edited import load_text, refusal
from tests.formats.releases import release
from tests.formats.test_every_kind import document, saved


def test_a_file_of_folds_has_their_scores_and_no_models(tmp_path):
    found = release("cross-validation")
    again = load_text(tmp_path, saved(found))
    assert (again.scores, again.mean) == (found.scores, found.mean)
    assert len(found.models) == 2
    assert again.models == ()


@pytest.mark.parametrize("place", [0, 1])
def test_a_curve_from_a_file_answers_what_the_curve_did(tmp_path, place):
    curve = release("ROC curve", place)
    again = load_text(tmp_path, saved(curve))
    assert again.at(0.5) == curve.at(0.5)
    assert again.partial_auc(0.2) == curve.partial_auc(0.2)
    assert again.threshold_at(tpr=0.5) == curve.threshold_at(tpr=0.5)


def test_the_thresholds_asked_about_come_back(tmp_path):
    document = json.loads(saved(release("evaluation"))) | {"asked": [0.25, 0.5]}
    assert load_text(tmp_path, json.dumps(document)).roc.asked_ == (0.25, 0.5)
    assert load_text(tmp_path, saved(release("ROC curve"))).asked_ == ()


@pytest.mark.parametrize("kind", ["ROC curve", "calibration", "evaluation", "cross-validation"])
def test_nothing_that_follows_is_in_a_file(kind):
    said = saved(release(kind))
    for key in ("auc", "band", "p_value", "statistic", "fpr", "tpr", "mean", "standard_error"):
        assert f'"{key}' not in said


@pytest.mark.parametrize(
    ("kind", "edits", "said"),
    [
        ("cross-validation", {"rows": {"value": 9.0}}, "missing"),
        ("cross-validation", {"fitted": [False, True]}, "of folds with a model"),
        ("cross-validation", {"fitted": [True]}, "length >= 2"),
        ("cross-validation", {"measure": "F1"}, "measure"),
        ("ROC curve", {"asked": [{}]}, "asked"),
        ("ROC curve", {"classes": {}}, "missing"),
        ("ROC curve", {"auc": 0.5}, "auc"),
        ("calibration", {"groups": {}}, "missing"),
        ("evaluation", {"model_privacy": {}}, "privacy"),
        ("quantiles", {"shares": [0.5]}, "column and share"),
        ("quantiles", {"ends": [[[0.0, 1.0]]]}, "two ends"),
        ("quantiles", {"grids": {"other": None}}, "grids"),
        ("quantiles", {"shares": [2.0, 0.5, 0.7]}, "<= 1"),
        ("selection", {"target": 1}, "target"),
        ("group comparison", {"shared": -1.0}, "shared"),
        ("survival curve", {"by": ""}, "columns of read_options"),
    ],
)
def test_edited_files_are_refused(kind, edits, said, tmp_path):
    assert said in refusal(tmp_path, json.dumps(document(kind) | edits))


def test_areas_are_those_of_a_class_that_a_file_names(tmp_path):
    found = document("cross-validation", 2)
    assert found["measure"] == "AUC"
    assert found["read_options"].pop("positive") == "true"
    assert "expected positive in read_options" in refusal(tmp_path, json.dumps(found))


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ({"borders": [0.0, 0.5, 0.25, 0.75, 1.0]}, "increase from 0 to 1"),
        ({"borders": [0.0, 0.25, 0.5, 0.75, 2.0]}, "increase from 0 to 1"),
        ({"excess_variance": [-1.0] * 4}, "variances of at least 0"),
        ({"positives": [1.0] * 3}, "for each group"),
        ({"positives": [1e308] * 4}, "sums of rows"),
        ({"excess": [-1e300] * 4}, "sums of rows"),
        ({"count_variance": [1e308] * 4}, "sums of rows"),
    ],
)
def test_impossible_groups_are_refused(edits, said, tmp_path):
    whole = document("calibration")
    size = len(whole["groups"]["table"]["positives"])
    assert size == 4
    whole["groups"]["table"] |= edits
    assert said in refusal(tmp_path, json.dumps(whole))


def test_what_is_not_fitted_is_not_saved(tmp_path):
    for unfitted in (nolook.ROCCurve(), nolook.HosmerLemeshow(), nolook.KendallSelector()):
        with pytest.raises(nolook.ParameterError, match="fitted"):
            nolook.save(unfitted, tmp_path / "a.json")
    assert not list(tmp_path.iterdir())


def test_units_come_back(tmp_path):
    test = release("calibration")
    kept = nolook.HosmerLemeshow(groups=4).keep_release(
        Calibrated(test.distribution_, test.table_),
        privacy=evolve(test.privacy_, unit=Unit("id", 3)),
        read_options=test.read_options_,
    )
    kept.scored_ = test.scored_
    assert kept.p_value_ is None
    assert load_text(tmp_path, saved(kept)).p_value_ is None
