"""The paper's experiments: the methods, what a trial is, and which trials there are.

R2 on held-out rows of random 90/10 splits, at epsilon = ln 3 and delta = 1e-5 for selection and
regression together. A failed private test counts as minus infinity, as in the paper.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression as LeastSquares
from sklearn.metrics import r2_score

import nolook
from nolook.algorithms.row_count_bound import count_rows, row_count_bound
from nolook.privacy.noise import SeededSource
from nolook.tables import table_from_arrays
from papers.amin2023 import PublishedTukeyRegressor
from papers.dick2023.boosted_adassp import UnscaledBoostedAdaSSPRegressor
from papers.dick2023.kendall import PublishedKendallSelector
from papers.dick2023.published import METHODS, TASKS
from papers.dick2023.sublasso import PublishedLassoSelector
from papers.tables import read
from papers.trials import Experiment, Row, Settings

__all__ = ["EXPERIMENTS", "FOR_ROWS", "OTHERS", "REGRESSORS", "SELECTORS"]

Vector = NDArray[np.float64]

EPSILON, DELTA = math.log(3), 1e-5
TRIALS = 10
#: Of epsilon, for a bound on the number of rows and for a selection, each (section 4.3).
PUBLISHED_SHARE = 0.05
#: Of the budget, for a selection of nolook's: its own default.
SHARE = 0.2

SELECTORS: dict[str, Callable[..., Any]] = {
    "kendall": nolook.KendallSelector,
    "lasso": nolook.LassoSelector,
    "moments": nolook.MomentSelector,
}
REGRESSORS: dict[str, Callable[..., Any]] = {
    "linear": nolook.LinearRegression,
    "boosted": nolook.BoostedAdaSSPRegressor,
    "tukey": nolook.TukeyRegressor,
}
#: nolook's: a regression alone, or after a selection.
FOR_ROWS = (*REGRESSORS, *(f"{s}, {r}" for s in SELECTORS for r in REGRESSORS))
#: Tables with fewer than ten features.
NARROW = ("houses", "sulfur", "california", "visualizing_soil")
#: Tables of Amin et al., for a larger choice of tables.
OTHERS = ("amin_california", "amin_diamonds", "amin_garbage", "amin_mlb", "amin_nba")


def trial(data: Path, *, table: str, method: str, k: int, trial: int) -> Row:
    """Fit nine tenths of a table and predict the rest; k is 0 where nothing is selected."""
    X, y = read(table, data)
    order = np.random.default_rng(trial).permutation(len(y))
    test, train = order[: len(y) // 10], order[len(y) // 10 :]
    fit = _published if method in METHODS else _for_rows
    try:
        predict = fit(X[train], y[train], method, k, trial)
    except nolook.PrivateFitFailed:
        return {"r2": -math.inf}
    return {"r2": float(r2_score(y[test], predict(X[test])))}


Predict = Callable[[Vector], Vector]


def _least_squares(X: Vector, y: Vector) -> Predict:
    """Fit columns of one size, so that digits last."""
    center, spread = X.mean(axis=0), X.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    model = LeastSquares().fit((X - center) / spread, y)
    return lambda rows: model.predict((rows - center) / spread)


def _published(X: Vector, y: Vector, method: str, k: int, seed: int) -> Predict:
    """Fit a method of the paper's section 4.2, its budget split as there."""
    if method == "NonDP":
        return _least_squares(X, y)
    selector, _, regressor = method.rpartition("-")
    left, bound = EPSILON, 0
    if selector == "L" or (selector and regressor == "Tukey"):
        share = PUBLISHED_SHARE * EPSILON
        table, source = table_from_arrays(X, y), SeededSource(seed)
        bound = row_count_bound(count_rows(table, share, source, lambda _: None), share)
        left -= share
    chosen = np.ones(X.shape[1], dtype=bool)
    if selector:
        share = PUBLISHED_SHARE * EPSILON
        left -= share
        if k < X.shape[1]:
            chosen = _selector(selector, k, share, bound // k, seed).fit(X, y).support_
    # SubLasso has n/k parts; a model has k + 1 coefficients, and each a row.
    models = max(1, bound // (k + 1)) if selector else "auto"
    model = _regressor(regressor, left, models, seed).fit(X[:, chosen], y)
    return lambda rows: model.predict(rows[:, chosen])


def _selector(letter: str, k: int, epsilon: float, models: int, seed: int) -> Any:
    if letter == "K":
        return PublishedKendallSelector(k, epsilon, random_state=seed)
    return PublishedLassoSelector(k, epsilon, max(1, models), random_state=seed)


def _regressor(name: str, epsilon: float, models: int | str, seed: int) -> Any:
    if name == "BAS":
        return UnscaledBoostedAdaSSPRegressor(epsilon, DELTA, random_state=seed)
    return PublishedTukeyRegressor(epsilon, DELTA, models, lemma="2023", random_state=seed)


def _for_rows(X: Vector, y: Vector, method: str, k: int, seed: int) -> Predict:
    """Fit one of nolook's, after a selection if there are more features than are wanted."""
    selector, _, regressor = method.rpartition(", ")
    kind = REGRESSORS[regressor]
    if not selector or k >= X.shape[1]:
        left = 1.0 - SHARE if selector else 1.0
        model = kind(left * EPSILON, left * DELTA, random_state=seed)
    else:
        model = nolook.PrivatePipeline(
            SELECTORS[selector](k, random_state=seed),
            kind(random_state=seed),
            epsilon=EPSILON,
            delta=DELTA,
            split=SHARE,
        )
    predict: Predict = model.fit(X, y).predict
    return predict


def plan_five(quick: bool) -> list[Settings]:
    """Plan figure 4: everything, at k = 5 where something is selected."""
    known = ["cpu_act", "wine_quality"] if quick else [*TASKS, *OTHERS]
    return [
        {"table": t, "method": method, "k": 5 if selects(method) else 0, "trial": trial}
        for trial in range(1 if quick else TRIALS)
        for method in (*METHODS, *FOR_ROWS)
        for t in known
        if method in FOR_ROWS or t in TASKS
    ]


def plan_ten(quick: bool) -> list[Settings]:
    """Plan figure 5: what selects, at k = 10, where there are so many features."""
    known = ["wine_quality"] if quick else [t for t in TASKS if t not in NARROW]
    return [
        {"table": t, "method": method, "k": 10, "trial": trial}
        for trial in range(1 if quick else TRIALS)
        for method in (*METHODS, *FOR_ROWS)
        for t in known
        if selects(method)
    ]


def selects(method: str) -> bool:
    """Tell whether a method selects features."""
    return "-" in method or "," in method


EXPERIMENTS = (
    Experiment("five", (1, 2, 4), trial, plan_five),
    Experiment("ten", (1, 2, 5), trial, plan_ten),
)
