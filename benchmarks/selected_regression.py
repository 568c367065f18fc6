"""Private feature selection before private regression, on real tables with at least 4000 rows.

R2 on held-out rows, ten random 90/10 splits, epsilon = ln 3 and delta = 1e-5 for selection and
regression together. A run whose private test failed counts as no R2 at all.

    python -m benchmarks.selected_regression [--output benchmarks/results/selected_regression.md]
"""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LinearRegression as LeastSquares
from sklearn.metrics import r2_score

import nolook
from benchmarks.accuracy import DELTA, EPSILON, SPLITS, tables
from benchmarks.harness import main

CHOSEN = 5
SELECTORS = {"Kendall": nolook.KendallSelector, "Lasso": nolook.LassoSelector}
REGRESSORS = {"tukey": nolook.TukeyRegressor, "boosted-adassp": nolook.BoostedAdaSSPRegressor}


def scores(X, y, selector, regressor):
    """Return R2 of each split, minus infinity where the regression failed."""
    found = np.full(SPLITS, -np.inf)
    for split in range(SPLITS):
        order = np.random.default_rng(split).permutation(len(y))
        test, train = order[: len(y) // 10], order[len(y) // 10 :]
        model = nolook.make_private_pipeline(
            # The smallest table has five features, of which at most four can be chosen.
            selector(min(CHOSEN, X.shape[1] - 1), random_state=split),
            regressor(random_state=split),
            epsilon=EPSILON,
            delta=DELTA,
        )
        try:
            predicted = model.fit(X[train], y[train]).predict(X[test])
        except nolook.PrivateFitFailed:
            continue
        found[split] = r2_score(y[test], predicted)
    return found


def least_squares(X, y):
    """Return R2 of least squares on all features, the median over the same splits."""
    found = []
    for split in range(SPLITS):
        order = np.random.default_rng(split).permutation(len(y))
        test, train = order[: len(y) // 10], order[len(y) // 10 :]
        predicted = LeastSquares().fit(X[train], y[train]).predict(X[test])
        found.append(r2_score(y[test], predicted))
    return float(np.median(found))


def report():
    """Yield the lines of the report."""
    pairs = [(s, r) for s in SELECTORS for r in REGRESSORS]
    yield "# Private selection before private regression"
    yield ""
    yield (
        f"Median R2 on held-out rows, {SPLITS} splits, {CHOSEN} features chosen, epsilon = ln 3, "
        "delta = 1e-5 together."
    )
    yield "Printed by `python -m benchmarks.selected_regression`."
    yield ""
    titles = [f"{selector} + {regressor}" for selector, regressor in pairs]
    yield f"| table | rows | features | least squares, all | {' | '.join(titles)} |"
    yield "|---" + "|---:" * (3 + len(pairs)) + "|"
    medians = []
    for name, X, y in tables():
        row = [float(np.median(scores(X, y, SELECTORS[s], REGRESSORS[r]))) for s, r in pairs]
        medians.append(row)
        cells = " | ".join("failed" if np.isinf(value) else f"{value:.3f}" for value in row)
        yield f"| {name} | {len(y)} | {X.shape[1]} | {least_squares(X, y):.3f} | {cells} |"
    yield ""
    for title, column in zip(titles, np.array(medians).T, strict=True):
        yield f"- {title}: positive on {np.sum(column > 0)} of {len(column)} tables"


if __name__ == "__main__":
    main(report, __doc__)
