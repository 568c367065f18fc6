"""The tasks with SmartNoise SQL: queries of SQL, by what a file of metadata says of the columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
from snsql import Privacy, from_df
from tasks import (
    CARAT,
    CARATS,
    CLASSES,
    CUT,
    CUTS,
    DELTA,
    EPSILON,
    EXPENSIVE,
    auc_of_counts,
    class_of,
    measure,
)

DIAMONDS = pd.DataFrame(
    {
        "id": np.arange(len(CARAT)),
        "carat": CARAT,
        "cut": CUT,
        "code": class_of(CARAT) + CLASSES * EXPENSIVE,
    }
)
METADATA = {
    "": {
        "s": {
            "diamonds": {
                "row_privacy": True,
                "rows": 1000,
                "id": {"type": "int"},
                "carat": {"type": "float", "lower": CARATS[0], "upper": CARATS[1]},
                "cut": {"type": "string"},
                "code": {"type": "int"},
            }
        }
    }
}


def ask(query, epsilon=EPSILON):
    """Answer one query; the first row names the columns."""
    privacy = Privacy(epsilon=epsilon, delta=DELTA)
    return from_df(DIAMONDS, privacy=privacy, metadata=METADATA).execute(query)[1:]


def rows():
    """Count the rows."""
    return ask("SELECT COUNT(*) FROM s.diamonds")[0][0]


def mean():
    """Average; the sum and the count have half of the budget each."""
    return ask("SELECT AVG(carat) FROM s.diamonds", EPSILON / 2)[0][0]


def groups():
    """Count the rows of each cut."""
    counts = dict(ask("SELECT cut, COUNT(*) FROM s.diamonds GROUP BY cut"))
    return [counts.get(cut, 0) for cut in CUTS]


def auc():
    """Count the classes of scores, expensive diamonds apart from others; rare ones are left out."""
    counts = dict(ask("SELECT code, COUNT(*) FROM s.diamonds GROUP BY code"))
    in_order = [counts.get(code, 0) for code in range(2 * CLASSES)]
    return auc_of_counts(in_order[CLASSES:], in_order[:CLASSES])


measure(
    {
        "rows": (rows, ""),
        "mean": (mean, "range"),
        "groups": (groups, ""),
        "auc": (auc, "range, classes; curve by hand"),
    }
)
