"""A fit that is released as no better than a constant is that constant, and says so."""

from __future__ import annotations

import numpy as np
import pytest

import nolook
from nolook.algorithms.intervals import Measure
from nolook.estimators import tukey
from nolook.estimators.base import PrivateModel

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(8000, 2))
AMOUNTS = 5.0 + X @ [2.0, -1.0] + GENERATOR.normal(size=8000)
CLASSES = GENERATOR.random(8000) < 1 / (1 + np.exp(2.0 - 2.0 * X[:, 0]))
COUNTS = GENERATOR.poisson(np.exp(0.5 * X[:, 0] + 1.0))
WORSE = Measure(-0.2, -0.3, -0.1)

METHODS = {
    "linear": (nolook.LinearRegression, AMOUNTS, "r2"),
    "additive": (nolook.AdditiveRegression, AMOUNTS, "r2"),
    "logistic": (nolook.LogisticRegression, CLASSES, "pseudo_r2"),
    "additive logistic": (nolook.AdditiveClassifier, CLASSES, "pseudo_r2"),
    "poisson": (nolook.PoissonRegression, COUNTS, "deviance_explained"),
    "additive poisson": (nolook.AdditivePoissonRegression, COUNTS, "deviance_explained"),
    "tukey": (nolook.TukeyRegressor, AMOUNTS, "r2"),
}


def predicted(model):
    return model.predict_proba(X)[:, 1] if hasattr(model, "predict_proba") else model.predict(X)


@pytest.mark.parametrize("method", METHODS)
def test_what_is_no_better_than_a_constant_is_a_constant(method, monkeypatch, tmp_path):
    estimator, y, measure = METHODS[method]
    keep = PrivateModel._keep_measures

    def worse(model, found):
        keep(model, {**found, measure: WORSE if found[measure] else None})

    monkeypatch.setattr(PrivateModel, "_keep_measures", worse)
    monkeypatch.setattr(tukey, "r2_estimate", lambda *_: (WORSE.value, WORSE.ends))
    model = estimator(3.0, 1e-6, random_state=0).fit(X, y)
    predictions = predicted(model)
    assert np.ptp(predictions) == 0.0
    assert predictions[0] == pytest.approx(y.mean(), rel=0.15)
    assert not model.coef_.any()
    assert model.coef_interval_ is None
    assert getattr(model, f"{measure}_") is None
    assert model.failed_ or not model.detected_
    text = str(model.summary())
    assert "no better than a constant" in text or "did not stand out from the noise" in text
    nolook.save(model, tmp_path / "model.json")
    np.testing.assert_array_equal(predicted(nolook.load(tmp_path / "model.json")), predictions)


@pytest.mark.parametrize("method", METHODS)
def test_what_is_better_stays(method):
    estimator, y, measure = METHODS[method]
    model = estimator(3.0, 1e-6, random_state=0).fit(X, y)
    assert getattr(model, f"{measure}_") > 0.1
    assert np.ptp(predicted(model)) > 0.0


@pytest.mark.parametrize("method", ["adassp", "boosted"])
def test_methods_that_release_no_fit_say_nothing_of_it(method):
    """Nothing that they release shows how well a model predicts, so nothing replaces it."""
    estimators = {"adassp": nolook.AdaSSPRegressor, "boosted": nolook.BoostedAdaSSPRegressor}
    model = estimators[method](3.0, 1e-6, random_state=0).fit(X, AMOUNTS)
    assert model.r2_ is None
    assert model.rmse_ is None
    assert np.ptp(model.predict(X)) > 0.0


def test_a_fit_that_noise_hides_is_not_called_one_that_the_method_does_not_estimate(monkeypatch):
    monkeypatch.setattr(tukey, "r2_estimate", lambda *_: None)
    model = nolook.TukeyRegressor(3.0, 1e-6, random_state=0).fit(X, AMOUNTS)
    said = " ".join(str(model.summary()).split())
    assert "The accuracy of its predictions is not distinguishable from noise." in said
    assert "How well the model fits is not distinguishable from noise" in said
    assert "does not estimate how well" not in said
