from __future__ import annotations

import itertools
import math
import re
import sys
from functools import partial

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError

import nolook
from nolook.errors import ParameterError
from nolook.report.score_findings import calibration_picture, calibration_said, gaps_of_groups
from tests.contracts.columns import COLUMNS, column

mpl.use("Agg")


def scored(rows=5000, seed=0):
    """Return probabilities that are a little too small, and the target."""
    generator = np.random.default_rng(seed)
    probabilities = generator.beta(2, 5, rows)
    labels = (generator.random(rows) < probabilities).astype(int)
    return probabilities**1.2, labels


def published(fitted):
    """Return everything a fit publishes."""
    table, curve = fitted.table_, fitted.calibration_curve()
    return np.concatenate(
        [
            [fitted.statistic_, fitted.p_value_, fitted.degrees_of_freedom_],
            table.borders, table.positives, table.negatives, table.counts,
            table.expected_positives, table.expected_positives_error,
            table.observed_error, table.count_error, table.difference_error,
            curve.prob_true, curve.prob_pred, curve.counts, curve.errors,
            fitted.distribution_.counts,
        ]
    )  # fmt: skip


def assert_ordinary(fitted):
    assert np.isfinite(published(fitted)).all()
    borders, curve = fitted.table_.borders, fitted.calibration_curve()
    assert (borders[0], borders[-1]) == (0.0, 1.0)
    assert (np.diff(borders) > 0.0).all()
    assert fitted.degrees_of_freedom_ == len(borders) - 1 <= fitted.groups
    assert fitted.statistic_ >= 0.0
    assert 0.0 < fitted.p_value_ <= 1.0
    assert ((curve.prob_true >= 0.0) & (curve.prob_true <= 1.0)).all()
    assert ((curve.prob_pred >= borders[:-1]) & (curve.prob_pred <= borders[1:])).all()


@pytest.mark.parametrize("groups", [1, 2, 10, 100])
def test_without_noise_it_is_the_plain_statistic_and_curve(groups):
    probabilities, labels = scored(20_000)
    fitted = nolook.HosmerLemeshow(1e6, groups).fit(probabilities, labels)
    borders = fitted.table_.borders
    quantiles = np.quantile(probabilities, np.arange(1, groups) / groups, method="inverted_cdf")
    np.testing.assert_array_equal(borders[1:-1], np.unique(np.ceil(quantiles * 1024) / 1024))
    H = 0.0
    curve = fitted.calibration_curve()
    for q, (left, right) in enumerate(itertools.pairwise(borders)):
        inside = (probabilities > left) & (probabilities <= right)
        E1, O1 = probabilities[inside].sum(), labels[inside].sum()
        E0, O0 = inside.sum() - E1, inside.sum() - O1
        H += (O1 - E1) ** 2 / E1 + (O0 - E0) ** 2 / E0
        assert curve.prob_true[q] == pytest.approx(labels[inside].mean(), abs=1e-6)
        assert curve.prob_pred[q] == pytest.approx(probabilities[inside].mean(), abs=1e-6)
        assert curve.counts[q] == inside.sum()
    assert fitted.statistic_ == pytest.approx(H, rel=1e-4)
    shares = np.stack([curve.prob_true, curve.prob_pred])
    sampling = np.sqrt((shares * (1.0 - shares)).max(axis=0) / curve.counts)
    np.testing.assert_allclose(curve.errors, sampling, atol=1e-6)
    frame = fitted.to_frame()
    np.testing.assert_allclose(frame["high"] - frame["low"], 2 * 1.96 * sampling, rtol=1e-3)


def test_a_calibrated_model_passes_and_a_wrong_one_does_not():
    generator = np.random.default_rng(1)
    probabilities = generator.beta(2, 5, 20_000)
    labels = generator.random(20_000) < probabilities
    good, bad = (
        nolook.HosmerLemeshow(0.5, random_state=0).fit(given, labels)
        for given in (probabilities, probabilities**1.2)
    )
    assert good.p_value_ > 0.05
    assert bad.p_value_ < 0.001
    assert bad.statistic_ > 10 * good.statistic_
    curve = bad.calibration_curve()
    assert np.mean(curve.prob_true > curve.prob_pred) > 0.8
    assert np.abs(curve.prob_true - curve.prob_pred ** (1 / 1.2)).max() < 0.05


def test_probabilities_outside_count_as_the_nearest():
    probabilities, labels = scored()
    wild = np.where(probabilities > 0.6, np.inf, probabilities - 0.05)
    wild[:9] = [-0.0, -np.inf, -1e300, 1e300, 1.0, math.nextafter(1.0, 2.0), 5e-324, 2.0, -3.0]
    fitted, expected = (
        nolook.HosmerLemeshow(random_state=0).fit(one, labels) for one in (wild, wild.clip(0, 1))
    )
    np.testing.assert_array_equal(published(fitted), published(expected))


@pytest.mark.parametrize("epsilon", [0.1, 1e4])
@pytest.mark.parametrize("name", COLUMNS)
def test_a_degenerate_column_gets_an_ordinary_answer(name, epsilon):
    labels = np.arange(2000) % 3 == 0
    assert_ordinary(nolook.HosmerLemeshow(epsilon).fit(column(name, 2000), labels))


@pytest.mark.usefixtures("few_repeats")
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1e4])
def test_hardly_any_rows_or_one_class_get_an_ordinary_answer(epsilon):
    for rows in (0, 1, 2, 1000):
        for label in (0, 1):
            for probabilities in (scored(rows)[0], np.full(rows, 0.3), np.full(rows, float(label))):
                fitted = nolook.HosmerLemeshow(epsilon).fit(probabilities, np.full(rows, label))
                assert_ordinary(fitted)


def test_certain_probabilities_that_never_happen_are_refuted_with_a_finite_statistic():
    labels = np.zeros(1000, dtype=int)
    fitted = nolook.HosmerLemeshow(100.0).fit(np.ones(1000), labels)
    assert_ordinary(fitted)
    assert fitted.p_value_ == 0.0001
    right = nolook.HosmerLemeshow(100.0, random_state=0).fit(np.zeros(1000), labels)
    assert right.p_value_ > 0.01


def test_stages_are_told():
    told = []
    nolook.HosmerLemeshow().fit(*scored(100), progress=lambda *stage: told.append(stage))
    names = ["reading", "counts", "groups", "results"]
    assert told == [(name, i, 4) for i, name in enumerate(names)]


def test_the_plot_shows_points_and_errors():
    from matplotlib import pyplot as plt

    with pytest.raises(NotFittedError):
        nolook.HosmerLemeshow().calibration_curve()
    test = nolook.HosmerLemeshow().fit(*scored())
    curve, axes = test.calibration_curve(), test.plot()
    assert isinstance(curve, nolook.CalibrationCurve)
    alone = [line for line in axes.lines if line.get_linestyle() == "None"]
    points = np.concatenate([line.get_xydata() for line in alone])
    np.testing.assert_array_equal(points.T, (curve.prob_pred, curve.prob_true))
    lines = [line.get_xydata() for line in axes.lines if len(line.get_xdata()) == 2]
    errors = np.array([np.ptp(ends[:, 1]) for ends in lines if ends[0, 0] == ends[1, 0]])
    np.testing.assert_allclose(errors, 2 * 1.96 * curve.errors)
    assert test.plot(axes) is axes
    plt.close(axes.figure)


def test_without_matplotlib_the_plot_says_so(monkeypatch):
    test = nolook.HosmerLemeshow().fit(*scored(100))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ParameterError, match="matplotlib") as caught:
        test.plot()
    assert "\n" not in str(caught.value)


def test_the_picture_shows_where_the_points_are():
    generator = np.random.default_rng(0)
    probabilities = generator.beta(2, 60, 20_000)
    target = generator.random(20_000) < probabilities
    test = nolook.HosmerLemeshow(1.0).fit(probabilities, target)
    curve, across = test.calibration_curve(), calibration_picture(test, "p").across
    low, high = across.low, across.high
    room = 1.96 * curve.errors
    assert low <= min(curve.prob_pred.min(), max(0.0, (curve.prob_true - room).min()))
    assert max(curve.prob_pred.max(), (curve.prob_true + room).max()) <= high < 0.3


def miscalibrated(seed, rows=20_000):
    generator = np.random.default_rng(seed)
    probabilities = generator.beta(2, 5, rows)
    return probabilities, generator.random(rows) < probabilities**1.2


def test_intervals_of_gaps_cover_all_groups_together():
    many = miscalibrated(99, 1_000_000)[0]
    missed = narrow = 0
    for seed in range(30):
        fitted = nolook.HosmerLemeshow(1.0, random_state=seed).fit(*miscalibrated(seed))
        gaps, room, known = gaps_of_groups(fitted)
        assert known.all()
        group = np.searchsorted(fitted.table_.borders[1:-1], many)
        sizes = np.bincount(group, minlength=10)
        truth = np.bincount(group, many**1.2 - many, minlength=10) / sizes
        missed += bool((abs(gaps - truth) > room).any())
        narrow += bool((abs(gaps - truth) > 0.5 * room).any())
    assert missed <= 5  # 1.5 are expected
    assert narrow >= 10


def test_a_verdict_has_a_size():
    said = calibration_said(nolook.HosmerLemeshow(1.0, random_state=1).fit(*miscalibrated(1)))
    assert "percentage points fewer are positive" in said
    right = np.random.default_rng(2).beta(2, 5, 20_000)
    target = np.random.default_rng(3).random(20_000) < right
    fine = calibration_said(nolook.HosmerLemeshow(1.0, random_state=1).fit(right, target))
    assert "in each group the share of positives is within" in fine
    few = calibration_said(
        nolook.HosmerLemeshow(0.1, random_state=1).fit(right[:200], target[:200])
    )
    assert "could stay hidden" in few or "no single group" in few.lower()


def test_the_table_has_observed_and_predicted_shares():
    right = np.random.default_rng(2).beta(2, 5, 20_000)
    target = np.random.default_rng(3).random(20_000) < right
    test = nolook.HosmerLemeshow(1.0, random_state=1).fit(right, target)
    (table,) = (each for each in test.content().sections[0].printed if hasattr(each, "rows"))
    curve = test.calibration_curve()
    assert table.heads[1:3] == ("Observed", "Predicted")
    for row, observed, predicted in zip(table.rows, curve.prob_true, curve.prob_pred, strict=True):
        for cell, share in zip(row[1:3], (observed, predicted), strict=True):
            value, low, high = map(float, re.findall(r"[\d.]+", cell))
            assert low <= value <= high
            assert abs(value - 100 * share) <= 0.5


WHOLE = np.arange(40) % 2


@pytest.mark.parametrize(
    "given",
    [WHOLE, WHOLE[:, None].astype(np.uint8), pd.Series(WHOLE), pl.Series(WHOLE), pa.array(WHOLE)],
    ids=lambda each: type(each).__name__,
)
def test_probabilities_of_an_integer_type_are_refused(given, costs_nothing):
    test = nolook.HosmerLemeshow(1.0)
    said = costs_nothing(partial(test.fit, given, WHOLE == 1), "are of type integer")
    assert "needs probabilities" in said
    with pytest.raises(NotFittedError):
        test.calibration_curve()
    test.fit(WHOLE.astype(np.float64), WHOLE == 1)
    nolook.ROCCurve(1.0).fit(given, WHOLE == 1)
