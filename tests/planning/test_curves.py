"""The curves that plans are read from: points computed again, and what lies between them."""

from __future__ import annotations

import json
import warnings
from importlib.resources import files

import numpy as np
import pytest

from nolook.planning.curves import Curve, curve_of
from scripts import planning_curves
from scripts.planning_tables import KINDS, classes, simulate

SHIPPED = json.loads(files("nolook.planning").joinpath("curves.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("method", "rows", "columns"),
    [
        ("linear", 300, 1),
        pytest.param("linear", 1_000, 3, marks=pytest.mark.slow),
        pytest.param("logistic", 300, 3, marks=pytest.mark.slow),
        pytest.param("adassp", 1_000, 3, marks=pytest.mark.slow),
        pytest.param("poisson", 300, 1, marks=pytest.mark.slow),
        pytest.param("additive", 300, 1, marks=pytest.mark.slow),
    ],
)
def test_points_of_models_come_out_again(method, rows, columns):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = np.array(planning_curves.of_model(method, rows, columns))
    place = planning_curves.ROWS.index(rows), planning_curves.COLUMNS.index(columns)
    for i, measure in enumerate(planning_curves.MEASURES):
        if measure in SHIPPED[method]:
            shipped = np.array(SHIPPED[method][measure])[place]
            wider = planning_curves.widened(method, measure, again[:, i])
            np.testing.assert_allclose(shipped, wider, rtol=0.02, atol=1e-4)


@pytest.mark.parametrize(
    "method",
    ["ecdf", *(pytest.param(name, marks=pytest.mark.slow) for name in ("roc", "calibration"))],
)
def test_points_of_distributions_come_out_again(method):
    product = 1_000
    again = np.array(planning_curves.of_distribution(method, product))
    own = SHIPPED[method]
    place = own["epsilon times rows"].index(product)
    # Curves are levelled from the left, which a single point cannot know.
    again = np.array(planning_curves.widened(method, "error", again[:1])[0])
    assert np.all(np.array(own["error"])[place] <= 1.01 * again)
    assert np.all(np.array(own["error"])[place] >= 0.3 * again)


@pytest.mark.parametrize(
    ("method", "measure"), [(m, n) for m in SHIPPED for n in SHIPPED[m] if curve_of(m, n)]
)
def test_more_budget_never_tells_less_and_ends_are_in_order(method, measure):
    curve = curve_of(method, measure)
    if measure in curve.axes:
        return
    values = curve.values
    assert np.isfinite(values).all()
    assert (np.diff(values, axis=-2) <= 1e-9).all()
    assert (values[..., 0] <= values[..., 2] + 1e-9).all()


def straight():
    """A curve whose logarithm is a plane."""
    axes = {"rows": np.array([1e2, 1e3, 1e4]), "mu": np.array([0.1, 1.0])}
    values = 1.0 / (axes["rows"][:, None] * axes["mu"])
    return Curve(axes, np.stack([values, 2 * values, 3 * values], axis=-1), logarithmic=True)


def test_between_points_logarithms_are_interpolated():
    found = straight().at(rows=500.0, mu=0.3)
    assert found.low == pytest.approx(1 / 150)
    assert found.high == pytest.approx(3 / 150)


def test_beyond_the_points_nothing_is_made_up():
    curve = straight()
    assert curve.at(rows=99.0, mu=0.5) is None
    assert curve.at(rows=500.0, mu=0.09) is None
    assert curve.at(rows=500.0, mu=7.0) == curve.at(rows=500.0, mu=1.0)
    # Ten times the most rows: as many, with a tenth of the noise for their number.
    assert curve.at(rows=1e5, mu=0.05) == curve.at(rows=1e4, mu=0.5)


@pytest.mark.parametrize("name", KINDS)
def test_simulated_tables_are_what_their_kind_says(name):
    kind = KINDS[name]
    X, y = simulate(kind, 60_000, 9, np.random.default_rng(1))
    assert X.std(axis=0) == pytest.approx(np.full(9, 1.0 if not kind.wrong else X.std()), rel=0.2)
    assert classes(kind, y).mean() == pytest.approx(kind.positive, abs=0.01)
    right = X if not kind.wrong else np.where(np.abs(X) > 5, X / 10, X)
    design = np.column_stack([right, np.ones(len(y))])
    rest = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    assert 1 - rest.var() / y.var() == pytest.approx(kind.r2, abs=0.05)
    # Of two normal columns.
    assert np.corrcoef(X[:, 0], X[:, 4])[0, 1] == pytest.approx(kind.correlation, abs=0.03)
