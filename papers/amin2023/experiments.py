"""The paper's experiments: what a trial is, and which trials there are.

R2 is in sample at epsilon = ln 3 and delta = 1e-5, as in the paper. Seeds are the trials' numbers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression as LeastSquares
from sklearn.metrics import r2_score

import nolook
from nolook.algorithms.tukey import tukey_depth
from nolook.privacy.mechanisms.propose_test_release import passing_threshold
from nolook.privacy.mechanisms.tukey_depth import (
    TukeyRule,
    compute_volumes,
    distance_to_unsafety,
    sorted_columns,
)
from nolook.privacy.noise import SeededSource
from papers.amin2023.adassp import OracleAdaSSPRegressor
from papers.amin2023.block_models import least_squares_models
from papers.amin2023.data import DELTA, EPSILON, FILES, MODELS, least_squares_r2, read, synthetic
from papers.amin2023.depth import POINTS, approximate_depth, exact_depth
from papers.amin2023.dpsgd import DPSGDRegressor
from papers.amin2023.histograms import histogram, histogram_plan
from papers.amin2023.tukey import RAW_GRID, PublishedTukeyRegressor, RawTukeyRegressor
from papers.amin2023.tukey_em import (
    LEMMAS,
    Lemma,
    published_depth,
    published_distance,
    published_threshold,
)
from papers.amin2023.tuned_sgd import SETTINGS, multiplier, tuned_sgd
from papers.amin2023.wang_adassp import wang_adassp
from papers.trials import Experiment, Row, Settings

__all__ = ["EXPERIMENTS", "ORACLE", "REGRESSORS", "SGD", "TUKEY", "WANG"]

TRIALS, FEW = 50, 10
_SHARE = 0.6  # of the mechanism's epsilon for the point, as in the product

Vector = NDArray[np.float64]


def fitted_r2(regressor: nolook.LinearRegression, X: Vector, y: Vector) -> float:
    """Return R2 in sample, NaN where the private test failed."""
    try:
        return float(r2_score(y, regressor.fit(X, y).predict(X)))
    except nolook.PrivateFitFailed:
        return math.nan


ORACLE = "AdaSSP, oracle bounds, less noise"
REGRESSORS: dict[str, Callable[..., nolook.LinearRegression]] = {
    ORACLE: OracleAdaSSPRegressor,
    "raw tukey": RawTukeyRegressor,
    "tukey": nolook.TukeyRegressor,
    "linear": nolook.LinearRegression,
    "boosted-adassp": nolook.BoostedAdaSSPRegressor,
    "adassp": nolook.AdaSSPRegressor,
    "dpsgd": DPSGDRegressor,
}
SGD = ("DPSGD (tuned)", "DPSGD (90% tuned)")
WANG = "AdaSSP, oracle bounds"


def method(data: Path, *, table: str, method: str, trial: int) -> Row:
    """Fit one of the methods that have no number of models to vary."""
    X, y = read(table, data)
    if method == "NonDP":
        return {"r2": least_squares_r2(X, y), "rows": len(y)}
    if method in SGD:
        settings = SETTINGS[table][SGD.index(method)]
        noise = multiplier(len(y), settings, EPSILON, DELTA)
        theta = tuned_sgd(X, y, settings, noise, SeededSource(trial))
        with np.errstate(over="ignore"):
            return {"r2": float(r2_score(y, theta[0] + X @ theta[1:]))}
    if method == WANG:
        theta = wang_adassp(X, y, EPSILON, DELTA, SeededSource(trial))
        return {"r2": float(r2_score(y, theta[0] + X @ theta[1:]))}
    return {"r2": fitted_r2(REGRESSORS[method](EPSILON, DELTA, random_state=trial), X, y)}


def methods_plan(quick: bool) -> list[Settings]:
    """Plan figure 1 but for its Tukey column; least squares has one trial."""
    known = ["california", "nba"] if quick else list(FILES)
    planned: list[Settings] = []
    for trial in range(1 if quick else TRIALS):
        for name in ("NonDP", WANG, *SGD, *REGRESSORS):
            if name == "NonDP" and trial:
                continue
            planned += [{"table": t, "method": name, "trial": trial} for t in known]
    return planned


TUKEY: dict[str, Callable[..., nolook.LinearRegression]] = {
    **{f"published {lemma}": partial(PublishedTukeyRegressor, lemma=lemma) for lemma in LEMMAS},
    "tukey": nolook.TukeyRegressor,
}


def tukey(data: Path, *, table: str, version: str, models: int, trial: int) -> Row:
    """Fit a version of the Tukey mechanism with so many models."""
    X, y = read(table, data)
    regressor = TUKEY[version](EPSILON, DELTA, n_models=models, random_state=trial)
    return {"r2": fitted_r2(regressor, X, y)}


def tukey_plan(quick: bool) -> list[Settings]:
    """Plan figure 5, of which figure 1 takes its Tukey column; one row in nine for each model."""
    known = ["california"] if quick else list(FILES)
    return [
        {"table": t, "version": version, "models": m, "trial": trial}
        for trial in range(2 if quick else TRIALS)
        for m in ((500, 1000) if quick else MODELS)
        for version in TUKEY
        for t in known
        if trial < FEW or t in {"california", "diamonds"} or m <= 1000
    ]


def distance(data: Path, *, features: int, models: int, trial: int) -> Row:  # noqa: ARG001
    """Return the distances to unsafety that the lemmas find, and what noise has to bring them to.

    d + 1 rows a model, dealt evenly, as in the paper's figure 2.
    """
    X, y = synthetic((features + 1) * models, features, seed=trial)
    rows = np.vstack([X.T, y])
    blocks = np.arange(len(y)) % models
    points = RAW_GRID.round(least_squares_models(rows, blocks, models))
    volumes = compute_volumes(sorted_columns(points))
    depth, half = published_depth(models), EPSILON / 2
    found = {
        f"lemma {lemma}": published_distance(volumes, depth, half, DELTA, cast("Lemma", lemma))
        for lemma in LEMMAS
    }
    rule = TukeyRule(tukey_depth(models), (1 - _SHARE) * EPSILON, _SHARE * EPSILON, DELTA)
    found["for rows"] = distance_to_unsafety(volumes, rule)
    return {
        **found,
        "threshold": published_threshold(half, DELTA),
        "threshold for rows": passing_threshold(rule.epsilon_test, DELTA),
    }


def distance_plan(quick: bool) -> list[Settings]:
    """Plan the left of figure 2."""
    features = (2, 5) if quick else (1, 2, 5, 10, 15, 20, 25)
    return [
        {"features": d, "models": m, "trial": trial}
        for trial in range(1 if quick else 5)
        for m in ((250, 1000) if quick else MODELS)
        for d in features
    ]


def duration(data: Path, *, method: str, models: int, trial: int) -> Row:
    """Return how long a fit of the synthetic table takes, after one that is not counted."""
    X, y = read("synthetic", data)

    def fit() -> None:
        if method == "NonDP":
            LeastSquares().fit(X, y)
        elif method == SGD[0]:
            settings = SETTINGS["synthetic"][0]
            noise = multiplier(len(y), settings, EPSILON, DELTA)
            tuned_sgd(X, y, settings, noise, SeededSource(trial))
        elif method == WANG:
            wang_adassp(X, y, EPSILON, DELTA, SeededSource(trial))
        elif method in TUKEY:
            fitted_r2(TUKEY[method](EPSILON, DELTA, models, random_state=trial), X, y)
        else:
            REGRESSORS[method](EPSILON, DELTA, random_state=trial).fit(X, y)

    _once(method, fit)
    start = time.perf_counter()
    fit()
    return {"took": time.perf_counter() - start}


_DONE: set[str] = set()


def _once(method: str, fit: Callable[[], None]) -> None:
    """Run a method once in this process, so that nothing is compiled on the clock."""
    if method not in _DONE:
        fit()
        _DONE.add(method)


def duration_plan(quick: bool) -> list[Settings]:
    """Plan the right of figure 2; methods without models are timed once a trial."""
    some = (500,) if quick else MODELS
    return [
        {"method": method, "models": m, "trial": trial}
        for trial in range(1 if quick else FEW)
        for method in ("NonDP", WANG, SGD[0], "dpsgd", "linear", *TUKEY)
        for m in (some if method in TUKEY else (0,))
    ]


def depths(data: Path, *, kind: str) -> Row:  # noqa: ARG001
    """Return the depth of every place of a grid among the six points of figure 3."""
    depth = exact_depth if kind == "exact" else approximate_depth
    across = np.linspace(0.0, 8.0, 161)
    found = [depth(POINTS, np.array([x, y])) for y in across for x in across]
    return {"depths": found}


def depths_plan(quick: bool) -> list[Settings]:  # noqa: ARG001
    """Plan figure 3."""
    return [{"kind": "exact"}, {"kind": "approximate"}]


EXPERIMENTS = (
    Experiment("methods", (1, 5), method, methods_plan),
    Experiment("tukey", (1, 5), tukey, tukey_plan),
    Experiment("distance", (2,), distance, distance_plan),
    Experiment("depth", (3,), depths, depths_plan),
    Experiment("histograms", (6, 7, 9, 10, 12, 13), histogram, histogram_plan),
    Experiment("duration", (2,), duration, duration_plan, alone=True),
)
