"""Every estimator and what it promises: a new one adds a row, and all contracts run on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import nolook

# Why a scikit-learn check cannot hold for a private estimator.
OBJECT_CELLS = "cells of an object array would have to be looked at: only declared types are taken"
FEW_ROWS = "200 rows are too few for any number of models: the answer is a constant, as asked for"
NO_ROWS = "a table without rows gets the ordinary private answer, since its size is private"


@dataclass(frozen=True)
class Row:
    """One estimator.

    Parameters
    ----------
    make : callable
        Takes the estimator's parameters.
    results : tuple of str
        Attributes that `fit` stores and that may be published.
    regressor : bool
    expected_failures : mapping
        From the name of a scikit-learn check to the reason why it fails.
    duplicates_apart : float
        How far apart the coefficients of two equal columns may be.
    """

    make: Callable[..., Any]
    results: tuple[str, ...]
    regressor: bool
    expected_failures: Mapping[str, str] = field(default_factory=dict)
    duplicates_apart: float = 1.0


ESTIMATORS = {
    "LinearRegression": Row(
        make=nolook.LinearRegression,
        results=(
            "coef_",
            "coef_interval_",
            "intercept_",
            "intercept_interval_",
            "label_range_",
            "r2_",
            "r2_interval_",
            "rmse_",
            "rmse_interval_",
        ),
        regressor=True,
        expected_failures={
            "check_dtype_object": OBJECT_CELLS,
            "check_estimators_empty_data_messages": NO_ROWS,
        },
    ),
    "AdaSSPRegressor": Row(
        make=nolook.AdaSSPRegressor,
        results=("coef_", "intercept_", "label_range_"),
        regressor=True,
        expected_failures={
            "check_dtype_object": OBJECT_CELLS,
            "check_estimators_empty_data_messages": NO_ROWS,
        },
    ),
    "BoostedAdaSSPRegressor": Row(
        make=nolook.BoostedAdaSSPRegressor,
        results=("coef_", "intercept_", "label_range_"),
        regressor=True,
        expected_failures={
            "check_dtype_object": OBJECT_CELLS,
            "check_estimators_empty_data_messages": NO_ROWS,
        },
        # Where features do not vary, a hundred noisy steps are a random walk of about this size.
        duplicates_apart=10.0,
    ),
    "TukeyRegressor": Row(
        make=partial(nolook.TukeyRegressor, on_failure="constant"),
        results=("coef_", "intercept_", "label_range_", "r2_", "rmse_"),
        regressor=True,
        expected_failures={
            "check_regressors_train": FEW_ROWS,
            "check_dtype_object": OBJECT_CELLS,
            "check_estimators_empty_data_messages": NO_ROWS,
        },
    ),
    "DPSGDRegressor": Row(
        make=nolook.DPSGDRegressor,
        results=("coef_", "intercept_", "label_range_"),
        regressor=True,
        expected_failures={
            "check_dtype_object": OBJECT_CELLS,
            "check_estimators_empty_data_messages": NO_ROWS,
        },
    ),
    "QuantileScaler": Row(
        make=nolook.QuantileScaler,
        results=("center_", "scale_", "low_", "high_"),
        regressor=False,
        expected_failures={
            "check_dtype_object": OBJECT_CELLS,
            "check_estimators_empty_data_messages": NO_ROWS,
        },
    ),
}
REGRESSORS = {name: row for name, row in ESTIMATORS.items() if row.regressor}
