"""Catalogue of methods and selectors by the names users give.

A new one is an entry here. Imports the standard library only, so that the command line knows names
and words without loading anything numeric.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from attrs import frozen

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

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

    The explanation says how it works, in a sentence or two, for someone who knows least squares;
    `of_units` what else is done where a unit of several rows is protected.
    """

    home: str
    explanation: str
    of_units: str = ""

    @property
    def kind(self) -> str:
        """Name of the class."""
        return self.home.rpartition(".")[2]

    def load(self) -> type[BaseEstimator]:
        """Load the class."""
        module, _, kind = self.home.rpartition(".")
        return getattr(import_module(module), kind)  # type: ignore[no-any-return]


_WITH_CURVES = (
    "with a curve for each column that noisy first steps show to be bent. Noisy histograms place "
    "the knots of the curves, and each is shrunk towards its line where noise dominates."
)

#: Regressions, by the name a user gives.
METHODS = {
    "linear": Entry(
        "nolook.estimators.linear.LinearRegression",
        "Weighted least squares: columns are centred, scaled and clipped, long rows get less "
        "weight, and very large errors are cut. The cross-products of all columns, "
        "released once with Gaussian noise, precondition a few noisy gradient steps; the "
        "coefficients combine all of these and are shrunk towards 0 where noise dominates.",
    ),
    "additive": Entry(
        "nolook.estimators.additive.AdditiveRegression",
        f"Additive regression: weighted least squares as for linear, {_WITH_CURVES}",
    ),
    "tukey": Entry(
        "nolook.estimators.tukey.TukeyRegressor",
        "The Tukey mechanism: the rows are split into many groups at random, each group gets its "
        "own least-squares model, and the result is a random point deep in the middle of these "
        "models. No single model is released.",
        of_units="All rows of a unit go to the same group.",
    ),
    "boosted-adassp": Entry(
        "nolook.estimators.boosted.BoostedAdaSSPRegressor",
        "Boosted AdaSSP: gradient boosting in which each round is a private ridge regression of "
        "what the earlier rounds left unexplained. Rows and residuals are clipped, and Gaussian "
        "noise is added to the sums of each round.",
    ),
    "adassp": Entry(
        "nolook.estimators.adassp.AdaSSPRegressor",
        "AdaSSP, a private ridge regression: the sums of products that least squares needs get "
        "Gaussian noise, and the ridge penalty adapts to the noise and to how well the columns "
        "determine the coefficients.",
    ),
}

#: Models of a target of two classes, by the name a user gives.
CLASSIFIERS = {
    "logistic": Entry(
        "nolook.estimators.logistic.LogisticRegression",
        "Logistic regression: columns are centred, scaled and clipped; rows are whitened with the "
        "noisy cross-products of all columns, and those far from the centre get less weight. A few "
        "noisy gradient steps, preconditioned by the cross-products of the whitened rows and later "
        "by the curvature of the likelihood, follow; the coefficients combine all of these and are "
        "shrunk towards 0 where noise dominates.",
    ),
    "additive-logistic": Entry(
        "nolook.estimators.additive.AdditiveClassifier",
        f"Additive logistic regression: as logistic, {_WITH_CURVES}",
    ),
}

# What ``auto`` and ``additive`` mean for a target that is declared to have two values.
_FOR_CLASSES = {"auto": "logistic", "additive": "additive-logistic"}

#: Models of counts, and of amounts that may be 0, by the name a user gives.
COUNTS = {
    "poisson": Entry(
        "nolook.estimators.poisson.PoissonRegression",
        "Regression of counts: the logarithm of the mean is a weighted sum of the columns, which "
        "are centred, scaled and clipped; long rows get less weight, and very large errors are "
        "cut. A few noisy gradient steps, preconditioned by noisy cross-products of all columns "
        "and by the curvature of the likelihood, follow; the coefficients combine all of these and "
        "are shrunk towards 0 where noise dominates.",
    ),
    "additive-poisson": Entry(
        "nolook.estimators.additive.AdditivePoissonRegression",
        f"Additive regression of counts: as poisson, {_WITH_CURVES}",
    ),
}

#: Everything ``nolook fit`` can make.
MODELS = ChainMap(CLASSIFIERS, COUNTS, METHODS)

#: Feature selectors, by the name a user gives.
SELECTORS = {
    "kendall": Entry(
        "nolook.estimators.kendall.KendallSelector",
        "Kendall selection: columns are drawn one after another. A column's score is its rank "
        "correlation with the target, less its mean rank correlation with the columns drawn "
        "before it; a higher score makes a column likelier to be drawn.",
        of_units="Where each unit counts once, one of its rows, drawn at random, is ranked.",
    ),
    "lasso": Entry(
        "nolook.estimators.lasso.LassoSelector",
        "Lasso selection: the rows are split into many groups at random, each group gets a Lasso "
        "model that votes for the columns with its largest coefficients, and columns are drawn one "
        "after another; more votes make a column likelier to be drawn.",
        of_units="All rows of a unit go to the same group.",
    ),
    "moments": Entry(
        "nolook.estimators.moment.MomentSelector",
        "Selection from the moments: the cross-products of all columns get Gaussian "
        "noise once, and the columns chosen are those that together explain most of the target in "
        "a linear model computed from these sums.",
    ),
    "sis": Entry(
        "nolook.estimators.sis.SISSelector",
        "Sure independence screening: each column is scored separately by its association with "
        "the target, and a column with a higher score is likelier to be drawn.",
        of_units="Where each unit counts once and scores are of ranks, one of its rows, drawn at "
        "random, is ranked.",
    ),
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


def own_parameters(estimator: BaseEstimator) -> dict[str, Any]:
    """Return an estimator's parameters, except the shared ones."""
    return {k: v for k, v in estimator.get_params(deep=False).items() if k not in _COMMON}
