"""The figures the project promises, measured by its own benchmarks on fewer runs."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import (
    accuracy,
    boosting,
    fit,
    intervals,
    regressors,
    roc,
    selection_choices,
    sublasso,
    tukey,
)
from nolook.algorithms.kendall_selection import kendall_selection
from nolook.privacy.guarantee import PureEvent
from nolook.privacy.noise import SeededSource
from nolook.tables import table_from_arrays
from nolook.tables.folding import CACHE_BYTES
from papers.barczewski2024.scores import scored
from papers.swope2024.tables import synthetic
from tests.thresholds import LASSO_SPEED, MEAN_AUC_ERROR, TUKEY_R2

pytestmark = pytest.mark.slow


def test_accuracy_on_real_tables(shared_data):
    shared_data("README.md")
    budget, methods = (accuracy.EPSILON, accuracy.DELTA), [accuracy.OURS]
    scores = []
    for _, X, y in accuracy.tables():
        found = accuracy.compare(X, y, budget, accuracy.splits(len(y), 3), methods)
        scores.append([found[accuracy.BASE], found[accuracy.OURS]])
    scores = np.array(scores)
    assert len(scores) == 20
    gaps = np.median(scores[:, 0] - scores[:, 1], axis=1)
    assert np.median(gaps) <= 0.01
    assert np.sum(gaps <= 0.10) >= 17
    assert (np.median(scores[:, 1], axis=1) > 0).all()
    assert scores[:, 1].min() > -0.5


@pytest.mark.parametrize("kind", intervals.KINDS[:5], ids=str)
def test_intervals_cover_the_truth(kind):
    runs = np.array([intervals.one_run(kind, seed) for seed in range(12)])
    assert np.nanmean(runs[:, 0]) >= 0.90  # of the intervals that are given
    of_r2 = runs[~np.isnan(runs[:, 3]), 3]  # where noise does not hide it
    assert of_r2.size == 0 or of_r2.mean() >= 0.75  # of 12, 95 % would miss this once in 450
    # A useless interval covers as well. These are wide, since they hold for every column of heavy
    # tails too; the page on intervals says how wide.
    assert np.nanmean(runs[:, 1]) < 20 * runs[:, 2].mean()


@pytest.mark.wallclock
def test_time_and_memory_of_a_fit_from_one_row_group(tmp_path):
    path = tmp_path / "table.parquet"
    fit.write_table(path, fit.MILLION, "one")
    ratios = []
    while len(ratios) < 3 and min(ratios, default=2.0) > 1.5:  # other programs may run beside this
        theirs, _ = fit.run(fit.BASELINE, path)
        ours, peak = fit.run(fit.OURS, path)
        ratios.append(ours / theirs)
        assert peak <= 600 + CACHE_BYTES / 2**20
    assert min(ratios) <= 1.5


@pytest.mark.parametrize(("name", "least"), TUKEY_R2.items())
def test_tukey_regression_reaches_what_is_wanted(shared_data, name, least):
    shared_data("README.md")
    found = regressors.scores("tukey", *regressors.table(name), runs=5)
    assert np.median(found) >= least


@pytest.mark.parametrize("method", ["boosted-adassp", "adassp", "dpsgd"])
@pytest.mark.parametrize("name", ["amin_nba", "amin_california", "visualizing_soil"])
def test_the_other_regressors_come_close_to_least_squares(shared_data, name, method):
    shared_data("README.md")
    X, y = regressors.table(name)
    best = regressors.LeastSquares().fit(X, y).score(X, y)
    assert regressors.scores(method, X, y, runs=3).min() > best - 0.08


@pytest.mark.wallclock
def test_speed_of_the_tukey_regression():
    # Half of what its results must show: other programs may run beside the tests.
    X, y = tukey.table(tukey.ROWS, tukey.FEATURES)
    models = [tukey.plain_models, tukey.our_models]
    plain, ours = tukey.timings(models, X, y, tukey.MODELS, repeats=5)
    assert plain > 30 * ours
    fits = [tukey.plain_fit, tukey.our_mechanism, tukey.our_fit]
    plain, alone, whole = tukey.timings(fits, X, y, tukey.MODELS, repeats=3)
    assert plain > 12.5 * alone
    assert plain > 4 * whole
    assert tukey.exact_seconds(tukey.MODELS, tukey.FEATURES + 1) < 0.05


@pytest.mark.wallclock
def test_speed_of_a_round_of_boosted_adassp():
    work = boosting.programs()
    turns = [{name: boosting.seconds_of_a_round(work[name]) for name in work} for _ in range(5)]
    plain, ours = (
        np.median([turn[name] for turn in turns]) for name in ("NumPy, rows together", "nolook")
    )
    assert plain > 1.4 * ours
    assert boosting.agreement() < 1e-3


@pytest.mark.parametrize(("name", "most"), MEAN_AUC_ERROR.items())
def test_the_area_under_a_private_roc_curve(shared_data, name, most):
    table = scored(name, shared_data(f"{name}.parquet").parent)
    # The mean of few runs may be off by half.
    assert (roc.errors(table, runs=20) <= 1.5 * most).all()


def test_the_benchmark_of_kendall_selection_runs_the_published_algorithm():
    made = synthetic(40, 60, 4)
    X, y = made.X, made.y
    X[:, 5] = X[:, 6]
    X[:, 7] = np.rint(X[:, 7])
    table = table_from_arrays(X, y)
    expected = kendall_selection(table, 6, PureEvent("features", 1e6), SeededSource(0))
    runs = selection_choices.kendall_selections(X, y, 6, [1e6, 0.1, 1e6], SeededSource(0))
    np.testing.assert_array_equal(runs[[0, 2]], [expected, expected])
    assert runs[1].tolist() != expected


@pytest.mark.wallclock
def test_speed_of_lasso_selection():
    # Half of what its results must show: other programs may run beside the tests.
    X, y = sublasso.table()
    turns = sublasso.speed(X, y, sublasso.MODELS, "0.1", 3)
    assert max(plain / ours for plain, ours in turns) > LASSO_SPEED / 2
    assert sublasso.agreement(X, y, sublasso.MODELS, 0.1, sublasso.K)[0]
