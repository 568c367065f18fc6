"""The main table of each kind of release as a pandas frame: numbers, not words, and unrounded."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np

from nolook.algorithms.roc_noise import NORMAL_95
from nolook.errors import ParameterError
from nolook.estimators._selector import chosen_columns
from nolook.estimators.pipeline import regression_of
from nolook.report.coefficient_findings import features_used
from nolook.report.logistic_words import classifies

if TYPE_CHECKING:
    import pandas as pd

    from nolook.estimators._selector import PrivateSelector
    from nolook.estimators.base import PrivateRegressor
    from nolook.estimators.calibration import HosmerLemeshow
    from nolook.estimators.ecdf import ECDF
    from nolook.estimators.evaluation import Evaluation
    from nolook.estimators.folds import CrossValidation
    from nolook.estimators.quantiles import Quantiles
    from nolook.estimators.roc import ROCCurve
    from nolook.estimators.scaler import QuantileScaler

__all__ = [
    "calibration_frame",
    "coefficient_frame",
    "curve_frame",
    "distribution_frame",
    "evaluation_frame",
    "folds_frame",
    "frame",
    "quantile_frame",
    "scale_frame",
    "selection_frame",
]


def frame(columns: dict[str, Any], index: str | None = None) -> pd.DataFrame:
    """Return columns as a frame, one of them as its index."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ParameterError(
            "to_frame needs pandas; expected it to be installed (pip install nolook[pandas])"
        ) from error
    made = pd.DataFrame(columns)
    return made if index is None else made.set_index(index)


def coefficient_frame(model: PrivateRegressor) -> pd.DataFrame:
    """Return the coefficients with their intervals, the intercept last."""
    part = regression_of(model)
    used = features_used(part)
    if not part.visible_:
        used = np.zeros_like(used)
    values = np.append(part.coef_[used], part.intercept_)
    ends = np.full((len(values), 2), np.nan)
    if part.coef_interval_ is not None:
        ends[:-1] = part.coef_interval_[used]
    if part.intercept_interval_ is not None:
        ends[-1] = part.intercept_interval_
    columns: dict[str, Any] = {
        "column": [*compress(part.scaling_.names, used.tolist()), "intercept"],
        "coefficient": values,
        "low": ends[:, 0],
        "high": ends[:, 1],
    }
    with np.errstate(over="ignore"):
        if classifies(part):
            log_odds = np.column_stack([values, ends])
            log_odds[-1] = np.nan  # of the intercept it is no ratio
            ratios = np.exp(log_odds).T
            names = ("odds_ratio", "odds_ratio_low", "odds_ratio_high")
            columns |= dict(zip(names, ratios, strict=True))
        else:
            scale = part.scaling_.scale[:-1][used]
            columns["times_scale"] = np.append(values[:-1] * scale, np.nan)
    return frame(columns, "column")


def selection_frame(selector: PrivateSelector) -> pd.DataFrame:
    """Return the columns chosen, in order of choice if there is one."""
    names, ordered = chosen_columns(selector)
    places = range(1, len(names) + 1) if ordered else [np.nan] * len(names)
    return frame({"column": list(names), "place": places}, "column")


def distribution_frame(ecdf: ECDF) -> pd.DataFrame:
    """Return the share of values up to each threshold at which it changes, with its error."""
    found = ecdf.distribution_
    points = found.points[np.diff(found.counts, prepend=0.0) != 0.0]
    shares, errors = ecdf.cdf(points, return_std=True)
    return frame({"value": points, "share": shares, "standard_error": errors}, "value")


def quantile_frame(found: Quantiles) -> pd.DataFrame:
    """Return a row for each column and share."""
    return frame(
        {
            "column": np.repeat(np.array(found.names, dtype=object), len(found.shares)),
            "share": np.tile(found.shares, len(found.names)),
            "quantile": found.values.ravel(),
            "standard_error": found.errors.ravel(),
            "step": found.steps.ravel(),
        }
    )


def curve_frame(curve: ROCCurve) -> pd.DataFrame:
    """Return the curve at even false positive rates, with its band and the threshold of each."""
    places, low, high = curve.band_
    fpr, tpr = np.maximum.accumulate(curve.fpr_), np.maximum.accumulate(curve.tpr_)
    return frame(
        {
            "fpr": places,
            "tpr": np.interp(places, fpr, tpr),
            "low": low,
            "high": high,
            "threshold": [curve.threshold_at(fpr=rate) for rate in places.tolist()],
        },
        "fpr",
    )


def calibration_frame(test: HosmerLemeshow) -> pd.DataFrame:
    """Return the groups; `low` and `high` are for the share of positives."""
    table, curve = test.table_, test.calibration_curve()
    room = NORMAL_95 * curve.errors
    return frame(
        {
            "above": table.borders[:-1],
            "up_to": table.borders[1:],
            "rows": table.counts,
            "rows_error": table.count_error,
            "positives": table.positives,
            "positives_error": table.observed_error,
            "expected": table.expected_positives,
            "expected_error": table.expected_positives_error,
            "mean_probability": curve.prob_pred,
            "share_positive": curve.prob_true,
            "low": curve.prob_true - room,
            "high": curve.prob_true + room,
        }
    )


def evaluation_frame(found: Evaluation) -> pd.DataFrame:
    """Return the measures; the curves and the groups are in the frames of its parts."""
    curve, test = found.roc, found.calibration
    measures = (
        ("auc", curve.auc_, curve.auc_interval_),
        ("average_precision", curve.average_precision_, curve.average_precision_interval_),
        ("base_rate", curve.base_rate_, curve.base_rate_interval_),
        *(() if test is None else (("calibration_p_value", test.p_value_, (np.nan, np.nan)),)),
    )
    names, values, ends = zip(*measures, strict=True)
    low, high = np.array(ends).T
    columns = {"measure": names, "value": np.array(values, dtype=np.float64)}
    return frame(columns | {"low": low, "high": high}, "measure")


def folds_frame(found: CrossValidation) -> pd.DataFrame:
    """Return a row for each fold, the mean last."""
    scores = [*found.scores, found.mean]
    ends = np.array([(np.nan, np.nan) if one is None else one.interval for one in scores])
    return frame(
        {
            "fold": [*(str(place) for place in range(1, len(scores))), "mean"],
            found.measure: [np.nan if one is None else one.value for one in scores],
            "low": ends[:, 0],
            "high": ends[:, 1],
        },
        "fold",
    )


def scale_frame(scaler: QuantileScaler) -> pd.DataFrame:
    """Return what was found of each column."""
    columns = {
        "column": list(scaler.feature_names_in_),
        "centre": scaler.center_,
        "scale": scaler.scale_,
        "low": scaler.low_,
        "high": scaler.high_,
        "visible": scaler.visible_,
    }
    return frame(columns, "column")
