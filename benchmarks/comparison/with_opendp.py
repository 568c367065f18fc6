"""The tasks with OpenDP's library: exact noise for every step, put together by hand."""

from __future__ import annotations

import numpy as np
import opendp.prelude as dp
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

dp.enable_features("contrib")

NUMBERS = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
WORDS = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
CODES = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
CANDIDATES = np.linspace(*CARATS, 1001).tolist()
CARATS_OF_ROWS = CARAT.tolist()
CODES_OF_ROWS = (class_of(CARAT) + CLASSES * EXPENSIVE).tolist()


def scaled(make, epsilon=EPSILON):
    """Return a measurement whose noise is as small as the budget allows."""
    return dp.binary_search_chain(make, d_in=1, d_out=epsilon)


ROWS = scaled(lambda scale: NUMBERS >> dp.t.then_count() >> dp.m.then_laplace(scale))
HALF = scaled(lambda scale: NUMBERS >> dp.t.then_count() >> dp.m.then_laplace(scale), EPSILON / 2)
SUM = scaled(
    lambda scale: NUMBERS >> dp.t.then_clamp(CARATS) >> dp.t.then_sum() >> dp.m.then_laplace(scale),
    EPSILON / 2,
)
QUARTILES = [
    scaled(
        lambda scale, p=p: (
            NUMBERS
            >> dp.m.then_private_quantile(dp.max_divergence(), CANDIDATES, alpha=p, scale=scale)
        ),
        EPSILON / len(PROBABILITIES),
    )
    for p in PROBABILITIES
]
GROUPS = scaled(
    lambda scale: WORDS >> dp.t.then_count_by_categories(CUTS) >> dp.m.then_laplace(scale)
)
CLASSES_COUNTED = scaled(
    lambda scale: (
        CODES >> dp.t.then_count_by_categories(list(range(2 * CLASSES))) >> dp.m.then_laplace(scale)
    )
)


def mean():
    """Divide a noisy sum by a noisy count."""
    return SUM(CARATS_OF_ROWS) / max(HALF(CARATS_OF_ROWS), 1)


def auc():
    """Count the classes of scores, expensive diamonds apart from others."""
    counts = CLASSES_COUNTED(CODES_OF_ROWS)
    return auc_of_counts(counts[CLASSES : 2 * CLASSES], counts[:CLASSES])


measure(
    {
        "rows": (lambda: ROWS(CARATS_OF_ROWS), ""),
        "mean": (mean, "range"),
        "quartiles": (lambda: [one(CARATS_OF_ROWS) for one in QUARTILES], "range, candidates"),
        "groups": (lambda: GROUPS(CUT)[: len(CUTS)], ""),
        "auc": (auc, "range, classes; curve by hand"),
    }
)
