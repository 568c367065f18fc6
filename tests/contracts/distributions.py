"""Every private distribution and what is made of one: a new one adds a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import nolook
from nolook.estimators._finding import PrivateFinding


def _one_column(rows: int, seed: int) -> tuple[Any, ...]:
    return (np.random.default_rng(seed).normal(50.0, 10.0, rows),)


def _distribution(fitted: Any) -> np.ndarray:
    errors = [*fitted.cdf([0.0, 50.0, 1e9], return_std=True)]
    values, ends = fitted.quantile([0.1, 0.5], return_interval=True)
    others = [fitted.rows_.value, fitted.trimmed_mean(0.1)]
    # An end that may lie beyond the grid is infinite.
    return np.concatenate([*errors, values, np.nan_to_num(ends.ravel()), others])


def _scored(rows: int, seed: int) -> tuple[Any, ...]:
    generator = np.random.default_rng(seed)
    labels = generator.random(rows) < 0.3
    return generator.normal(50.0 + 5.0 * labels, 10.0), labels


def _curve(fitted: Any) -> np.ndarray:
    rates = [fitted.fpr_, fitted.tpr_, fitted.auc_interval_, *fitted.band_]
    rates += [*fitted.precision_band_, fitted.base_rate_interval_]
    return np.concatenate([*rates, [fitted.auc_, fitted.n_positive_, fitted.n_negative_]])


def _forecast(rows: int, seed: int) -> tuple[Any, ...]:
    generator = np.random.default_rng(seed)
    probabilities = generator.beta(2.0, 5.0, rows)
    return probabilities, generator.random(rows) < probabilities


def of_units(kind: type, **unit: Any) -> type:
    """Return an estimator that reads arrays as a table of units with one to three rows each."""

    class OfUnits(kind):
        def _rows(self, X: Any, y: Any) -> Any:
            names = np.arange(len(X)) * 3 // 5
            columns = {"id": names, "value": X} | ({} if y is None else {"class": y})
            target = None if y is None else "class"
            table = nolook.read_table(
                pd.DataFrame(columns), target, features=["value"], unit="id", **unit
            )
            return super()._rows(table, None)

    return OfUnits


def _groups(fitted: Any) -> np.ndarray:
    curve = fitted.calibration_curve()
    sums = [fitted.table_.positives, fitted.table_.negatives, fitted.table_.expected_positives]
    test = [fitted.statistic_, *([] if fitted.p_value_ is None else [fitted.p_value_])]
    return np.concatenate([*sums, curve.prob_true, curve.prob_pred, curve.errors, test])


@dataclass(frozen=True)
class Row:
    """One estimator.

    Parameters
    ----------
    make : callable
        Takes the estimator's parameters.
    data : callable
        From the number of rows and a seed to the arguments of `fit`; the first is the column that
        tests spoil.
    published : callable
        From a fitted estimator to all numbers that may be published.
    """

    make: Callable[..., Any]
    data: Callable[[int, int], tuple[Any, ...]] = _one_column
    published: Callable[[Any], np.ndarray] = _distribution


GRID = nolook.LinearGrid(0, 100, 0.5)
DISTRIBUTIONS = {
    "ECDF": Row(make=nolook.ECDF),
    "ECDF on a grid": Row(make=partial(nolook.ECDF, grid=GRID)),
    "ECDF with Gaussian noise": Row(make=partial(nolook.ECDF, grid=GRID, delta=1e-6)),
    "ECDF under replacement": Row(make=partial(nolook.ECDF, grid=GRID, relation="replace")),
    "ROC curve": Row(make=nolook.ROCCurve, data=_scored, published=_curve),
    "ROC curve under replacement": Row(
        make=partial(nolook.ROCCurve, grid=GRID, relation="replace"), data=_scored, published=_curve
    ),
    "Hosmer-Lemeshow test": Row(make=nolook.HosmerLemeshow, data=_forecast, published=_groups),
    "ECDF of units": Row(make=of_units(nolook.ECDF)),
    "ECDF of units under replacement": Row(
        make=partial(
            of_units(nolook.ECDF, missing="zero"), grid=GRID, delta=1e-6, relation="replace"
        )
    ),
    "ECDF of some rows of units": Row(make=of_units(nolook.ECDF, rows_per_unit=2)),
    "ROC curve of units": Row(make=of_units(nolook.ROCCurve), data=_scored, published=_curve),
    "ROC curve of units under replacement": Row(
        make=partial(of_units(nolook.ROCCurve, missing="zero"), grid=GRID, relation="replace"),
        data=_scored,
        published=_curve,
    ),
    "ROC curve of some rows of units": Row(
        make=of_units(nolook.ROCCurve, rows_per_unit=2), data=_scored, published=_curve
    ),
    "Hosmer-Lemeshow test of units": Row(
        make=of_units(nolook.HosmerLemeshow), data=_forecast, published=_groups
    ),
    "Hosmer-Lemeshow test of some rows of units": Row(
        make=of_units(nolook.HosmerLemeshow, rows_per_unit=2), data=_forecast, published=_groups
    ),
}
_TESTED = {type(row.make()) for name, row in DISTRIBUTIONS.items() if " of " not in name}
_PUBLIC = [getattr(nolook, name) for name in nolook.__all__]
_FOUND = {each for each in _PUBLIC if isinstance(each, type) and issubclass(each, PrivateFinding)}
assert _FOUND == _TESTED, "every public one has a row here"
