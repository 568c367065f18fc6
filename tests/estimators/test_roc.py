from __future__ import annotations

import re
from decimal import Decimal

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from attrs import asdict
from sklearn.exceptions import NotFittedError
from sklearn.metrics import (
    auc,
    average_precision_score,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
)

import nolook
from nolook.algorithms.intervals import Measure
from nolook.errors import ParameterError
from tests.contracts.columns import COLUMNS, column

mpl.use("Agg")

GRID = nolook.LinearGrid(1 / 64, 1, 1 / 64)


def scored(rows=3000, seed=0):
    """Return scores on the thresholds of the grid, and the target."""
    generator = np.random.default_rng(seed)
    labels = (generator.random(rows) < 0.3).astype(int)
    scores = 1 / (1 + np.exp(-generator.normal(size=rows) - labels))
    return np.ceil(scores * 64) / 64, labels


def assert_ordinary(curve):
    for rates in (curve.fpr_, curve.tpr_):
        assert (rates[0], rates[-1]) == (0.0, 1.0)
        assert (np.diff(rates) >= 0.0).all()
    assert (np.diff(curve.thresholds_) < 0.0).all()
    low, high = curve.auc_interval_
    assert 0.0 <= low <= curve.auc_ <= high <= 1.0
    assert np.isfinite(curve.band_).all()
    assert (curve.band_[1] <= curve.band_[2]).all()
    assert ((curve.precision_band_ >= 0.0) & (curve.precision_band_ <= 1.0)).all()
    low, high = curve.base_rate_interval_
    assert 0.0 <= low <= curve.base_rate_ <= high <= 1.0
    assert curve.n_positive_ >= 1.0
    assert curve.n_negative_ >= 1.0
    assert np.isfinite(curve.partial_auc(0.1))
    low, high = curve.average_precision_interval_
    assert 0.0 <= low <= curve.average_precision_ <= high <= 1.0
    precision, recall, _ = curve.precision_recall()
    assert ((precision >= 0.0) & (precision <= 1.0)).all()
    assert (np.diff(recall) <= 0.0).all()
    for measure in asdict(curve.at(0.5), recurse=False).values():
        if isinstance(measure, Measure):
            assert 0.0 <= measure.low <= measure.value <= measure.high < np.inf


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_without_noise_it_is_scikit_learns_curve(relation):
    scores, labels = scored()
    curve = nolook.ROCCurve(1e5, GRID, relation=relation).fit(scores, labels)
    fpr, tpr, thresholds = roc_curve(labels, scores, drop_intermediate=False)
    # There a score AT a threshold is called positive: our threshold is the one before.
    inside = np.searchsorted(-curve.thresholds_, -(thresholds[1:] - 1e-9))
    np.testing.assert_allclose(curve.fpr_[inside], fpr[1:], atol=1e-6)
    np.testing.assert_allclose(curve.tpr_[inside], tpr[1:], atol=1e-6)
    assert curve.auc_ == pytest.approx(auc(fpr, tpr), abs=1e-6)
    assert curve.n_positive_ == pytest.approx(labels.sum())
    for most in (0.05, 0.3, 1.0):
        wanted = roc_auc_score(labels, scores, max_fpr=most)
        assert curve.partial_auc(most) == pytest.approx(wanted, abs=1e-6)
        area, (low, high) = curve.partial_auc(most, return_interval=True)
        assert low <= area <= high < low + 0.1
    wanted = average_precision_score(labels, scores)
    assert curve.average_precision_ == pytest.approx(wanted, abs=1e-6)
    precision, recall, thresholds = curve.precision_recall()
    assert (precision[-1], recall[-1], thresholds[-1]) == (1.0, 0.0, np.inf)
    wanted = precision_recall_curve(labels, scores, drop_intermediate=False)
    inside = np.searchsorted(thresholds, wanted[2] - 1e-9, side="right") - 1
    np.testing.assert_allclose(precision[inside], wanted[0][:-1], atol=1e-6)
    np.testing.assert_allclose(recall[inside], wanted[1][:-1], atol=1e-6)


@pytest.mark.parametrize("cell", [1 / 64, 1 / 4])
def test_pairs_in_one_cell_are_told(cell):
    """The AUC of the scores themselves is within half of them of that on the grid."""
    scores, labels = scored()
    curve = nolook.ROCCurve(epsilon=1e6, grid=nolook.LinearGrid(cell, 1, cell))
    curve.fit(scores, labels)
    cells = np.ceil(scores / cell)
    tied = np.mean(cells[labels == 1][:, None] == cells[labels == 0])
    assert curve.tied_ == pytest.approx(tied, abs=1e-3)
    assert 0.0 < abs(curve.auc_ - roc_auc_score(labels, scores)) + 1e-9 < tied / 2


def test_a_coarse_grid_is_said_where_the_area_is():
    scores, labels = scored()
    for cell, said in ((1 / 64, False), (1 / 4, True)):
        curve = nolook.ROCCurve(epsilon=1e6, grid=nolook.LinearGrid(cell, 1, cell))
        words = " ".join(str(curve.fit(scores, labels).summary()).split())
        assert "Pairs in one cell" in words
        assert ("a finer grid may say otherwise" in words) is said


def test_whole_scores_have_whole_thresholds_and_true_ties(tmp_path):
    generator = np.random.default_rng(0)
    scores = generator.poisson(7, 13_000)
    labels = generator.random(scores.size) < 0.02 + 0.015 * scores
    curve = nolook.ROCCurve(2.0, random_state=0).fit(scores, labels)
    assert (curve.thresholds_[1:-1] % 1.0 == 0.0).all()
    found, (low, high) = curve.at(10), curve.auc_interval_
    assert found.threshold == 10.0
    assert found.sensitivity.value == pytest.approx(np.mean(scores[labels] > 10), abs=0.02)
    assert low < roc_auc_score(labels, scores) < high < low + 0.04
    # Of numbers of any kind those in one cell may be in any order.
    other = nolook.ROCCurve(2.0, random_state=0).fit(scores.astype(float), labels)
    assert np.ptp(other.auc_interval_) > np.ptp(curve.auc_interval_) + 0.5 * other.tied_
    path = tmp_path / "curve.json"
    nolook.save(curve, path)
    np.testing.assert_array_equal(nolook.load(path).auc_interval_, curve.auc_interval_)


@pytest.mark.parametrize("epsilon", [0.01, 1.0])
@pytest.mark.parametrize("score", [0, 1, 2**62, -(2**63)])
def test_equal_whole_scores_get_an_ordinary_answer(score, epsilon):
    labels = np.arange(300) > 20
    assert_ordinary(nolook.ROCCurve(epsilon).fit(np.full(300, score), labels))


def test_thresholds_reach_the_wanted_rates():
    scores, labels = scored()
    curve = nolook.ROCCurve(1e5, GRID).fit(scores, labels)
    negative, positive = scores[labels == 0], scores[labels == 1]
    for rate in (0.01, 0.2, 0.7):
        threshold = curve.threshold_at(fpr=rate)
        assert np.mean(negative > threshold) <= rate < np.mean(negative > threshold - 1 / 64)
        threshold = curve.threshold_at(tpr=rate)
        assert np.mean(positive > threshold) >= rate > np.mean(positive > threshold + 1 / 64)
    assert curve.threshold_at(tpr=0.0) == np.inf
    assert curve.threshold_at(fpr=1.0) == -np.inf


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e12])
def test_without_a_grid_any_units_will_do(scale):
    generator = np.random.default_rng(0)
    labels = generator.random(50_000) < 0.3
    scores = generator.normal(size=50_000) + labels
    curve = nolook.ROCCurve(1.0, random_state=0).fit(scale * scores, labels)
    assert curve.auc_ == pytest.approx(roc_auc_score(labels, scores), abs=0.01)
    assert isinstance(curve.grid_, nolook.LinearGrid)
    assert curve.threshold_at(fpr=0.1) == pytest.approx(1.28 * scale, abs=0.2 * scale)


def forms(scores, labels):
    """Return the same scores and target in every form they may have."""
    words = np.where(labels == 1, "yes", "no")
    missing = np.where(labels == 1, 1.0, np.nan)
    frame = pd.DataFrame({"score": scores, "label": labels})
    return {
        "booleans": (scores, labels == 1, 1),
        "lists": (scores.tolist(), labels.tolist(), 1),
        "other negatives": (scores, np.where(labels == 1, 7, np.arange(len(labels)) % 5), 7),
        "missing": (scores, missing, 1),
        "words": (scores, words, "yes"),
        "objects": (scores, [word if word == "yes" else None for word in words.tolist()], "yes"),
        "series": (frame["score"], frame["label"], 1),
        "nullable": (frame["score"], pd.Series(missing).astype("Int64"), 1),
        "categories": (frame["score"], pd.Series(words).astype("category"), "yes"),
        "polars": (pl.Series(scores), pl.Series(words), "yes"),
        "arrow": (pa.array(scores), pa.array(labels), 1),
        "columns": (scores[:, np.newaxis], labels[:, np.newaxis], 1),
        "one-column frame": (frame[["score"]], labels, 1),
    }


@pytest.mark.usefixtures("few_repeats")
@pytest.mark.parametrize("form", forms(*scored(4)))
def test_scores_and_target_come_in_many_forms(form):
    scores, labels = scored()
    expected = nolook.ROCCurve(1.0, GRID, random_state=0).fit(scores, labels)
    *data, positive = forms(scores, labels)[form]
    curve = nolook.ROCCurve(1.0, GRID, positive, random_state=0).fit(*data)
    np.testing.assert_array_equal(curve.tpr_, expected.tpr_)
    np.testing.assert_array_equal(curve.fpr_, expected.fpr_)


def test_a_table_of_score_and_target_will_do(tmp_path):
    scores, labels = scored()
    path = tmp_path / "scored.parquet"
    pd.DataFrame({"score": scores, "label": labels * 3, "else": 1}).to_parquet(path)
    table = nolook.read_table(path, "label", features=["score"])
    curve = nolook.ROCCurve(1.0, GRID, 3, random_state=0).fit(table)
    expected = nolook.ROCCurve(1.0, GRID, random_state=0).fit(scores, labels)
    np.testing.assert_array_equal(curve.tpr_, expected.tpr_)
    assert curve.read_options_["features"] == ["score"]


@pytest.mark.usefixtures("few_repeats")
@pytest.mark.parametrize(("relation", "grid"), [("add-remove", None), ("replace", GRID)])
def test_every_table_gets_an_ordinary_answer(relation, grid):
    for name in COLUMNS:
        labels = np.arange(2000) % 3 == 0
        curve = nolook.ROCCurve(0.5, grid, relation=relation, random_state=1)
        assert_ordinary(curve.fit(column(name, 2000), labels))
    for rows in (0, 1, 2):
        for classes in (0, 1):
            scores, labels = scored(rows)[0], np.full(rows, classes)
            assert_ordinary(nolook.ROCCurve(0.1, grid, relation=relation).fit(scores, labels))
    scores, labels = scored(2000)
    for far in (1e6, -1e300, np.inf, -np.inf):
        curve = nolook.ROCCurve(0.5, grid, relation=relation)
        assert_ordinary(curve.fit(np.where(labels == 1, far, scores), labels))


def test_the_ends_hold_whatever_the_noise():
    curve = nolook.ROCCurve(0.01, GRID).fit(*scored(100))
    assert (curve.fpr_[0], curve.fpr_[-1], curve.tpr_[0], curve.tpr_[-1]) == (0, 1, 0, 1)
    assert 0.0 <= curve.auc_ <= 1.0


def series(cells):
    return pd.Series(cells, dtype=object)


#: Cells that compare to numbers in ways of their own, some by an exception.
ODD = [
    *("a text", 10**400, None, 2.5, np.datetime64("2024"), b"1", Decimal("NaN"), Decimal("sNaN")),
    *((1, 2), [1], np.arange(2)),
]


def named(odd):
    return f"{type(odd).__name__}-{odd!s:.9}"


@pytest.mark.usefixtures("few_repeats")
@pytest.mark.parametrize(
    ("odd", "kind", "label"),
    [
        # Every day each cell in both kinds of columns, with each label in turn.
        pytest.param(
            odd,
            kind,
            label,
            id=f"{named(odd)}-{kind.__name__}-{type(label).__name__}",
            marks=[pytest.mark.slow] * ((i + j + k) % 3 > 0),
        )
        for i, odd in enumerate(ODD)
        for j, kind in enumerate([list, series])
        for k, label in enumerate([1, np.int64(1), np.float64(1.0)])
    ],
)
def test_no_class_decides_what_others_are(odd, kind, label):
    scores, labels = scored(100)
    expected = nolook.ROCCurve(1.0, GRID, random_state=0).fit(scores, np.append(labels[:99], 7))
    given = kind([*labels[:99].tolist(), odd])
    curve = nolook.ROCCurve(1.0, GRID, label, random_state=0).fit(scores, given)
    assert curve.auc_ == expected.auc_


@pytest.mark.filterwarnings("ignore::nolook.errors.OutsideGuarantee")
@pytest.mark.parametrize("odd", ODD, ids=named)
@pytest.mark.parametrize("classes", [(0, 1), (0.0, 1.0), (False, True)])
def test_no_target_makes_a_classifier_fail(odd, classes):
    scores, labels = scored(100)
    plain, given = (pd.Series([*labels[:99], last], dtype=object) for last in (None, odd))
    fits = [
        nolook.LogisticRegression(classes=classes, random_state=0).fit(scores[:, None], target)
        for target in (plain, given)
    ]
    assert fits[0].coef_ == fits[1].coef_


@pytest.mark.parametrize(
    "labels",
    [
        pa.array([2**53 + 1, 2**53, None] * 30),
        pl.Series([2**53 + 1, 2**53, None] * 30),
        pd.Series([2**53 + 1, 2**53, None] * 30, dtype="Int64"),
    ],
    ids=["arrow", "polars", "pandas"],
)
def test_a_missing_class_does_not_round_the_others(labels):
    scores = scored(90)[0]
    whole = np.array([2**53 + 1, 2**53, 0] * 30)
    for positive in (2**53, 2**53 + 1):
        curves = [
            nolook.ROCCurve(1.0, GRID, positive, random_state=0).fit(scores, given)
            for given in (whole, labels)
        ]
        assert curves[0].auc_ == curves[1].auc_


def test_a_class_that_is_not_utf_8_is_another_one():
    cells = pa.array([b"yes", b"\xff", b"no"] * 30, pa.binary())
    labels = pa.Array.from_buffers(pa.string(), 90, cells.buffers())
    scores = scored(90)[0]
    curves = [
        nolook.ROCCurve(1.0, GRID, "yes", random_state=0).fit(scores, given)
        for given in (np.array(["yes", "?", "no"] * 30), labels)
    ]
    assert curves[0].auc_ == curves[1].auc_


def test_no_message_tells_the_longest_class():
    scores, labels = scored(20)
    for given in (np.where(labels == 1, "yes", "a long word"), np.zeros(20, "M8[ns]")):
        with pytest.raises((ParameterError, nolook.TableError)) as caught:
            nolook.ROCCurve(1.0, GRID).fit(scores, given)
        assert re.search(r"target (holds words|is of type datetime64\[ns\]);", str(caught.value))


def test_questions_are_checked():
    with pytest.raises(NotFittedError):
        nolook.ROCCurve().partial_auc(0.1)
    curve = nolook.ROCCurve(1.0, GRID).fit(*scored(100))
    for wrong in ({}, {"fpr": 0.1, "tpr": 0.1}, {"fpr": 1.1}, {"tpr": -0.1}, {"fpr": np.nan}):
        with pytest.raises(ParameterError):
            curve.threshold_at(**wrong)
    for most in (0.0, 2.0, "all"):
        with pytest.raises(ParameterError, match="max_fpr"):
            curve.partial_auc(most)
    for threshold in (np.nan, np.inf, "all", True, None):
        with pytest.raises(ParameterError, match="threshold is not a finite number"):
            curve.at(threshold)


def test_stages_are_told():
    told = []
    nolook.ROCCurve().fit(*scored(100), progress=lambda *stage: told.append(stage))
    names = ["reading", "magnitudes", "range", "counts", "results"]
    assert told == [(name, i, 5) for i, name in enumerate(names)]


def test_the_plot_shows_curve_and_band():
    from matplotlib import pyplot as plt

    curve = nolook.ROCCurve(1.0, GRID).fit(*scored())
    axes = curve.plot()
    np.testing.assert_array_equal(axes.lines[-1].get_xydata().T, (curve.fpr_, curve.tpr_))
    assert len(axes.collections) == 1
    assert curve.plot(axes) is axes
    plt.close(axes.figure)


@pytest.mark.parametrize("make", [pd.Series, pl.Series])
@pytest.mark.parametrize("estimator", [nolook.ROCCurve(1.0), nolook.HosmerLemeshow(1.0)])
def test_results_have_the_names_of_series(make, estimator):
    risk, died = scored()
    named = make(risk, name="risk") if make is pd.Series else make("risk", risk)
    died = pd.Series(died, name="died")
    found = estimator.fit(named, died).scored_
    assert (found.score, found.target) == ("risk", "died")
    assert " of risk " in str(estimator.summary())
    found = estimator.fit(named.rename("died"), died).scored_
    assert (found.score, found.target) == ("died", "y")
    found = estimator.fit(risk, died.to_numpy()).scored_
    assert found.target == "y"
