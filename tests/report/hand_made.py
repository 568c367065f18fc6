"""A fitted model made by hand, so that the report can be tested without fitting anything."""

from __future__ import annotations

import numpy as np
from attrs import evolve

from nolook import AdditiveRegression, LinearRegression, PrivacyGuarantee
from nolook.algorithms.glm.additive_inference import ColumnCurve
from nolook.algorithms.scaling import NoisyCount, ScaleSearch, Scaling
from nolook.algorithms.whitening import Spread
from nolook.errors import PrivateFitFailed
from nolook.estimators.base import PrivateRegressor
from nolook.estimators.catalogue import METHODS
from nolook.privacy.guarantee import GaussianEvent
from nolook.privacy.ledger import charge
from papers.public_design import public_scaling

SCALES = ScaleSearch(1.0, target=False).events()[1].name
#: What a regression may estimate beside its coefficients.
ESTIMATES = (
    *("coef_interval_", "intercept_interval_"),
    *("r2_", "r2_interval_", "rmse_", "rmse_interval_"),
    *("median_error_", "median_error_interval_", "p90_error_", "p90_error_interval_"),
)
EVENTS = (GaussianEvent(SCALES, 0.09), GaussianEvent("moment matrix", 0.12))
#: What a regression may estimate beside its coefficients.
OPTIONAL = (
    *("coef_interval_", "intercept_interval_"),
    *("r2_", "r2_interval_", "rmse_", "rmse_interval_"),
    *("median_error_", "median_error_interval_", "p90_error_", "p90_error_interval_"),
)
CHOOSY = evolve(METHODS["tukey"], home="tests.report.hand_made.Choosy")


class Choosy(PrivateRegressor):
    """Stands in for a method with parameters of its own; its fit spends, then fails its test."""

    n_models: int | str = "auto"
    bound: float | None = None
    exact: bool = True
    on_failure: str = "raise"

    def fit(self, X, y=None, *, ledger=None, progress=None):  # noqa: ARG002
        with charge(ledger, guarantee(epsilon=self.epsilon, delta=self.delta), "choosy"):
            if self.on_failure == "raise":
                raise PrivateFitFailed("the private test failed; give more rows or on_failure")
        return make_constant(fitted(X.column_names, made_by=self))


def guarantee(events=EVENTS, *, epsilon=1.0, delta=1e-6, relation="add-remove", private=True):
    return PrivacyGuarantee(
        epsilon=epsilon, delta=delta, relation=relation, mechanisms=tuple(events), private=private
    )


def fitted(
    names=("age", "height", "income"), *, seed=0, read_options=None, made_by=None, **privacy
):
    """A model of the last of `names` from all others; numbers are arbitrary."""
    generator = np.random.default_rng(seed)
    features = len(names) - 1
    model = LinearRegression() if made_by is None else made_by
    scale = np.exp(generator.normal(size=features + 1))
    effect = 3 * generator.normal(size=features)
    margin = np.abs(generator.normal(size=features)) + 0.1
    ends = np.stack([effect - margin, effect + margin], axis=1)
    model.coef_ = effect / scale[:-1]
    model.coef_interval_ = ends / scale[:-1, None]
    model.intercept_ = 12.5
    model.intercept_interval_ = np.array([11.0, 14.0])
    model.r2_, model.r2_interval_ = 0.8125, np.array([0.75, 0.875])
    model.rmse_, model.rmse_interval_ = 2.25, np.array([2.0, 2.5])
    model.median_error_, model.median_error_interval_ = 1.5, np.array([1.25, 1.75])
    model.p90_error_, model.p90_error_interval_ = 3.75, np.array([3.5, 4.0])
    center = generator.normal(size=features + 1)
    detected = np.ones(features + 1, dtype=bool)
    model.scaling_ = Scaling(tuple(names), center, scale, detected)
    model.target_range_ = (float(model.scaling_.low[-1]), float(model.scaling_.high[-1]))
    model.privacy_ = guarantee(**privacy)
    if isinstance(model, AdditiveRegression):
        ends = zip(model.scaling_.low[:-1], model.scaling_.high[:-1], strict=True)
        model.curves_ = tuple(
            ColumnCurve(np.array(each), np.zeros(2), None, straight=True, share=0.0, below=None)
            for each in ends
        )
    model.n_features_in_ = features
    model.feature_names_in_ = np.array(names[:-1], dtype=object)
    model.read_options_ = read_options or {
        "features": list(names[:-1]),
        "categories": {},
        "missing": "drop-row",
    }
    return model


def without(model, *attributes):
    """The model of a method that does not estimate these, by default nothing optional at all."""
    for attribute in attributes or OPTIONAL:
        setattr(model, attribute, None)
    return model


def unclipped(model):
    """A model whose columns are hardly clipped, and whose target may be 0 and 1."""
    model.scaling_ = public_scaling(model.scaling_.names, 2.0, 1e300)
    model.target_range_ = (-4.0, 4.0)
    model.privacy_ = guarantee(EVENTS[1:])
    return model


def counted(model, rows=101_712.0, error=58.2):
    """A model that knows how many rows it was fitted to."""
    model._keep_rows(NoisyCount(rows, error))
    model.scaling_ = evolve(model.scaling_, rows=NoisyCount(rows, error))
    return model


def current(model, shares=None):
    """A model of the present `LinearRegression`, which knows how many rows were clipped."""
    found = np.zeros(len(model.scaling_.names)) if shares is None else shares
    model.clipped_share_ = np.array(found, dtype=np.float64)
    model.weight_norm_ = 2.5
    model.influence_bound_ = 3.5
    size = len(found) - 1
    model.spread_ = Spread(np.linspace(-1.0, 1.0, size), np.eye(size) + 0.25)
    return model


def withheld(model, *places):
    """A model without intervals at these places; -1 is the intercept's."""
    for place in places:
        if place == -1:
            model.intercept_interval_ = None
        else:
            model.coef_interval_[place] = np.nan
    return model


def choosing(model, *places):
    """A model of features chosen from its own release, the best first: it has no intervals."""
    left_out = np.ones(len(model.coef_), dtype=bool)
    left_out[list(places)] = False
    model.coef_[left_out] = 0.0
    model.k = len(places)
    model.chosen_ = np.array(places, dtype=np.intp)
    return withheld(model, *range(-1, len(model.coef_)))


def not_detected(model):
    """What is left of a model whose target did not stand out from the noise."""
    model.scaling_.detected[-1] = model.detected_ = False
    model.coef_, model.intercept_ = np.zeros_like(model.coef_), float(model.scaling_.center[-1])
    return without(counted(model))


def dropping(model, *places):
    """A model that left out the columns at these places: nothing in them stood out."""
    for place in places:
        model.scaling_.detected[place] = False
        model.coef_[place] = 0.0
    return model


def make_constant(model):
    """What is left of a model whose private test failed."""
    model.coef_ = np.zeros_like(model.coef_)
    model.failed_ = True
    return without(model)


class Probable(LinearRegression):
    """Stands in for a private model that gives probabilities: a line, bent at 0 and 1."""

    classes_ = np.array([0, 1])

    def predict_proba(self, X):
        """Return those of no and of yes."""
        yes = self.predict(X).clip(0.0, 1.0)
        return np.stack([1.0 - yes, yes], axis=1)


def probable(*slopes, intercept=0.0, **privacy):
    """A model of probabilities: `intercept` plus these slopes times x0, x1, ... for no clipping."""
    names = [*(f"x{place}" for place in range(len(slopes))), "y"]
    model = unclipped(fitted(names, made_by=Probable(), **privacy))
    del model.feature_names_in_
    model.coef_, model.intercept_ = np.array(slopes, dtype=np.float64), intercept
    model.privacy_ = guarantee(EVENTS[1:], **privacy)
    return model
