"""What a user can name: methods, selectors and distributions, as data.

A new one is an entry here. Standard library only, so that the command line knows names, words and
options without loading anything numeric.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from nolook._validation import check_choice, check_positive
from nolook.errors import ParameterError

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

__all__ = [
    "DEFAULT_METHOD",
    "DEFAULT_SELECTOR",
    "DISTRIBUTIONS",
    "METHODS",
    "SELECTORS",
    "Entry",
    "Option",
    "called",
    "check_method",
    "entry_of",
    "method_parameters",
    "name_of",
    "own_parameters",
    "retired_parameters",
    "unproved_settings",
]


@dataclass(frozen=True, slots=True)
class Option:
    """An option of the command line that only one entry has.

    Parameters
    ----------
    flag : str
    parameter : str
        Of the estimator.
    metavar, help : str
        For ``--help``.
    check : callable
        Takes the value and the flag; refuses what the parameter cannot be.
    """

    flag: str
    parameter: str
    metavar: str
    help: str
    check: Callable[[Any, str], object]


@dataclass(frozen=True, slots=True)
class Entry:
    """One estimator that a user can name.

    Parameters
    ----------
    module, kind : str
        Where its class is, and what it is called.
    explanation : str
        How it works, in a sentence or two, for someone who knows least squares.
    options : tuple of Option
    """

    module: str
    kind: str
    explanation: str
    options: tuple[Option, ...] = ()

    def load(self) -> type[BaseEstimator]:
        """Load the class."""
        loaded: type[BaseEstimator] = getattr(import_module(self.module), self.kind)
        return loaded


_ON_FAILURE = ("raise", "constant")

#: Regressions, by the name a user gives.
METHODS = {
    "linear": Entry(
        "nolook.estimators.linear",
        "LinearRegression",
        "Least squares from one noisy release: columns are centred, scaled and clipped, the sums "
        "of products of all pairs of columns get Gaussian noise once, and a ridge penalty of the "
        "noise's size turns them into coefficients.",
    ),
    "tukey": Entry(
        "nolook.estimators.tukey",
        "TukeyRegressor",
        "The Tukey mechanism: the rows are dealt into many groups at random, each group gets a "
        "least-squares model of its own, and the result is a random point deep in the middle of "
        "these models. No single model is released.",
        (
            Option(
                "--on-failure",
                "on_failure",
                "|".join(_ON_FAILURE),
                "For tukey: what a failed private test does; by default it is an error.",
                lambda value, flag: check_choice(flag, value, _ON_FAILURE),
            ),
        ),
    ),
    "boosted-adassp": Entry(
        "nolook.estimators.boosted",
        "BoostedAdaSSPRegressor",
        "Boosted AdaSSP: gradient boosting whose every round is a private ridge regression of what "
        "the rounds before left unexplained. Rows and residuals are clipped to a norm, and "
        "Gaussian noise is added to the sums of each round.",
    ),
    "adassp": Entry(
        "nolook.estimators.adassp",
        "AdaSSPRegressor",
        "AdaSSP, a private ridge regression: the sums of products that least squares needs get "
        "Gaussian noise, and the ridge penalty adapts to the noise and to how well the columns "
        "determine the coefficients.",
        (
            Option(
                "--bound-x",
                "bound_X",
                "B",
                "For adassp: a public bound on the norm of a row.",
                check_positive,
            ),
            Option(
                "--bound-y",
                "bound_y",
                "B",
                "For adassp: a public bound on the size of the label.",
                check_positive,
            ),
        ),
    ),
    "dpsgd": Entry(
        "nolook.estimators.dpsgd",
        "DPSGDRegressor",
        "DP-SGD, stochastic gradient descent: every step takes a random sample of the rows, clips "
        "each row's gradient to a norm and adds Gaussian noise to their sum.",
    ),
}
#: What ``auto`` stands for.
DEFAULT_METHOD = "linear"

#: Feature selectors, by the name a user gives.
SELECTORS = {
    "kendall": Entry(
        "nolook.estimators.kendall",
        "KendallSelector",
        "Kendall selection: columns are drawn one after the other. A column counts by its rank "
        "correlation with the label, less its mean rank correlation with the columns drawn "
        "before it, and one that counts more is the likelier.",
    ),
    "lasso": Entry(
        "nolook.estimators.lasso",
        "LassoSelector",
        "Lasso selection: the rows are dealt into many groups at random, each group gets a Lasso "
        "model that votes for the columns with its largest coefficients, and columns are drawn one "
        "after the other, one with more votes the likelier.",
    ),
    "sis": Entry(
        "nolook.estimators.sis",
        "SISSelector",
        "Sure independence screening: every column is scored by itself, by how closely it goes "
        "along with the label, and columns are drawn so that high scores are the likelier.",
    ),
}
#: What is used if nobody names one.
DEFAULT_SELECTOR = "kendall"

#: Distributions and what is made of them, by the command that makes them.
DISTRIBUTIONS = {
    "ecdf": Entry(
        "nolook.estimators.ecdf",
        "ECDF",
        "The rows are counted up to each of many public thresholds, and the counts get the noise "
        "of a binary tree.",
    ),
    "roc": Entry(
        "nolook.estimators.roc",
        "ROCCurve",
        "The scores of each class are counted up to each of many public thresholds, and the counts "
        "get the noise of a binary tree.",
    ),
    "calibration": Entry(
        "nolook.estimators.calibration",
        "HosmerLemeshow",
        "Rows are put into groups between private quantiles of their probabilities, and the "
        "numbers of positive and negative rows of each group get noise.",
    ),
}

# Parameters all have; the guarantee holds the first two, a seed is never kept.
_COMMON = frozenset({"epsilon", "delta", "random_state"})
# Settings of version 0.1 that are gone: its files may have them.
_RETIRED: dict[str, dict[str, tuple[str, ...]]] = {
    "tukey": {
        "guarantee": ("record", "paper"),
        "ptr": ("2023", "2022"),
        "basis": ("raw",),
    },
    "adassp": {"bounds": ("private", "oracle")},
    "boosted-adassp": {"scaling": ("private", "none")},
    "lasso": {"penalty": ("raw",)},
    "sis": {"ranges": ("oracle",)},
}
# Those that take the guarantee away.
_UNPROVED = frozenset({("guarantee", "paper"), ("bounds", "oracle"), ("ranges", "oracle")})


def check_method(value: str, name: str = "method") -> str:
    """Return a method's name, ``auto`` replaced by the method it stands for.

    Parameters
    ----------
    value : str
        What the user gave.
    name : str
        The name to use in a message.

    Returns
    -------
    str
        A key of :data:`METHODS`.

    Raises
    ------
    ParameterError
        If there is no such method.

    Examples
    --------
    >>> check_method("auto")
    'linear'
    """
    chosen = check_choice(name, value, ("auto", *METHODS))
    return DEFAULT_METHOD if chosen == "auto" else chosen


def name_of(estimator: object) -> str | None:
    """Return by which name a user can ask for an estimator, None if by none."""
    # By name along the base classes, nearest first, so that nothing has to be loaded to tell.
    known = {
        (entry.module, entry.kind): name
        for entries in (METHODS, SELECTORS, DISTRIBUTIONS)
        for name, entry in entries.items()
    }
    classes = ((kind.__module__, kind.__qualname__) for kind in type(estimator).__mro__)
    return next((known[kind] for kind in classes if kind in known), None)


def called(estimator: object) -> str:
    """Return what an estimator is called, by users or else by Python."""
    return name_of(estimator) or type(estimator).__name__


def entry_of(estimator: object) -> Entry | None:
    """Return the entry of an estimator, None if it has none."""
    return (METHODS | SELECTORS | DISTRIBUTIONS).get(name_of(estimator) or "")


def method_parameters(method: str, options: Mapping[str, object]) -> dict[str, Any]:
    """Translate the options of the command line that only some methods have.

    Parameters
    ----------
    method : str
        A key of :data:`METHODS`.
    options : mapping
        Values by flag; None stands for an option that was not given.

    Returns
    -------
    dict
        Parameters of the method's estimator, for those options that were given.

    Raises
    ------
    ParameterError
        If an option has no such value, or belongs to another method.

    Examples
    --------
    >>> method_parameters("tukey", {"--on-failure": "constant", "--bound-x": None})
    {'on_failure': 'constant'}
    """
    known = {option.flag: (home, option) for home in METHODS for option in METHODS[home].options}
    given = {flag: value for flag, value in options.items() if value is not None}
    for flag, value in given.items():
        known[flag][1].check(value, flag)
    for flag, value in given.items():
        home = known[flag][0]
        if home != method:
            raise ParameterError(
                f"{flag} is {value!r}, but the method is {method}; expected --method {home} "
                f"(or leave {flag} out)"
            )
    return {known[flag][1].parameter: value for flag, value in given.items()}


def own_parameters(estimator: BaseEstimator) -> dict[str, Any]:
    """Return what was set for an estimator, without the parameters that all of them have.

    Parameters
    ----------
    estimator : estimator

    Returns
    -------
    dict
        With the settings of an older version that it was read with.
    """
    given = {**estimator.get_params(deep=False), **getattr(estimator, "retired_", {})}
    return {name: value for name, value in given.items() if name not in _COMMON}


def retired_parameters(name: str, parameters: Mapping[str, object]) -> dict[str, str]:
    """Return those parameters of a file that only an older version had, or with values of its own.

    Parameters
    ----------
    name : str
        Of the method or selector.
    parameters : mapping

    Returns
    -------
    dict
    """
    known = _RETIRED.get(name, {})
    return {
        parameter: value
        for parameter, value in parameters.items()
        if isinstance(value, str) and value in known.get(parameter, ())
    }


def unproved_settings(parameters: Mapping[str, object]) -> tuple[str, ...]:
    """List the settings that take the guarantee away, as they would be written in Python.

    Parameters
    ----------
    parameters : mapping
        As :func:`own_parameters` returns them.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> unproved_settings({"guarantee": "paper", "n_models": 100})
    ("guarantee='paper'",)
    """
    return tuple(
        f"{name}={value!r}"
        for name, value in parameters.items()
        if isinstance(value, str) and (name, value) in _UNPROVED
    )
