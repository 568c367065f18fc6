"""The accuracy of a release, measured against the rows themselves: never for real data.

Plans and their benchmark measure with the same functions.
"""

from __future__ import annotations

import math
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
from attrs import frozen
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.metrics import d2_tweedie_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nolook._arrays import Vector
from nolook.estimators.calibration import HosmerLemeshow
from nolook.estimators.comparison import compare_groups
from nolook.estimators.ecdf import ECDF
from nolook.estimators.roc import ROCCurve
from nolook.estimators.survival import survival
from nolook.estimators.tabulation import describe
from nolook.planning.curves import WIDEST
from nolook.tables import read_table

Target: TypeAlias = Literal["number", "class", "count"]

_LEAST = 1e-9
_PLACES = np.arange(0.01, 1.0, 0.01)
_QUARTILES = np.array([0.25, 0.5, 0.75])


@frozen
class Outcome:
    """The accuracy of one fit.

    `interval` is half the width of the narrowest interval of a column, `median` the half width that
    half of the columns do not exceed: the effect of a standard deviation of the column, in standard
    deviations of the target (or in log-odds, or in logarithms of the mean). `loss` is what R2 (or
    the area under the ROC curve, or the share of deviance explained) lacks, and at least 0.
    `hidden` is the share of the columns without an interval, or with one that says nothing.
    """

    interval: float
    median: float
    loss: float
    hidden: float


def plain_line(X: Vector, y: Vector, of: Target) -> Any:
    """Return the model without privacy that has a straight line for each column."""
    models = {
        "number": LinearRegression(),
        "class": LogisticRegression(C=1e6, max_iter=300),
        "count": PoissonRegressor(alpha=0.0, solver="newton-cholesky", max_iter=300),
    }
    return make_pipeline(StandardScaler(), models[of]).fit(X, y)


def plain_curves(X: Vector, y: Vector, of: Target) -> Any:
    """Return a model without privacy that has a curve for each column: boosted steps."""
    boosted: Any = HistGradientBoostingRegressor
    shape = {"loss": "poisson" if of == "count" else "squared_error"}
    if of == "class":
        boosted, shape = HistGradientBoostingClassifier, {}
    return boosted(interaction_cst="no_interactions", random_state=0, **shape).fit(X, y)


def explained(model: Any, X: Vector, y: Vector, of: Target) -> float:
    """Return R2, the area under the ROC curve, or the share of deviance explained."""
    if of == "class":
        return float(roc_auc_score(y, model.decision_function(X)))
    # A predicted mean of 0 or of infinity is no number that a deviance can be computed of.
    ends = (_LEAST, 1.0 / _LEAST) if of == "count" else (None, None)
    return float(d2_tweedie_score(y, model.predict(X).clip(*ends), power=int(of == "count")))


def of_model(model: Any, X: Vector, y: Vector, of: Target, plain: float) -> Outcome:
    """Measure a private model; `plain` is what one without privacy explains of the same rows."""
    halves = np.full(X.shape[1], WIDEST)
    if getattr(model, "coef_interval_", None) is not None:
        low, high = model.coef_interval_.T
        units = X.std(axis=0) / (y.std() if of == "number" else 1.0)
        found = (high - low) / 2 * units
        # A constant column has neither an effect nor an interval.
        halves = np.where(np.isnan(found) | (units == 0.0), WIDEST, np.minimum(found, WIDEST))
    median = np.quantile(halves, 0.5, method="higher")
    loss = plain - explained(model, X, y, of)
    hidden = float(np.mean(halves >= WIDEST))
    return Outcome(float(halves.min()), float(median), min(max(loss, 0.0), 1.0), hidden)


def share_error(values: Vector, epsilon: float, seed: int) -> float:
    """Return the error of a column's shares up to its percentiles, root mean square."""
    found = ECDF(epsilon, random_state=seed).fit(values).distribution_
    # The threshold that each percentile counts as.
    places = np.searchsorted(found.points, np.quantile(values, _PLACES)).clip(
        max=len(found.points) - 2
    )
    thresholds = found.points[places]
    true = np.searchsorted(np.sort(values), thresholds, side="right") / len(values)
    return _size(found.cdf(thresholds) - true)


def quantile_error(values: Vector, epsilon: float, seed: int) -> float:
    """Return the error of a column's quartiles in its standard deviations, at most `WIDEST`."""
    found = ECDF(epsilon, random_state=seed).fit(values).distribution_
    wrong = found.ppf(_QUARTILES) - np.quantile(values, _QUARTILES)
    return min(_size(wrong / values.std()), WIDEST)


def area_error(scores: Vector, target: Vector, epsilon: float, seed: int) -> float:
    """Return the error of the area under the ROC curve."""
    curve = ROCCurve(epsilon, random_state=seed).fit(scores, target)
    return abs(float(curve.auc_ - roc_auc_score(target, scores)))


def group_error(chances: Vector, target: Vector, epsilon: float, seed: int) -> float:
    """Return the error of the share of positive rows in a calibration's groups, root mean square.

    Every row counts once: groups are of different sizes.
    """
    table = HosmerLemeshow(epsilon, random_state=seed).fit(chances, target).table_
    group = np.searchsorted(table.borders[1:-1], chances, side="left")
    rows = np.bincount(group, minlength=len(table.counts))
    positive = np.bincount(group, target, minlength=len(table.counts))
    said = np.divide(table.positives, table.counts, out=np.zeros(len(rows)), where=table.counts > 0)
    wrong = said.clip(0.0, 1.0) - positive / np.maximum(rows, 1)
    return float(math.sqrt(np.average(np.square(wrong), weights=rows)))


def comparison_error(values: Vector, second: Vector, epsilon: float, seed: int) -> float:
    """Return the error of the probability that a value of the second of two groups is higher."""
    table = read_table(pa.table({"value": values, "second": second > 0.0}))
    found = compare_groups(table, "value", "second", epsilon=epsilon, random_state=seed)
    (pair,) = found.pairs
    known = 0.5 if pair.exceeds is None else pair.exceeds.value
    return abs(float(known - roc_auc_score(second > 0.0, values)))


def curve_error(ends: Vector, seen: Vector, epsilon: float, seed: int) -> float:
    """Return the error of survival at tenths of the times, root mean square.

    A curve that ends before is taken as level from there on.
    """
    times, happened = np.minimum(ends, seen), ends <= seen
    table = read_table(pa.table({"time": times, "event": happened}))
    (found,) = survival(table, "time", "event", epsilon=epsilon, random_state=seed).curves
    order = np.argsort(times)
    at_risk = np.arange(times.size, 0, -1)
    true = np.cumprod(1.0 - happened[order] / at_risk)
    tenths = np.arange(1, 10) * times.size // 10
    return _size(np.interp(times[order][tenths], found.times, found.survival) - true[tenths])


def description_errors(values: Vector, epsilon: float, seed: int) -> tuple[float, float]:
    """Return errors of a column's mean and quartiles in its deviations, each at most `WIDEST`."""
    table = read_table(pa.table({"value": values}))
    measured = describe(table, epsilon=epsilon, delta=0.0, random_state=seed).measured
    found = [each for each in measured if each.at is None or each.at in _QUARTILES]
    asked = {"mean": [float(values.mean())], "quantile": np.quantile(values, _QUARTILES)}
    errors = []
    for name, true in asked.items():
        own = np.array([each.estimates.value[0] for each in found if each.name == name])
        wrong = np.nan_to_num((own - true) / values.std(), nan=WIDEST)
        errors.append(min(_size(wrong), WIDEST))
    return errors[0], errors[1]


def _size(errors: Vector) -> float:
    return float(math.sqrt(np.mean(np.square(errors))))
