"""Files of quantiles, curves, calibrations, evaluations and selections: back as they were."""

from __future__ import annotations

import functools
import json

import numpy as np
import pytest
from attrs import evolve

import nolook
from nolook._unit import Unit
from nolook.errors import ModelFileError
from nolook.report.results import findings_of
from tests.formats.edited import refusal
from tests.formats.old_files import FOLDER
from tests.report.hand_made import probable

SCORE = {"value": 0.5, "error": 0.0, "interval": [0.5, 0.5]}
GRID = nolook.LinearGrid(0.125, 1, 0.125)


@functools.cache
def releases():
    generator = np.random.default_rng(0)
    first, second = generator.random((2, 2000))
    happened = generator.random(2000) < first
    X = np.column_stack([first, second])
    found = {
        "selection": nolook.KendallSelector(k=1).fit(X, happened),
        "quantiles": nolook.quantiles(X, grids={"x1": GRID}),
        "roc": nolook.ROCCurve(grid=GRID).fit(first, happened),
        "roc found": nolook.ROCCurve(smoothing=None).fit(first, happened),
        "roc replace": nolook.ROCCurve(relation="replace", pos_label="yes").fit(
            first, np.where(happened, "yes", "no")
        ),
        "roc seeded": nolook.ROCCurve(grid=GRID, random_state=1).fit(first, happened),
        "calibration": nolook.HosmerLemeshow(groups=4).fit(first, happened),
        "evaluation": nolook.evaluate(probable(1.0), first[:, np.newaxis], happened),
        "evaluation elsewhere": nolook.evaluate(
            nolook.LinearRegression(random_state=1).fit(X, happened), X, happened, other_rows=True
        ),
        "folds": nolook.cross_validate(nolook.LinearRegression(), X, first, epsilon=8.0),
        "folds of classes": nolook.cross_validate(
            nolook.LogisticRegression(), X, happened, folds=2, epsilon=8.0
        ),
        "folds unfitted": nolook.cross_validate(
            nolook.TukeyRegressor(), X[:100], first[:100], folds=2
        ),
    }
    assert found["roc found"].grid is None
    return found


KINDS = [
    *("selection", "quantiles", "roc", "roc found", "roc replace", "roc seeded", "calibration"),
    *("evaluation", "evaluation elsewhere", "folds", "folds of classes", "folds unfitted"),
]


def text_of(release, tmp_path):
    nolook.save(release, tmp_path / "a.json")
    return (tmp_path / "a.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_comes_back_as_it_was(kind, tmp_path):
    release = releases()[kind]
    text = text_of(release, tmp_path)
    again = nolook.load(tmp_path / "a.json")
    assert type(again) is type(release)
    assert findings_of(again) == findings_of(release)
    assert str(again.summary()) == str(release.summary())
    assert again.to_frame().equals(release.to_frame())
    assert text_of(again, tmp_path) == text


def test_a_file_of_folds_has_their_scores_and_no_models(tmp_path):
    found = releases()["folds"]
    text_of(found, tmp_path)
    again = nolook.load(tmp_path / "a.json")
    assert (again.scores, again.mean) == (found.scores, found.mean)
    assert len(found.models) == 5
    assert again.models == ()


def test_a_curve_from_a_file_answers_what_the_curve_did(tmp_path):
    curve = releases()["roc found"]
    text_of(curve, tmp_path)
    again = nolook.load(tmp_path / "a.json")
    assert again.at(0.5) == curve.at(0.5)
    assert again.partial_auc(0.2) == curve.partial_auc(0.2)
    assert again.threshold_at(tpr=0.5) == curve.threshold_at(tpr=0.5)


def places(value, path=()):
    """Yield the places of all numbers in a document."""
    if isinstance(value, dict | list):
        for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(entry, (*path, key))
    elif isinstance(value, float):
        yield path


# What was simulated from a seed may differ by library, and what is not derived is believed.
BELIEVED = {
    *("auc_interval", "average_precision_interval", "band", "precision_band", "p_value"),
    *("recipe", "budget", "privacy", "model_privacy", "n_rows", "n_rows_error", "pos_label"),
    *("released", "probabilities", "sums", "grid"),
}


@pytest.mark.parametrize("kind", ["roc", "calibration", "evaluation", "folds"])
def test_what_does_not_follow_from_the_release_is_refused(kind, tmp_path):
    document = json.loads(text_of(releases()[kind], tmp_path))
    derived = [path for path in places(document) if not BELIEVED & set(path)]
    generator = np.random.default_rng(0)
    for place in generator.choice(len(derived), min(25, len(derived)), replace=False):
        *path, key = derived[place]
        changed = json.loads(json.dumps(document))
        holder = functools.reduce(lambda part, step: part[step], path, changed)
        holder[key] += 0.01 * max(1.0, abs(holder[key]))
        message = refusal(tmp_path, json.dumps(changed))
        assert "\n" not in message


def test_believed_numbers_are_those_of_the_file(tmp_path):
    document = json.loads(text_of(releases()["roc"], tmp_path))
    document["auc_interval"] = [0.125, 0.875]
    (tmp_path / "a.json").write_text(json.dumps(document))
    np.testing.assert_array_equal(nolook.load(tmp_path / "a.json").auc_interval_, [0.125, 0.875])


@pytest.mark.parametrize(
    ("kind", "edits", "said"),
    [
        ("folds", {"mean": None}, "mean"),
        ("folds", {"n_rows": None}, "neither"),
        ("folds", {"folds": []}, "folds"),
        ("folds", {"measure": "F1"}, "measure"),
        ("folds unfitted", {"folds": [{"fitted": False, "score": SCORE}] * 2}, "without a model"),
        ("roc", {"smoothing": "none"}, "smoothing"),
        ("roc", {"band": {}}, "band"),
        ("roc", {"classified": [{}]}, "classified"),
        ("roc", {"released": {}}, "missing"),
        ("roc", {"extra": 1}, "extra"),
        ("calibration", {"groups": 0}, "groups"),
        ("calibration", {"sums": {}}, "missing"),
        ("evaluation", {"model_privacy": {}}, "privacy"),
        ("quantiles", {"shares": [0.5]}, "column and share"),
        ("quantiles", {"grids": {}}, "grids"),
        ("quantiles", {"shares": [2.0, 0.5, 0.7]}, "<= 1"),
        ("selection", {"target": 1}, "target"),
    ],
)
def test_edited_files_are_refused(kind, edits, said, tmp_path):
    document = json.loads(text_of(releases()[kind], tmp_path)) | edits
    assert said in refusal(tmp_path, json.dumps(document))


@pytest.mark.parametrize("name", ["people.roc.json", "federated.calibration.json"])
def test_curves_of_version_0_1_are_refused_in_words(name):
    with pytest.raises(ModelFileError, match=r"version 0\.1 wrote it without") as caught:
        nolook.load(FOLDER / name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["people.quantiles.json", "kendall.selection.json"])
def test_quantiles_and_selections_of_version_0_1_are_read(name):
    found = nolook.load(FOLDER / name)
    assert found.summary().text.startswith("Private ")
    assert len(found.to_frame())


def test_what_is_not_fitted_is_not_saved(tmp_path):
    for unfitted in (nolook.ROCCurve(), nolook.HosmerLemeshow(), nolook.KendallSelector()):
        with pytest.raises(nolook.ParameterError, match="fitted"):
            nolook.save(unfitted, tmp_path / "a.json")


def test_units_come_back(tmp_path):
    test = releases()["calibration"]
    kept = nolook.HosmerLemeshow(groups=4).keep_release(
        (test.distribution_, test.table_),
        privacy=evolve(test.privacy_, unit=Unit("id", 3)),
        recipe=test.recipe_,
    )
    kept.scored_ = test.scored_
    assert kept.p_value_ is None
    text_of(kept, tmp_path)
    assert nolook.load(tmp_path / "a.json").p_value_ is None
