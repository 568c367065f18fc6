"""The methods a user can name, and what each one's fitted estimator offers.

Standard library only, so that the command line knows the names without loading anything numeric.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from nolook._validation import check_choice
from nolook.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nolook.algorithms.scaling import Scaling
    from nolook.estimators._selector import PrivateSelector
    from nolook.privacy.guarantee import PrivacyGuarantee
    from nolook.privacy.ledger import Ledger
    from nolook.report.selectors import Release
    from nolook.tables import Table

__all__ = [
    "DEFAULT_METHOD",
    "METHODS",
    "FittedModel",
    "check_method",
    "estimator_class",
    "has_failed",
    "method_of",
    "method_parameters",
    "own_parameters",
    "recipe_of",
    "unproved_settings",
]

#: Method name -> module and class of its estimator.
METHODS = {
    "linear": ("nolook.estimators.linear", "LinearRegression"),
    "tukey": ("nolook.estimators.tukey", "TukeyRegressor"),
    "boosted-adassp": ("nolook.estimators.boosted", "BoostedAdaSSPRegressor"),
    "adassp": ("nolook.estimators.adassp", "AdaSSPRegressor"),
    "dpsgd": ("nolook.estimators.dpsgd", "DPSGDRegressor"),
}
#: What ``auto`` stands for.
DEFAULT_METHOD = "linear"

# Option of the command line that only one method has -> that method and its parameter.
_OPTIONS = {
    "--bound-x": ("adassp", "bound_X"),
    "--bound-y": ("adassp", "bound_y"),
    "--on-failure": ("tukey", "on_failure"),
}
# Parameters all methods have; the guarantee holds the first two, a seed is never kept.
_COMMON = frozenset({"epsilon", "delta", "random_state"})
# Settings that take the guarantee away.
_UNPROVED = frozenset({("guarantee", "paper"), ("bounds", "oracle"), ("ranges", "oracle")})

#: Called with a step's name, how many steps are done and how many there are.
Progress: TypeAlias = Callable[[str, int, int], None]


class FittedModel(Protocol):
    """What a fitted linear model has; an estimate its method does not make is None."""

    coef_: NDArray[np.float64]
    coef_interval_: NDArray[np.float64] | None
    intercept_: float
    intercept_interval_: NDArray[np.float64] | None
    r2_: float | None
    r2_interval_: NDArray[np.float64] | None
    rmse_: float | None
    rmse_interval_: NDArray[np.float64] | None
    label_range_: tuple[float, float]
    row_norm_: float
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

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""


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
    # By name along the base classes, nearest first, so that nothing has to be loaded to tell.
    homes = {home: method for method, home in METHODS.items()}
    classes = ((kind.__module__, kind.__qualname__) for kind in type(estimator).__mro__)
    return next((homes[kind] for kind in classes if kind in homes), None)


def method_parameters(method: str, options: Mapping[str, object]) -> dict[str, Any]:
    """Translate the options of the command line that only some methods have.

    Parameters
    ----------
    method : str
        A key of :data:`METHODS`.
    options : mapping
        Values by option; None stands for an option that was not given.

    Returns
    -------
    dict
        Parameters of the method's estimator, for those options that were given.

    Raises
    ------
    ParameterError
        If an option belongs to another method.

    Examples
    --------
    >>> method_parameters("tukey", {"--on-failure": "constant", "--bound-x": None})
    {'on_failure': 'constant'}
    """
    chosen: dict[str, Any] = {}
    for option, value in options.items():
        if value is None:
            continue
        home, parameter = _OPTIONS[option]
        if home != method:
            raise ParameterError(
                f"{option} is {value!r}, but the method is {method}; expected --method {home} "
                f"(or leave {option} out)"
            )
        chosen[parameter] = value
    return chosen


def own_parameters(model: FittedModel | PrivateSelector) -> dict[str, Any]:
    """Return the parameters of a method or selector, without those that all of them have.

    Parameters
    ----------
    model : estimator

    Returns
    -------
    dict
    """
    given = model.get_params(deep=False)
    return {name: value for name, value in given.items() if name not in _COMMON}


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


def has_failed(model: FittedModel) -> bool:
    """Tell whether a private test failed and the model is a constant instead.

    Parameters
    ----------
    model : fitted estimator

    Returns
    -------
    bool
    """
    return bool(getattr(model, "failed_", False))


def recipe_of(model: Release) -> dict[str, Any]:
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
    known: dict[str, Any] | None = getattr(model, "recipe_", None)
    if known is not None:
        return known
    columns = list(cast("FittedModel", model).scaling_.names[:-1])
    return {"features": columns, "categories": {}, "missing": "error"}
