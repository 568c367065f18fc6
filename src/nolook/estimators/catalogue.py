"""Catalogue of methods and selectors by the names users give.

A new one is an entry here. Imports the standard library only, so that the command line knows names
and words without loading anything numeric.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable
from importlib import import_module
from typing import Any

from attrs import frozen

__all__ = [
    "CLASSIFIERS",
    "COUNTS",
    "METHODS",
    "MODELS",
    "MOST_BY_MOMENTS",
    "SELECTORS",
    "Entry",
    "called",
    "method_for",
    "name_of",
    "own_parameters",
    "selector_for",
]


@frozen
class Entry:
    """One estimator that a user can name: its class, by module and name.

    How it works is said by the sentence `methods.method`.
    """

    home: str

    @property
    def kind(self) -> str:
        """Name of the class."""
        return self.home.rpartition(".")[2]

    def load(self) -> Any:  # noqa: ANN401 -- an estimator's class
        """Load the class."""
        module, _, kind = self.home.rpartition(".")
        return getattr(import_module(module), kind)


#: Regressions, by the name a user gives.
METHODS = {
    "linear": Entry("nolook.estimators.linear.LinearRegression"),
    "additive": Entry("nolook.estimators.additive.AdditiveRegression"),
    "tukey": Entry("nolook.estimators.tukey.TukeyRegressor"),
    "boosted-adassp": Entry("nolook.estimators.boosted.BoostedAdaSSPRegressor"),
    "adassp": Entry("nolook.estimators.adassp.AdaSSPRegressor"),
}

#: Models of a target of two classes, by the name a user gives.
CLASSIFIERS = {
    "logistic": Entry("nolook.estimators.logistic.LogisticRegression"),
    "additive-logistic": Entry("nolook.estimators.additive.AdditiveClassifier"),
}
# What ``auto`` and ``additive`` mean for a target that is declared to have two values.
_FOR_CLASSES = {"auto": "logistic", "additive": "additive-logistic"}

#: Models of counts, and of amounts that may be 0, by the name a user gives.
COUNTS = {
    "poisson": Entry("nolook.estimators.poisson.PoissonRegression"),
    "additive-poisson": Entry("nolook.estimators.additive.AdditivePoissonRegression"),
}

#: Everything ``nolook fit`` can make.
MODELS = ChainMap(CLASSIFIERS, COUNTS, METHODS)

#: Feature selectors, by the name a user gives.
SELECTORS = {
    "kendall": Entry("nolook.estimators.kendall.KendallSelector"),
    "lasso": Entry("nolook.estimators.lasso.LassoSelector"),
    "moments": Entry("nolook.estimators.moment.MomentSelector"),
    "sis": Entry("nolook.estimators.sis.SISSelector"),
}
#: With a delta, `moments` is the better choice up to so many columns from about 10,000 rows on;
#: with three times as many it is nowhere better (`benchmarks/selection_columns.py`).
MOST_BY_MOMENTS = 100


def selector_for(columns: int, delta: float) -> str:
    """Return the selector if none is named: moments with a delta, for not too many columns.

    Examples
    --------
    >>> selector_for(20, 1e-6), selector_for(20, 0.0), selector_for(20_000, 1e-6)
    ('moments', 'kendall', 'kendall')
    """
    return "moments" if delta and columns <= MOST_BY_MOMENTS else "kendall"


# Shared parameters: the guarantee holds the first two, a seed is never kept, and a file names the
# classes beside its parameters.
_COMMON = frozenset({"epsilon", "delta", "random_state", "classes"})


def method_for(method: str, *, has_classes: Callable[[], bool]) -> str:
    """Return the model that a method's name stands for, by what is declared of the target.

    Examples
    --------
    >>> method_for("additive", has_classes=lambda: True)
    'additive-logistic'
    """
    if method in _FOR_CLASSES and has_classes():
        return _FOR_CLASSES[method]
    return "linear" if method == "auto" else method


def name_of(estimator: object) -> str | None:
    """Return the name by which a user can ask for an estimator, or None."""
    # Compares names along the base classes, nearest first, so that nothing has to be loaded.
    known = {entry.home: name for name, entry in (MODELS | SELECTORS).items()}
    classes = (f"{kind.__module__}.{kind.__qualname__}" for kind in type(estimator).__mro__)
    return next((known[kind] for kind in classes if kind in known), None)


def called(estimator: object) -> str:
    """Return an estimator's name for users, or else its class's name."""
    return name_of(estimator) or type(estimator).__name__


def own_parameters(estimator: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return an estimator's parameters, except the shared ones."""
    return {k: v for k, v in estimator.get_params(deep=False).items() if k not in _COMMON}
