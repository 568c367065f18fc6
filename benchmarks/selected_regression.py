"""Private feature selection before private regression, on real tables with at least 4000 rows.

R2 on held-out rows, ten random 90/10 splits, epsilon = 1 and delta = 1e-6 for selection and
regression together, of which the selection has a share. A run whose private test failed counts as
no R2 at all.

    python -m benchmarks.selected_regression [--output benchmarks/results/selected_regression.md]
        [--split 0.2] [--regressors linear,boosted-adassp,tukey]
"""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LinearRegression as LeastSquares
from sklearn.metrics import r2_score

import nolook
from benchmarks.accuracy import SPLITS, tables
from benchmarks.harness import main

CHOSEN = 5
EPSILON, DELTA = 1.0, 1e-6
SELECTORS = {
    "Kendall": nolook.KendallSelector,
    "Lasso": nolook.LassoSelector,
    "moments": nolook.MomentSelector,
}
REGRESSORS = {
    "linear": nolook.LinearRegression,
    "boosted-adassp": nolook.BoostedAdaSSPRegressor,
    "tukey": nolook.TukeyRegressor,
}
SHARE, ALL = 0.2, ",".join(REGRESSORS)
# Those the others are held against, whichever of them is better on a table.
PEERS = ("Kendall", "Lasso")


def scores(X, y, selector, regressor, share):
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
            split=share,
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


def against_the_peers(medians, regressor):
    """Yield how each selector does against the better of its peers; `medians` is by selector."""
    better = np.max([medians[name] for name in PEERS], axis=0)
    for name in medians.keys() - PEERS:
        gaps = medians[name] - better
        yield (
            f"- {name} before {regressor}: better than the better of {' and '.join(PEERS)} on "
            f"{np.sum(gaps > 0)} of {len(gaps)} tables, worst difference {gaps.min():.3f}, mean "
            f"{gaps.mean():.3f}"
        )


def report(split=SHARE, regressors=ALL):
    """Yield the lines of the report."""
    yield "# Private selection before private regression"
    yield ""
    yield (
        f"Median R2 on held-out rows, {SPLITS} splits, {CHOSEN} features chosen, epsilon = "
        f"{EPSILON:g}, delta = {DELTA:g} together; the selection has a share of {split:g}."
    )
    yield "Printed by `python -m benchmarks.selected_regression`."
    known = list(tables())
    for regressor in regressors.split(","):
        yield from ("", f"## {regressor}", "")
        yield f"| table | rows | features | least squares, all | {' | '.join(SELECTORS)} |"
        yield "|---" + "|---:" * (3 + len(SELECTORS)) + "|"
        medians = {name: [] for name in SELECTORS}
        for name, X, y in known:
            for one, selector in SELECTORS.items():
                found = scores(X, y, selector, REGRESSORS[regressor], split)
                medians[one].append(float(np.median(found)))
            row = [column[-1] for column in medians.values()]
            cells = " | ".join("failed" if np.isinf(value) else f"{value:.3f}" for value in row)
            yield f"| {name} | {len(y)} | {X.shape[1]} | {least_squares(X, y):.3f} | {cells} |"
        yield ""
        for one, column in medians.items():
            yield f"- {one}: positive on {np.sum(np.array(column) > 0)} of {len(column)} tables"
        columns = {one: np.array(column) for one, column in medians.items()}
        yield from against_the_peers(columns, regressor)


if __name__ == "__main__":
    main(report, __doc__, split=SHARE, regressors=ALL)
