"""The six tasks with nolook: nothing is guessed."""

from __future__ import annotations

import numpy as np
from tasks import CARAT, CUT, CUTS, DELTA, EPSILON, EXPENSIVE, LOG_PRICE, PROBABILITIES, X, measure

import nolook

CODES = np.array([CUTS.index(cut) for cut in CUT], dtype=float)


def rows():
    """Count the rows; the count is part of every distribution."""
    return nolook.ECDF(EPSILON).fit(CARAT).n_rows_


def mean():
    """Release the distribution and read its mean off, without the outermost thousandths."""
    return nolook.ECDF(EPSILON).fit(CARAT).distribution_.trimmed_mean(0.001)[0]


def quartiles():
    """Release the distribution and read the quartiles off."""
    return nolook.ECDF(EPSILON).fit(CARAT).distribution_.ppf(np.array(PROBABILITIES))


def groups():
    """Count the codes of the levels, which are known."""
    grid = nolook.LinearGrid(0.5, len(CUTS) - 0.5, 1.0)
    released = nolook.ECDF(EPSILON, grid=grid).fit(CODES)
    shares = released.distribution_.cdf(np.arange(len(CUTS)) + 0.5)
    return np.diff(shares, prepend=0.0) * released.n_rows_


def regression():
    """Fit and predict."""
    return nolook.LinearRegression(EPSILON, DELTA).fit(X, LOG_PRICE).predict(X)


def auc():
    """Release the whole curve."""
    return nolook.ROCCurve(EPSILON).fit(CARAT, EXPENSIVE).auc_


measure(
    {
        "rows": (rows, ""),
        "mean": (mean, "thousandths left out"),
        "quartiles": (quartiles, ""),
        "groups": (groups, ""),
        "regression": (regression, ""),
        "auc": (auc, ""),
    }
)
