"""Populations to draw rows from, and what a private model of them is an estimate of."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

import nolook
from benchmarks import harness

# Tables with what intervals fail on. Ailerons: columns that are almost sums of others (least
# eigenvalue of the correlations 5e-7). amin_california: heavy-tailed counts correlated up to .98.
# cpu_act: the heaviest tails (kurtosis 621). pol: columns that are 97 % one value. Bike_Sharing:
# levels as columns of 0 and 1 that add up to 1 exactly, one of them held by 3 rows.
# MiamiHousing2016: nothing of that.
REAL = (
    "Ailerons", "Bike_Sharing_Demand", "MiamiHousing2016", "amin_california", "cpu_act", "pol",
)  # fmt: skip
# The columns that matter, and the effect each was given.
SIMULATED = {
    "rare declared level": {0: 10.0},
    "two columns correlated .99": {0: 1.0, 1: 2.0},
    "zero-heavy column": {0: 0.002},
    "heavy column, errors grow with it": {0: 1.0},
    "large errors where a column is large": {0: 1.0},
    "column of heavy tails": {0: 1.0},
    "log-normal target": {0: 0.8 * np.exp(0.5)},
}
SIMULATED_ROWS = 200_000
# Of the search for a bounded-influence regression, in scales.
_MOST_STEPS, _SMALLEST_STEP = 1000, 1e-8
# Scales from the centre to which weighted least squares clips the target.
TARGET_SCALES = 50.0


class Truth(NamedTuple):
    """Coefficients and then the intercept, with standard errors for a single row."""

    values: np.ndarray
    errors: np.ndarray


@lru_cache(maxsize=1)
def population(name):
    """Return X and y of a real table or of a simulated one."""
    return simulated(name) if name in SIMULATED else harness.table(name)


def simulated(name):
    """Return X and y of 200,000 rows; errors are normal, mostly with standard deviation 1."""
    generator = np.random.default_rng(5)
    X = generator.normal(size=(SIMULATED_ROWS, 3))
    errors = generator.normal(size=len(X))
    if name == "rare declared level":
        X[:, 0] = generator.random(len(X)) < 0.01
    elif name == "zero-heavy column":
        some = generator.random(len(X)) < 0.03
        X[:, 0] = np.where(some, 1000 * np.exp(X[:, 0]), 0.0)
    elif name == "heavy column, errors grow with it":
        X[:, 0] = np.exp(1.5 * X[:, 0])
        errors *= np.sqrt(X[:, 0])
    elif name == "large errors where a column is large":
        # To one side, in about 3 of 1,000 rows.
        errors[(X[:, 0] > 2.5) & (generator.random(len(X)) < 0.5)] += 30.0
        errors -= X[:, 0] * (X[:, 0] @ errors) / len(X)  # least squares sees the effect alone
    elif name == "column of heavy tails":
        X[:, 0] = generator.standard_t(2, size=len(X))
    elif name == "log-normal target":
        errors = np.exp(0.8 * X[:, 0] + 0.6 * errors) - 0.8 * np.exp(0.5) * X[:, 0]
    else:
        X[:, 1] = 0.99 * X[:, 0] + np.sqrt(1 - 0.99**2) * X[:, 1]
    y = 5 + 2 * X[:, 2] + errors
    return X, y + sum(effect * X[:, place] for place, effect in SIMULATED[name].items())


def as_table(name, X, y):
    """Return rows as nolook reads them: a declared level is a column of booleans."""
    columns = {f"x{j}": column for j, column in enumerate(X.T)}
    if name == "rare declared level":
        columns["x0"] = columns["x0"] != 0
    return nolook.read_table(pa.table({**columns, "target": y}), target="target")


def limits(model):
    """Return the smallest and the largest value of each column as a model uses it."""
    scaling = model.scaling_
    low, high = scaling.low.copy(), scaling.high.copy()
    if hasattr(model, "weight_norm_"):  # weighted least squares: the target's limit is its own
        reach = TARGET_SCALES * scaling.scale[-1]
        low[-1], high[-1] = scaling.center[-1] - reach, scaling.center[-1] + reach
    return low, high


def clipped(model, X, y):
    """Return features and target as a model clips them."""
    low, high = limits(model)
    return X.clip(low[:-1], high[:-1]), y.clip(low[-1], high[-1])


def bounded_truth(model, X, y):
    """Return what `model` estimates of a population: the regression of its rows as it uses them.

    Columns and target are clipped as released, and rows of norm |(1, x)| above the released B weigh
    (B / |(1, x)|)^2, x being whitened if the model says by what, else standardised. Where the model
    says what no row moves a sum by more than, errors are cut there (Krasker and Welsch 1982); else
    it is least squares. Columns that the model drops have coefficient 0. Standard errors are those
    of rows drawn from the population, without the noise, robust to errors of unequal variance. With
    :func:`limits` this is all that knows what a model's attributes mean.
    """
    scaling = model.scaling_
    bound = model.weight_norm_ if hasattr(model, "weight_norm_") else model.row_norm_
    kept = np.flatnonzero(model.coef_ != 0.0)
    features, target = clipped(model, X, y)
    center, scale = scaling.center, scaling.scale
    standard = (features - center[:-1]) / scale[:-1]
    spread, middle = getattr(model, "spread_", None), np.zeros(len(kept))
    lengths = standard[:, kept]
    if spread is not None:
        lengths, middle = (standard - spread.center) @ spread.map, spread.center[kept]
    norms = np.sqrt((lengths**2).sum(axis=1))
    factor = np.minimum(1.0, bound / np.sqrt(1.0 + norms**2))
    rows = np.column_stack([np.ones(len(y)), standard[:, kept] - middle]) * factor[:, None]
    shrunk = (target - center[-1]) / scale[-1] * factor
    most = getattr(model, "influence_bound_", np.inf)
    theta, bread, scores = bounded_influence(rows, shrunk, most / (factor * norms.clip(2.0)))
    inverse = np.linalg.pinv(bread / len(y), hermitian=True)
    sandwich = inverse @ (scores.T @ scores / len(y)) @ inverse
    # About the columns' centres; of models that fit rows alike, the shortest there.
    shift = np.eye(len(theta))
    shift[0, 1:] = -middle
    plain = rows @ np.linalg.inv(shift)
    shift = np.linalg.pinv(plain.T @ plain, hermitian=True) @ (plain.T @ plain) @ shift
    # From standardised units to the columns' own, the intercept last.
    back = np.zeros((X.shape[1] + 1, len(theta)))
    back[kept, np.arange(1, len(theta))] = scale[-1] / scale[kept]
    back[-1, 0] = scale[-1]
    back[-1, 1:] = -scale[-1] * center[kept] / scale[kept]
    back = back @ shift
    values = back @ theta
    values[-1] += center[-1]
    variances = np.einsum("ij,jk,ik->i", back, sandwich, back)
    return Truth(values, np.sqrt(np.maximum(variances, 0.0)))


def bounded_influence(rows, target, ends):
    """Return the model that leaves cut errors no sum, how that changes with it, and rows' parts.

    Errors are cut at either sign of `ends`, which are one for each row.
    """
    inverse = np.linalg.pinv(rows.T @ rows, hermitian=True)
    theta = inverse @ (rows.T @ target)
    for _ in range(_MOST_STEPS):
        errors = target - rows @ theta
        cut = errors.clip(-ends, ends)
        step = inverse @ (rows.T @ cut)
        theta = theta + step
        if np.abs(step).max() < _SMALLEST_STEP:
            break
    free = rows[np.abs(errors) < ends]
    return theta, free.T @ free, rows * cut[:, None]


def true_r2(model, X, y, most=np.inf):
    """Return R2 of a released model on rows as it clips them, errors cut at `most` scales."""
    features, target = clipped(model, X, y)
    most = most * model.scaling_.scale[-1]
    wrong = np.minimum(np.abs(target - features @ model.coef_ - model.intercept_), most)
    around = np.minimum(np.abs(target - target.mean()), most)
    return float(1 - (wrong @ wrong) / (around @ around))


def clipped_shares(model, X, y):
    """Return the share of rows that lie outside each column's limits, the target's last."""
    columns = np.column_stack([X, y])
    low, high = limits(model)
    outside = (columns < low) | (columns > high)
    return outside.mean(axis=0)
