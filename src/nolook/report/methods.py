"""The methods a user can name, and what each one's fitted estimator offers.

Standard library only, so that the command line knows the names without loading anything numeric.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from nolook._validation import check_choice

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nolook.algorithms.scaling import Scaling
    from nolook.privacy.guarantee import PrivacyGuarantee
    from nolook.privacy.ledger import Ledger
    from nolook.tables import Table

__all__ = [
    "DEFAULT_METHOD",
    "METHODS",
    "FittedModel",
    "check_method",
    "estimator_class",
    "method_of",
]

#: Method name -> module and class of its estimator.
METHODS = {"linear": ("nolook.estimators.linear", "LinearRegression")}
#: What ``auto`` stands for.
DEFAULT_METHOD = "linear"

#: Called with a step's name, how many steps are done and how many there are.
Progress: TypeAlias = Callable[[str, int, int], None]


class FittedModel(Protocol):
    """What a fitted linear model has; d is the number of features."""

    coef_: NDArray[np.float64]
    coef_interval_: NDArray[np.float64]
    intercept_: float
    intercept_interval_: NDArray[np.float64]
    r2_: float
    r2_interval_: NDArray[np.float64]
    rmse_: float
    rmse_interval_: NDArray[np.float64]
    label_range_: tuple[float, float]
    scaling_: Scaling
    privacy_: PrivacyGuarantee
    feature_names_in_: NDArray[np.object_]
    n_features_in_: int
    recipe_: dict[str, Any]

    def fit(
        self, X: Table, *, ledger: Ledger | None = None, progress: Progress | None = None
    ) -> object:
        """Fit the model to a table with a target."""

    def predict(self, X: object) -> NDArray[np.float64]:
        """Predict the label of each row, shape (rows,)."""


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


def estimator_class(method: str) -> Callable[..., FittedModel]:
    """Load the estimator class of a method.

    Parameters
    ----------
    method : str
        A key of :data:`METHODS`.

    Returns
    -------
    type
    """
    module, name = METHODS[method]
    return cast("Callable[..., FittedModel]", getattr(import_module(module), name))


def method_of(estimator: object) -> str | None:
    """Return the name of the method an estimator belongs to, None if there is none.

    Parameters
    ----------
    estimator : object

    Returns
    -------
    str or None
    """
    # By name along the base classes, so that nothing has to be loaded to tell.
    classes = {(kind.__module__, kind.__qualname__) for kind in type(estimator).__mro__}
    return next((method for method, home in METHODS.items() if home in classes), None)


def recipe_of(model: FittedModel) -> dict[str, Any]:
    """Return how to read another table the way the model's own was read.

    Parameters
    ----------
    model : fitted estimator

    Returns
    -------
    dict
        Arguments of :func:`nolook.read_table`, apart from the target. A model of arrays or frames
        asks for columns of the same names.
    """
    columns = list(model.scaling_.names[:-1])
    plain: dict[str, Any] = {"features": columns, "categories": {}, "missing": "error"}
    return getattr(model, "recipe_", plain)
