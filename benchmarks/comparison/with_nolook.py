"""The six tasks with nolook: nothing is guessed."""

from __future__ import annotations

import numpy as np
from tasks import (
    CARAT,
    CUTS,
    DELTA,
    EPSILON,
    EXPENSIVE,
    LOG_PRICE,
    PROBABILITIES,
    TABLE,
    X,
    measure,
)

import nolook

CARATS = nolook.read_table(TABLE.select(["carat"]))
CUTS_OF_ROWS = nolook.read_table(TABLE.select(["cut"]), categories={"cut": CUTS})


def rows():
    """Count the rows."""
    return nolook.tabulate(CARAT[:, None], epsilon=EPSILON).rows.value


def mean():
    """Release the mean; its range is found."""
    return nolook.tabulate(CARATS, mean="carat", epsilon=EPSILON).to_frame()["mean_carat"].iloc[0]


def quartiles():
    """Release the distribution and read the quartiles off."""
    return nolook.ECDF(EPSILON).fit(CARAT).distribution_.ppf(np.array(PROBABILITIES))


def groups():
    """Count the levels, which are known."""
    return nolook.tabulate(CUTS_OF_ROWS, "cut", epsilon=EPSILON).to_frame()["count"][CUTS]


def regression():
    """Fit and predict."""
    return nolook.LinearRegression(EPSILON, DELTA).fit(X, LOG_PRICE).predict(X)


def auc():
    """Release the whole curve."""
    return nolook.ROCCurve(EPSILON).fit(CARAT, EXPENSIVE).auc_


measure(
    {
        "rows": (rows, ""),
        "mean": (mean, ""),
        "quartiles": (quartiles, ""),
        "groups": (groups, ""),
        "regression": (regression, ""),
        "auc": (auc, ""),
    }
)
