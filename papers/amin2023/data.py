"""The paper's tables and the budget of its experiments."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_regression
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score

from papers import tables

__all__ = ["DELTA", "EPSILON", "FILES", "MODELS", "least_squares_r2", "read", "synthetic"]

Vector = NDArray[np.float64]

EPSILON, DELTA = math.log(3), 1e-5
#: Numbers of models that the paper tries.
MODELS = tuple(range(250, 2001, 250))
#: Six of the paper's eight tables; the synthetic one is made.
FILES = {
    "synthetic": None,
    "california": "amin_california",
    "diamonds": "amin_diamonds",
    "nba": "amin_nba",
    "garbage": "amin_garbage",
    "mlb": "amin_mlb",
}


@cache
def synthetic(rows: int, features: int, seed: int = 0) -> tuple[Vector, Vector]:
    """Make the paper's synthetic table: normal features, noise of deviation 10."""
    X, y = make_regression(
        rows, n_features=features, n_informative=features, noise=10, random_state=seed
    )
    return X, y


def read(name: str, data: Path) -> tuple[Vector, Vector]:
    """Return the features and the target of one of the paper's tables."""
    file = FILES[name]
    return synthetic(22_000, 10) if file is None else tables.read(file, data)


def least_squares_r2(X: Vector, y: Vector) -> float:
    """Return R2 of least squares without privacy, on columns of one size so that digits last."""
    spread = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return float(r2_score(y, LinearRegression().fit(Z, y).predict(Z)))
