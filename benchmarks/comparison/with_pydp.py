"""The tasks with Google's differential privacy library, by its Python wrapper PyDP."""

from __future__ import annotations

from pydp.algorithms.laplacian import BoundedMean, Count, Percentile
from tasks import (
    CARAT,
    CARATS,
    CLASSES,
    CUT,
    CUTS,
    EPSILON,
    EXPENSIVE,
    PROBABILITIES,
    auc_of_counts,
    class_of,
    measure,
)

CARATS_OF_ROWS = CARAT.tolist()
CODES = (class_of(CARAT) + CLASSES * EXPENSIVE).tolist()


def split(values, labels):
    """Return the members of each group; a row is in one, so that each has the whole budget."""
    members = {label: [] for label in labels}
    for value in values:
        members[value].append(1.0)
    return members.values()


CUT_MEMBERS = split(CUT, CUTS)
CODE_MEMBERS = split(CODES, range(2 * CLASSES))


def count(values):
    """Count values."""
    return Count(epsilon=EPSILON, dtype="float").quick_result(values)


def mean():
    """Average what lies in the range."""
    low, high = CARATS
    algorithm = BoundedMean(epsilon=EPSILON, lower_bound=low, upper_bound=high, dtype="float")
    return algorithm.quick_result(CARATS_OF_ROWS)


def quartiles():
    """Ask for three percentiles, a third of the budget each."""
    low, high = CARATS
    share = EPSILON / len(PROBABILITIES)
    found = []
    for p in PROBABILITIES:
        algorithm = Percentile(
            epsilon=share, percentile=p, lower_bound=low, upper_bound=high, dtype="float"
        )
        found.append(algorithm.quick_result(CARATS_OF_ROWS))
    return found


def auc():
    """Count the classes of scores, expensive diamonds apart from others."""
    counts = [count(members) for members in CODE_MEMBERS]
    return auc_of_counts(counts[CLASSES:], counts[:CLASSES])


measure(
    {
        "rows": (lambda: count(CARATS_OF_ROWS), ""),
        "mean": (mean, "range"),
        "quartiles": (quartiles, "range"),
        "groups": (lambda: [count(members) for members in CUT_MEMBERS], ""),
        "auc": (auc, "range, classes; curve by hand"),
    }
)
