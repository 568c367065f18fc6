"""Sentences the page and the terminal share: what went wrong, what is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nolook.estimators.base import PrivateRegressor

__all__ = ["NOT_ESTIMATED", "failure_in_words"]

#: Stands where a number would, if the method does not estimate it.
NOT_ESTIMATED = "not estimated by this method"


def failure_in_words(model: PrivateRegressor) -> str | None:
    """Say that a model is only a constant, if its private test failed."""
    if not model.failed_:
        return None
    return (
        "The private test of this fit failed or found too few rows, so there is no regression: the "
        f"model predicts the same number, {model.intercept_ + 0.0:.4g}, the private median of the "
        "label, for every row."
    )
