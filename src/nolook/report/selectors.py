"""The selectors a user can name, and what a release is made of: a selection, a model or both.

Standard library only, so that the command line knows the names without loading anything numeric.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from itertools import compress
from typing import TYPE_CHECKING, TypeAlias, cast

from nolook._validation import check_choice
from nolook.report.methods import FittedModel

if TYPE_CHECKING:
    from nolook.estimators._selector import PrivateSelector
    from nolook.estimators.pipeline import PrivatePipeline
    from nolook.report.findings import Findings

    #: A model, or a selection and the model of what it chose.
    Model: TypeAlias = FittedModel | PrivatePipeline
    #: Whatever was fitted privately and has a page of its own.
    Release: TypeAlias = Model | PrivateSelector | Findings

__all__ = [
    "DEFAULT_SELECTOR",
    "SELECTORS",
    "check_selector",
    "chosen_columns",
    "regression_of",
    "selection_of",
    "selector_class",
    "selector_of",
    "steps",
]

#: Selector name -> module and class of its estimator.
SELECTORS = {
    "kendall": ("nolook.estimators.kendall", "KendallSelector"),
    "lasso": ("nolook.estimators.lasso", "LassoSelector"),
    "sis": ("nolook.estimators.sis", "SISSelector"),
}
#: What is used if nobody names one.
DEFAULT_SELECTOR = "kendall"


def check_selector(value: str, name: str = "selector") -> str:
    """Return a selector's name if there is one of this name.

    Parameters
    ----------
    value : str
        What the user gave.
    name : str
        The name to use in a message.

    Returns
    -------
    str
        A key of :data:`SELECTORS`.

    Raises
    ------
    ParameterError
        If there is none.

    Examples
    --------
    >>> check_selector("lasso")
    'lasso'
    """
    return check_choice(name, value, SELECTORS)


def selector_class(selector: str) -> Callable[..., PrivateSelector]:
    """Load the class of a selector.

    Parameters
    ----------
    selector : str
        A key of :data:`SELECTORS`.

    Returns
    -------
    type
    """
    module, name = SELECTORS[selector]
    return cast("Callable[..., PrivateSelector]", getattr(import_module(module), name))


def selector_of(estimator: object) -> str | None:
    """Return the name of the selector an estimator is, None if it is none of them.

    Parameters
    ----------
    estimator : object

    Returns
    -------
    str or None
    """
    kind = type(estimator)
    home = kind.__module__, kind.__qualname__
    return next((name for name, known in SELECTORS.items() if known == home), None)


def selection_of(release: Release) -> PrivateSelector | None:
    """Return the part of a release that chose columns, None if there is none.

    Parameters
    ----------
    release : fitted estimator

    Returns
    -------
    fitted selector or None
    """
    if hasattr(release, "support_"):
        return cast("PrivateSelector", getattr(release, "selector_", release))
    return None


def regression_of(model: Model) -> FittedModel:
    """Return the regression of a model: its own, or that of the columns chosen.

    Parameters
    ----------
    model : fitted estimator

    Returns
    -------
    fitted estimator
    """
    return cast("FittedModel", getattr(model, "regressor_", model))


def steps(release: Release) -> tuple[tuple[str, FittedModel | PrivateSelector], ...]:
    """List what a release was made of.

    Parameters
    ----------
    release : fitted estimator

    Returns
    -------
    tuple of (str, fitted estimator)
        Each step's name and what was fitted, in order; the budgets of the steps add up.
    """
    selection = selection_of(release)
    found: list[tuple[str, FittedModel | PrivateSelector]] = []
    if selection is not None:
        found.append(("selection", selection))
    if release is not selection:
        found.append(("regression", regression_of(cast("Model", release))))
    return tuple(found)


def chosen_columns(selector: PrivateSelector) -> tuple[tuple[str, ...], bool]:
    """List the columns that were chosen.

    Parameters
    ----------
    selector : fitted selector

    Returns
    -------
    names : tuple of str
    ordered : bool
        Whether they stand in the order they were chosen in; if not, in that of the table.
    """
    names = selector.feature_names_in_.tolist()
    order = getattr(selector, "order_", None)
    if order is None:
        return tuple(compress(names, selector.support_.tolist())), False
    return tuple(names[place] for place in order.tolist()), True
