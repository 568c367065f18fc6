"""The tasks with diffprivlib: everything but counts needs the range of each column."""

from __future__ import annotations

import numpy as np
from diffprivlib.models import LinearRegression
from diffprivlib.tools import count_nonzero, histogram, mean, quantile
from tasks import (
    CARAT,
    CARATS,
    CLASSES,
    CUT,
    CUTS,
    EPSILON,
    EXPENSIVE,
    LOG_PRICE,
    LOG_PRICES,
    PROBABILITIES,
    RANGES,
    X,
    auc_of_counts,
    class_of,
    measure,
)

CODES = np.array([CUTS.index(cut) for cut in CUT])
EDGES = np.arange(2 * CLASSES + 1) - 0.5


def rows():
    """Count the rows."""
    return count_nonzero(np.ones(len(CARAT)), epsilon=EPSILON)


def average():
    """Average what lies in the range."""
    return mean(CARAT, epsilon=EPSILON, bounds=CARATS)


def quartiles():
    """Ask for three quantiles, a third of the budget each."""
    return quantile(CARAT, PROBABILITIES, epsilon=EPSILON, bounds=CARATS)


def groups():
    """Count codes in bins."""
    counts, _ = histogram(
        CODES, epsilon=EPSILON, bins=np.arange(len(CUTS) + 1) - 0.5, range=(-0.5, len(CUTS) - 0.5)
    )
    return counts


def regression():
    """Fit and predict."""
    low, high = np.array(RANGES).T
    model = LinearRegression(epsilon=EPSILON, bounds_X=(low, high), bounds_y=LOG_PRICES)
    return model.fit(X, LOG_PRICE).predict(X)


def auc():
    """Count the classes of scores, expensive diamonds apart from others."""
    counts, _ = histogram(
        class_of(CARAT) + CLASSES * EXPENSIVE, epsilon=EPSILON, bins=EDGES, range=(-0.5, EDGES[-1])
    )
    return auc_of_counts(counts[CLASSES:], counts[:CLASSES])


measure(
    {
        "rows": (rows, ""),
        "mean": (average, "range"),
        "quartiles": (quartiles, "range"),
        "groups": (groups, ""),
        "regression": (regression, "range of 7 columns"),
        "auc": (auc, "range, classes; curve by hand"),
    }
)
