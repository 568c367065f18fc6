"""What every release promises whatever the process's settings and its other threads."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import threadpoolctl

import nolook
from tests.contracts.columns import COLUMNS, column
from tests.contracts.distributions import DISTRIBUTIONS
from tests.contracts.estimators import ESTIMATORS
from tests.contracts.selectors import SELECTORS
from tests.report.hand_made import probable

# What intervals simulate is tested in tests/algorithms.
pytestmark = pytest.mark.usefixtures("few_repeats")

ROWS = 600


def table(name, place):
    """Return a table with one odd column: a feature, or the target."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(ROWS, 4))
    y = X @ np.array([1.0, 2.0, 0.0, -1.0])
    odd = column(name, ROWS)
    if place == "label":
        return X, odd
    X[:, 1] = odd
    return X, y


def one_column(row, name):
    """Return the arguments of a distribution's `fit`, the first one odd."""
    _, *others = row.data(ROWS, 0)
    return column(name, ROWS), *others


def quantiles(values, **around):
    return nolook.quantiles(values.reshape(-1, 1), (0.1, 0.5), epsilon=1.0, **around)


def pipeline():
    selector, model = nolook.KendallSelector(k=2), nolook.LinearRegression()
    return nolook.PrivatePipeline(selector, model, epsilon=1.0, delta=1e-6)


def evaluated(odd, **around):
    X = np.stack([odd, np.ones(ROWS)], axis=1)
    return nolook.evaluate(probable(1.0, 0.5), X, np.arange(ROWS) % 3 == 0, **around)


CASES = {
    **{
        f"{name}, odd {place}": lambda odd, row=row, place=place, **around: row.make().fit(
            *table(odd, place), **around
        )
        for name, row in ESTIMATORS.items()
        for place in ("feature", "label")
    },
    **{
        f"{name}, odd {place}": lambda odd, row=row, place=place, **around: row.make(k=2).fit(
            *table(odd, place), **around
        )
        for name, row in SELECTORS.items()
        for place in ("feature", "label")
    },
    **{
        name: lambda odd, row=row, **around: row.make().fit(*one_column(row, odd), **around)
        for name, row in DISTRIBUTIONS.items()
    },
    "quantiles": lambda odd, **around: quantiles(column(odd, ROWS), **around),
    "pipeline": lambda odd, **around: pipeline().fit(*table(odd, "feature"), **around),
    "evaluation": lambda odd, **around: evaluated(column(odd, ROWS), **around),
}


@pytest.mark.parametrize(
    ("release", "first"),
    [
        # Every day each release with a sixth of the columns, each of these with a sixth.
        pytest.param(
            release, first, marks=[pytest.mark.slow] * ((i + first) % 6 > 0), id=f"{name}-{first}"
        )
        for i, (name, release) in enumerate(CASES.items())
        for first in range(6)
    ],
)
def test_no_cell_becomes_an_exception_whatever_the_settings(release, first):
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        for odd in COLUMNS[first::6]:
            release(odd)


@pytest.mark.parametrize(
    "release",
    [
        # All by the same lines: every day a third of the releases.
        pytest.param(release, id=name, marks=[pytest.mark.slow] * (i % 3 > 0))
        for i, (name, release) in enumerate(CASES.items())
    ],
)
def test_blas_has_one_thread_in_a_release_and_its_own_afterwards(release):
    found = threadpoolctl.ThreadpoolController().select(user_api="blas").lib_controllers
    libraries = [one for one in found if getattr(one, "threading_layer", "") != "disabled"]
    seen = []
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        release("years", progress=lambda *_: seen.append({one.num_threads for one in libraries}))
        assert {one.num_threads for one in libraries} == {2}
    assert seen
    assert all(threads == {1} for threads in seen)


def test_predictions_are_undisturbed():
    X, y = table("years", "feature")
    model = ESTIMATORS["AdaSSPRegressor"].make().fit(X, y)
    with np.errstate(all="raise"):
        assert np.isfinite(model.predict(np.full((3, X.shape[1]), 5e-324))).all()
        assert np.isfinite(model.predict(np.full((3, X.shape[1]), 1e308))).all()
