"""Sentences the page and the terminal share: the method, what went wrong, what is not known.

Standard library only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nolook.report.methods import (
    FittedModel,
    has_failed,
    method_of,
    own_parameters,
    unproved_settings,
)
from nolook.report.selectors import selector_of, steps

if TYPE_CHECKING:
    from nolook.estimators._selector import PrivateSelector
    from nolook.report.selectors import Release

__all__ = [
    "NOT_ESTIMATED",
    "failure_in_words",
    "method_in_words",
    "selector_in_words",
    "why_not_private",
]

#: Stands where a number would, if the method does not estimate it.
NOT_ESTIMATED = "not estimated by this method"

_METHODS = {
    "linear": (
        "Least squares from one noisy release: columns are centred, scaled and clipped, the sums "
        "of products of all pairs of columns get Gaussian noise once, and a ridge penalty of the "
        "noise's size turns them into coefficients."
    ),
    "tukey": (
        "The Tukey mechanism: the rows are dealt into many groups at random, each group gets a "
        "least-squares model of its own, and the result is a random point deep in the middle of "
        "these models. No single model is released."
    ),
    "boosted-adassp": (
        "Boosted AdaSSP: gradient boosting whose every round is a private ridge regression of what "
        "the rounds before left unexplained. Rows and residuals are clipped to a norm, and "
        "Gaussian noise is added to the sums of each round."
    ),
    "adassp": (
        "AdaSSP, a private ridge regression: the sums of products that least squares needs get "
        "Gaussian noise, and the ridge penalty adapts to the noise and to how well the columns "
        "determine the coefficients."
    ),
    "dpsgd": (
        "DP-SGD, stochastic gradient descent: every step takes a random sample of the rows, clips "
        "each row's gradient to a norm and adds Gaussian noise to their sum."
    ),
}

_SELECTORS = {
    "kendall": (
        "Kendall selection: columns are drawn one after the other. A column counts by its rank "
        "correlation with the label, less its mean rank correlation with the columns drawn "
        "before it, and one that counts more is the likelier."
    ),
    "lasso": (
        "Lasso selection: the rows are dealt into many groups at random, each group gets a Lasso "
        "model that votes for the columns with its largest coefficients, and columns are drawn one "
        "after the other, one with more votes the likelier."
    ),
    "sis": (
        "Sure independence screening: every column is scored by itself, by how closely it goes "
        "along with the label, and columns are drawn so that high scores are the likelier."
    ),
}


def method_in_words(model: FittedModel) -> str:
    """Say how a model was made, for someone who knows least squares.

    Parameters
    ----------
    model : fitted estimator

    Returns
    -------
    str
        One or two sentences, empty for an unknown class.
    """
    return _METHODS.get(method_of(model) or "", "")


def selector_in_words(selector: PrivateSelector) -> str:
    """Say how columns were chosen.

    Parameters
    ----------
    selector : fitted selector

    Returns
    -------
    str
        One or two sentences, empty for an unknown class.
    """
    return _SELECTORS.get(selector_of(selector) or "", "")


def failure_in_words(model: FittedModel) -> str | None:
    """Say that a model is only a constant, if its private test failed.

    Parameters
    ----------
    model : fitted estimator

    Returns
    -------
    str or None
        One sentence.
    """
    if not has_failed(model):
        return None
    return (
        "The private test of this fit failed or found too few rows, so there is no regression: the "
        f"model predicts the same number, {model.intercept_ + 0.0:.4g}, the private median of the "
        "label, for every row."
    )


def why_not_private(release: Release) -> tuple[str, str]:
    """Say why a result has no guarantee.

    Parameters
    ----------
    release : fitted estimator
        Its guarantee is not private.

    Returns
    -------
    short, long : str
        A few words, and a sentence.
    """
    given = (unproved_settings(own_parameters(part)) for _, part in steps(release))
    settings = " and ".join(setting for several in given for setting in several)
    if settings:
        return settings, f"It was made with {settings}, for which no guarantee for rows is proved."
    sentence = (
        "The noise was drawn from a known seed (random_state), so it can be drawn again and taken "
        "away."
    )
    return "a known seed", sentence
