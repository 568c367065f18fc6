"""Every regression of the catalogue, and the scaler: all contracts run on a new one by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

import nolook
from nolook.estimators.catalogue import COUNTS, METHODS

# Why a scikit-learn check cannot hold for a private estimator.
OBJECT_CELLS = "cells of an object array would have to be looked at: only declared types are taken"
FEW_ROWS = "200 rows are too few for any number of models: the answer is a constant, as asked for"
NO_ROWS = "a table without rows gets the ordinary private answer, since its size is private"
NO_ANSWER = "rows that lack a value are left out of a fit, and no prediction of one is made up"
LEFT_OUT = "a row without a target is left out: an error would tell of one person"


FAILURES = {
    "check_estimators_pickle": NO_ANSWER,
    "check_dtype_object": OBJECT_CELLS,
    "check_estimators_empty_data_messages": NO_ROWS,
}
# The same of checks that weights of rows are asked for.
WEIGHTS = {
    "check_all_zero_sample_weights_error": "weights that are all 0 get the ordinary private answer",
    "check_sample_weight_equivalence_on_dense_data": "no two fits draw the same noise",
}
# Attributes that may be published; an estimator has some of them.
RESULTS = (
    "coef_", "coef_interval_", "intercept_", "intercept_interval_", "target_range_", "r2_",
    "r2_interval_", "rmse_", "rmse_interval_", "center_", "scale_", "low_", "high_", "base_rate_",
    "base_rate_interval_", "pseudo_r2_", "pseudo_r2_interval_", "auc_", "auc_interval_",
    "deviance_explained_", "deviance_explained_interval_", "exposure_range_",
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One estimator.

    Parameters
    ----------
    kind : type
    parameters : mapping
        That every contract sets.
    failures : mapping
        Scikit-learn's checks that fail besides `FAILURES`, and why.
    duplicates_apart : float
        How far apart the coefficients of two equal columns may be: seven times what they usually
        are, or more, so that one in 10^8 is farther.
    """

    kind: type
    parameters: Mapping[str, object] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    duplicates_apart: float = 5.0

    @property
    def make(self) -> Callable[..., Any]:
        """Make the estimator, with parameters of its own."""
        return partial(self.kind, **self.parameters)


def results(fitted: Any) -> list[str]:
    """Name the fitted attributes that may be published."""
    return [name for name in RESULTS if getattr(fitted, name, None) is not None]


# What contracts have to know of some methods.
SPECIAL = {
    "linear": {
        # Noise of the first gradients stays in a direction in which features do not vary.
        "duplicates_apart": 120.0,
    },
    "boosted-adassp": {
        # Where features do not vary, a hundred noisy steps are a random walk of about this size.
        "duplicates_apart": 60.0,
    },
    "dpsgd": {"duplicates_apart": 12.0},
    "tukey": {
        "parameters": {"on_failure": "constant"},
        "failures": {"check_regressors_train": FEW_ROWS},
    },
}
REGRESSORS = {
    entry.kind: Row(entry.load(), **SPECIAL.get(name, {})) for name, entry in METHODS.items()
}
MEANS = "its means are above 0, and the check's targets are not"
#: Models of numbers, whose means may have to be above 0.
NUMBERS = {
    **REGRESSORS,
    **{
        entry.kind: Row(entry.load(), failures={"check_regressors_train": MEANS})
        for entry in COUNTS.values()
    },
}


class _Cut:
    """A target of measurements is cut at a public number."""

    def _rows(self, X: Any, y: Any) -> Any:
        values = None if y is None else np.asarray(y)
        measured = values is not None and values.dtype.kind == "f" and np.isfinite(values).all()
        if measured and set(values.flat) - {0.0, 1.0}:
            y = values > MIDDLE
        return super()._rows(X, y)


class Cut(_Cut, nolook.LogisticRegression):
    """A classifier."""


class CutAdditive(_Cut, nolook.AdditiveClassifier):
    """A classifier with curves."""


#: Where about half of the contracts' targets are above.
MIDDLE = 1504.0
#: Scikit-learn's checks with labels other than 0 and 1, or more than two.
LABELS = (
    "check_classifier_not_supporting_multiclass",
    "check_classifiers_classes",
    "check_classifiers_regression_target",
    "check_classifiers_train",  # of a list, which declares no type
)
CLASSES = "classes are declared, never looked up in the target, since that would leak"
ESTIMATORS = {
    **NUMBERS,
    **{
        name: Row(kind, failures=dict.fromkeys(LABELS, CLASSES))
        for name, kind in (("LogisticRegression", Cut), ("AdditiveClassifier", CutAdditive))
    },
    "QuantileScaler": Row(nolook.QuantileScaler),
}
