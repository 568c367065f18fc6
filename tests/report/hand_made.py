"""A fitted model made by hand, so that the report can be tested without fitting anything."""

from __future__ import annotations

import numpy as np

from nolook import LinearRegression, PrivacyGuarantee
from nolook.algorithms.scaling import Scaling
from nolook.privacy.guarantee import GaussianEvent

EVENTS = (GaussianEvent("column histograms", 0.09), GaussianEvent("moment matrix", 0.12))


def guarantee(events=EVENTS, *, epsilon=1.0, delta=1e-6, relation="add-remove", private=True):
    return PrivacyGuarantee(
        epsilon=epsilon, delta=delta, relation=relation, mechanisms=tuple(events), private=private
    )


def fitted(names=("age", "height", "income"), *, seed=0, recipe=None, **privacy):
    """A model of the last of `names` from all others; numbers are arbitrary."""
    generator = np.random.default_rng(seed)
    features = len(names) - 1
    model = LinearRegression()
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
    center = generator.normal(size=features + 1)
    visible = np.ones(features + 1, dtype=bool)
    model.scaling_ = Scaling(tuple(names), center, scale, visible)
    model.label_range_ = (float(model.scaling_.low[-1]), float(model.scaling_.high[-1]))
    model.privacy_ = guarantee(**privacy)
    model.n_features_in_ = features
    model.feature_names_in_ = np.array(names[:-1], dtype=object)
    if recipe is not None:
        model.recipe_ = recipe
    return model
