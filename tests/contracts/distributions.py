"""Every private distribution and what is made of one: a new one adds a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import nolook


def _one_column(rows: int, seed: int) -> tuple[Any, ...]:
    return (np.random.default_rng(seed).normal(50.0, 10.0, rows),)


def _distribution(fitted: Any) -> np.ndarray:
    errors = [*fitted.cdf([0.0, 50.0, 1e9], return_std=True)]
    quantiles = [*fitted.quantile([0.1, 0.5], return_std=True)]
    return np.concatenate([*errors, *quantiles, [fitted.n_samples_, fitted.trimmed_mean(0.1)]])


@dataclass(frozen=True)
class Row:
    """One estimator.

    Parameters
    ----------
    make : callable
        Takes the estimator's parameters.
    data : callable
        From the number of rows and a seed to the arguments of `fit`; the first is the column that
        tests spoil.
    published : callable
        From a fitted estimator to all numbers that may be published.
    """

    make: Callable[..., Any]
    data: Callable[[int, int], tuple[Any, ...]] = _one_column
    published: Callable[[Any], np.ndarray] = _distribution


GRID = nolook.LinearGrid(0, 100, 0.5)
DISTRIBUTIONS = {
    "ECDF": Row(make=nolook.ECDF),
    "ECDF on a grid": Row(make=partial(nolook.ECDF, grid=GRID)),
    "ECDF with Gaussian noise": Row(make=partial(nolook.ECDF, grid=GRID, delta=1e-6)),
    "ECDF under replacement": Row(make=partial(nolook.ECDF, grid=GRID, relation="replace")),
}
