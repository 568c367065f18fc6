"""What every private feature selector does around its mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from nolook._validation import check_count
from nolook.errors import ParameterError

if TYPE_CHECKING:
    from nolook.privacy.guarantee import PrivacyGuarantee

__all__ = ["PrivateSelector", "check_selected"]

_MOST_SELECTED = 2**20


class PrivateSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Chooses k features privately; `fit` stores `support_` and `privacy_`.

    Parameters
    ----------
    k : int
    epsilon : float
    random_state : int or None

    Attributes
    ----------
    support_ : ndarray of bool, shape (n_features_in_,)
        Which features were chosen.
    """

    def __init__(self, k: int = 5, epsilon: float = 1.0, random_state: int | None = None) -> None:
        self.k = k
        self.epsilon = epsilon
        self.random_state = random_state

    def _plan(self) -> tuple[Any, PrivacyGuarantee]:
        """Check the parameters; return what a fit needs of them and what it will cost."""
        raise NotImplementedError

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        support: NDArray[np.bool_] = self.support_
        return support

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 -- scikit-learn's own untyped class
        """Say what scikit-learn may expect: a target, and noise that makes two fits differ."""
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        tags.target_tags.required = True
        return tags


def check_selected(k: object, features: int) -> int:
    """Return k, the number of features to choose.

    Parameters
    ----------
    k : int
    features : int
        How many there are.

    Returns
    -------
    int

    Raises
    ------
    ParameterError
        If k is no whole number from 1 to one below the number of features.
    """
    number = check_count(k, "k", _MOST_SELECTED)
    if number >= features:
        raise ParameterError(
            f"k is {number}; expected fewer than the table's {features} features "
            "(give a smaller k, or leave the selection out)"
        )
    return number
