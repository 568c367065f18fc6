"""Every estimator that releases something, in one table: rows come from those of their kinds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from tests.contracts.distributions import DISTRIBUTIONS
from tests.contracts.estimators import ESTIMATORS, results
from tests.contracts.selectors import SELECTORS

_SMALL = ["epsilon"] * 5 + ["random_state"] * 2
_BAD = list(zip(_SMALL, [0.0, -1.0, np.inf, np.nan, "1", -1, 0.5], strict=True))
_DELTAS = [("delta", value) for value in (0.0, 1.0, 2.0, np.nan)]
_COUNTS = [("k", value) for value in (0, -1, 5, 6, 2.0, True, None, "all")]


@dataclass(frozen=True)
class Release:
    """One estimator.

    Parameters
    ----------
    make : callable
        Takes the estimator's parameters.
    data : callable
        From the number of rows to the arguments of `fit`; the first is what tests spoil.
    published : callable
        From a fitted estimator to all numbers that may be published.
    bad : list
        Parameters, and values they refuse.
    two_dimensional : bool
        Whether `fit` takes features, of which infinite values are refused as missing ones are.
    noisy : float
        An epsilon at which what is published is chance.
    """

    make: Callable[..., Any]
    data: Callable[[int], tuple[Any, ...]]
    published: Callable[[Any], np.ndarray]
    bad: list[tuple[str, object]] = field(default_factory=lambda: _BAD)
    two_dimensional: bool = True
    noisy: float = 1.0

    @property
    def takes_delta(self) -> bool:
        """Whether there is always a delta."""
        return _DELTAS[0] in self.bad

    def within(self, epsilon: float, delta: float = 1e-7) -> Any:
        """Make the estimator with this budget."""
        return self.make(epsilon=epsilon, **({"delta": delta} if self.takes_delta else {}))


def regression(rows: int = 8000, features: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return features of very different units, and a target that follows them."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, features)) * [1.0, 20.0, 1e-3][:features] + 5
    return X, X @ np.array([1.0, -0.2, 300.0])[:features] + generator.normal(size=rows)


def choices(rows: int = 3000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return five features, the target following the second and the last."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, 5)) * [1.0, 20.0, 1e-3, 1.0, 1e6] + 5
    return X, X[:, 1] / 20 - X[:, 4] / 1e6 + 0.1 * generator.normal(size=rows)


def published(fitted: Any) -> np.ndarray:
    """Return all numbers but the intervals that are withheld, whose both ends are NaN."""
    numbers = {name: np.asarray(getattr(fitted, name)) for name in results(fitted)}
    if "coef_interval_" in numbers:
        ends = numbers["coef_interval_"]
        assert np.isnan(ends).all(axis=1).tolist() == np.isnan(ends).any(axis=1).tolist()
        numbers["coef_interval_"] = ends[~np.isnan(ends[:, 0])]
    return np.concatenate([np.ravel(number) for number in numbers.values()])


def chosen(fitted: Any) -> np.ndarray:
    return fitted.get_support(indices=True)


RELEASES = {
    **{
        name: Release(row.make, regression, published, _BAD + _DELTAS)
        for name, row in ESTIMATORS.items()
    },
    **{
        name: Release(partial(row.make, k=2), choices, chosen, _BAD + _COUNTS, noisy=1e-3)
        for name, row in SELECTORS.items()
    },
    **{
        name: Release(row.make, partial(row.data, seed=0), row.published, two_dimensional=False)
        for name, row in DISTRIBUTIONS.items()
    },
}
