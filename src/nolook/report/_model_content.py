"""What a model file says about one fitted model, as plain objects, and back."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import NoneType
from typing import TYPE_CHECKING, Any, get_type_hints

import numpy as np
from numpy.typing import NDArray

from nolook.algorithms.scaling import Scaling
from nolook.errors import ParameterError
from nolook.estimators.base import PrivateRegressor
from nolook.estimators.catalogue import (
    METHODS,
    Entry,
    entry_of,
    name_of,
    own_parameters,
    retired_parameters,
    unproved_settings,
)
from nolook.privacy.guarantee import Budget, PrivacyGuarantee
from nolook.report._strict import Broken, array, fits, keys, limit, names, text
from nolook.tables.design import Feature

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

__all__ = [
    "guarantee_content",
    "guarantee_from",
    "model_content",
    "model_from",
    "plain_parameters",
    "recipe_from",
    "unfitted",
]


@dataclass(frozen=True, slots=True)
class _Numbers:
    """One fitted attribute and its place in the file.

    Parameters
    ----------
    key : str
        In the file.
    attribute : str
        Of the estimator.
    shape : callable
        Maps the number of features to the shape of the array; ``()`` is a plain float.
    ordered : bool
        Whether the last axis holds a lower and an upper end.
    optional : bool
        Whether a method need not estimate it: the attribute is then None and the file has null.
    """

    key: str
    attribute: str
    shape: Callable[[int], tuple[int, ...]]
    ordered: bool = False
    optional: bool = False


def _single(_: int) -> tuple[int, ...]:
    return ()


def _pair(_: int) -> tuple[int, ...]:
    return (2,)


# Every number of a fitted model; METRICS are those kept under the key "metrics".
_MODEL = (
    _Numbers("coef", "coef_", lambda features: (features,)),
    _Numbers(
        "coef_interval",
        "coef_interval_",
        lambda features: (features, 2),
        ordered=True,
        optional=True,
    ),
    _Numbers("intercept", "intercept_", _single),
    _Numbers("intercept_interval", "intercept_interval_", _pair, ordered=True, optional=True),
)
_METRICS = (
    _Numbers("r2", "r2_", _single, optional=True),
    _Numbers("r2_interval", "r2_interval_", _pair, ordered=True, optional=True),
    _Numbers("rmse", "rmse_", _single, optional=True),
    _Numbers("rmse_interval", "rmse_interval_", _pair, ordered=True, optional=True),
)
_PLAIN = (str, int, float, bool, NoneType, tuple[float, float])
_SCALES = ("center", "scale")
_POLICIES = ("error", "drop-row", "zero")
_KEYS = frozenset(
    {"method", "parameters", "recipe", "features"}
    | {"label_range", "row_norm", "scaling", "metrics", "budget", "privacy"}
    | {field.key for field in _MODEL}
)
_OPTIONAL_KEYS = frozenset({"failed"})


def model_content(model: PrivateRegressor) -> dict[str, Any]:
    """Return everything a file says about a model."""
    method = name_of(model)
    if method not in METHODS or not hasattr(model, "privacy_"):
        known = ", ".join(entry.kind for entry in METHODS.values())
        raise ParameterError(
            f"model is of type {type(model).__name__}; expected a fitted {known} (call fit first)"
        )
    scaling = model.scaling_
    columns = list(scaling.names)
    return {
        "method": method,
        "parameters": plain_parameters(model),
        # Columns of arrays have no names, so scikit-learn asks for none when predicting.
        "recipe": model.recipe_ if hasattr(model, "feature_names_in_") else None,
        "features": columns[:-1],
        **{field.key: _plain(getattr(model, field.attribute)) for field in _MODEL},
        "label_range": [_finite(end) for end in model.label_range_],
        "row_norm": _finite(model.row_norm_),
        "scaling": {
            "names": columns,
            **{key: _plain(getattr(scaling, key)) for key in _SCALES},
            "visible": [bool(seen) for seen in scaling.visible],
            "limit": _finite(scaling.limit),
        },
        "metrics": {field.key: _plain(getattr(model, field.attribute)) for field in _METRICS},
        **guarantee_content(model.privacy_),
        **({"failed": model.failed_} if "failed_" in vars(model) else {}),
    }


def _plain(value: object) -> Any:  # noqa: ANN401 -- a float or nested lists of them
    return None if value is None else np.asarray(value, dtype=np.float64).tolist()


def _finite(value: float) -> float | None:
    """Return a number, None for an infinite one: JSON has none."""
    return float(value) if math.isfinite(value) else None


def guarantee_content(guarantee: PrivacyGuarantee) -> dict[str, Any]:
    """Return the entries of a file that state a guarantee."""
    return {"budget": guarantee.budget.to_dict(), "privacy": guarantee.to_dict()}


def plain_parameters(estimator: BaseEstimator) -> dict[str, Any]:
    """Return what was set besides the budget, fit for JSON and for the class a file names."""
    entry = entry_of(estimator)
    kind: Any = type(estimator) if entry is None else entry.load()
    if estimator.get_params().keys() != kind().get_params().keys():
        part = "model" if isinstance(estimator, PrivateRegressor) else "selector"
        raise ParameterError(
            f"{part} is of type {type(estimator).__name__}, whose parameters a file has no place "
            f"for; expected a {kind.__name__}"
        )
    plain: dict[str, Any] = {}
    for name, value in own_parameters(estimator).items():
        own = value.item() if isinstance(value, np.generic) else value
        if isinstance(value, tuple):
            own = [np.asarray(entry).tolist() for entry in value]
        if not any(fits(own, kind) for kind in _PLAIN):
            raise ParameterError(
                f"{name} is of type {type(value).__name__} or not finite; expected a text, a "
                "number, True, False or None, so that the model can be saved (set a plain value)"
            )
        plain[name] = own
    return plain


def model_from(value: object) -> PrivateRegressor:
    """Return the model that a file's content describes."""
    document = keys(value, _KEYS, "the model", _OPTIONAL_KEYS)
    method = text(document["method"], "method")
    if method not in METHODS:
        raise Broken(f"expected method to be one of {', '.join(METHODS)}")
    features = names(document["features"], "features")
    privacy = guarantee_from(document)
    model: PrivateRegressor = unfitted(method, METHODS[method], document["parameters"], privacy)
    metrics = keys(document["metrics"], frozenset(f.key for f in _METRICS), "metrics")
    for field, place in ((f, p) for fs, p in ((_MODEL, document), (_METRICS, metrics)) for f in fs):
        setattr(model, field.attribute, _numbers(place[field.key], field, len(features)))
    model.label_range_ = _label_range(document["label_range"])
    if document["row_norm"] is not None:
        model.row_norm_ = _positive(document["row_norm"], "row_norm")
    model.scaling_ = _scaling(document["scaling"], features)
    model.privacy_ = privacy
    model.n_features_in_ = len(features)
    # Of arrays: another table is to have columns of the names they were given.
    model.recipe_ = {"features": list(features), "categories": {}, "missing": "error"}
    if document["recipe"] is not None:
        model.recipe_ = recipe_from(document["recipe"], features)
        model.feature_names_in_ = np.array(features, dtype=object)
    if "failed" in document:
        _set_failed(model, document["failed"])
    return model


def unfitted(name: str, entry: Entry, value: object, privacy: PrivacyGuarantee) -> Any:  # noqa: ANN401
    """Return an estimator with its parameters, if its class declares them with these types.

    Settings that only an older version had are kept apart, as `retired_`.
    """
    maker: Any = entry.load()
    given = value if isinstance(value, dict) else {}
    retired = retired_parameters(name, given)
    expected = own_parameters(maker())
    parameters = keys(value, frozenset({*expected, *retired}), "parameters")
    hints = get_type_hints(maker.__init__)
    own = {n: given for n, given in parameters.items() if n not in retired}
    for parameter, one in own.items():
        if not fits(one, hints[parameter]):
            raise Broken(f"parameters.{parameter} has a value of the wrong type")
    settings = unproved_settings(parameters)
    if settings and privacy.private:
        raise Broken(f"expected privacy.private to be false with {settings[0]}")
    plain = {n: tuple(one) if isinstance(one, list) else one for n, one in own.items()}
    estimator = maker(epsilon=privacy.epsilon, **plain)
    if "delta" in estimator.get_params() and privacy.delta > 0:
        estimator.set_params(delta=privacy.delta)
    if retired:
        estimator.retired_ = retired
    return estimator


def _set_failed(model: PrivateRegressor, value: object) -> None:
    if not isinstance(value, bool):
        raise Broken("expected failed to be true or false")
    if value and np.any(model.coef_):
        raise Broken("expected coef to hold zeros where failed is true")
    model.failed_ = value


def _label_range(value: object) -> tuple[float, float]:
    if not isinstance(value, list) or len(value) != 2:
        raise Broken("expected label_range to have 2 entries")
    low, high = (limit(end, "label_range", s) for end, s in zip(value, (-1.0, 1.0), strict=True))
    if low > high:
        raise Broken("expected label_range to hold lower ends before upper ends")
    return low, high


def _positive(value: object, name: str) -> float:
    size = limit(value, name)
    if not size > 0:
        raise Broken(f"expected {name} to be a number above 0")
    return size


def _numbers(value: object, field: _Numbers, features: int) -> NDArray[np.float64] | float | None:
    if value is None and field.optional:
        return None
    found = array(value, field.shape(features), field.key)
    if field.ordered and (found[..., 0] > found[..., 1]).any():
        raise Broken(f"expected {field.key} to hold lower ends before upper ends")
    return found if found.shape else float(found)


def _scaling(value: object, features: tuple[str, ...]) -> Scaling:
    parts = keys(value, frozenset({"names", *_SCALES, "visible", "limit"}), "scaling")
    columns = names(parts["names"], "scaling.names")
    if columns[:-1] != features:
        raise Broken("expected scaling.names to be the features and the label")
    center, scale = (array(parts[key], (len(columns),), f"scaling.{key}") for key in _SCALES)
    if not (scale > 0).all():
        raise Broken("expected scaling.scale to hold numbers above 0")
    visible = parts["visible"]
    if not isinstance(visible, list) or [type(seen) for seen in visible] != [bool] * len(columns):
        raise Broken(f"expected scaling.visible to have {len(columns)} times true or false")
    largest = _positive(parts["limit"], "scaling.limit")
    return Scaling(columns, center, scale, np.array(visible), largest)


def guarantee_from(document: dict[str, Any]) -> PrivacyGuarantee:
    """Return the guarantee a document states, twice the same."""
    privacy = _privacy(document["privacy"])
    if _budget(document["budget"]) != privacy.budget:
        raise Broken("expected budget to be the epsilon and delta of privacy")
    return privacy


def _budget(value: object) -> Budget:
    try:
        return Budget.from_dict(value)
    except ParameterError as error:
        raise Broken(f"in budget, {error}") from None


def _privacy(value: object) -> PrivacyGuarantee:
    if not isinstance(value, dict):
        raise Broken("expected privacy to be an object")
    try:
        guarantee = PrivacyGuarantee.from_dict(value)
    except (ParameterError, TypeError) as error:
        raise Broken(f"in privacy, {error}") from None
    if not guarantee.mechanisms:
        raise Broken("in privacy, expected at least one mechanism")
    return guarantee


def recipe_from(value: object, features: tuple[str, ...]) -> dict[str, Any]:
    """Return how to read a table, if it gives just these features."""
    required = frozenset({"features", "categories", "missing"})
    recipe = keys(value, required, "recipe", optional=frozenset({"multiline"}))
    columns = names(recipe["features"], "recipe.features")
    levels = recipe["categories"]
    if not isinstance(levels, dict) or not levels.keys() <= set(columns):
        raise Broken("expected recipe.categories to give the levels of some of recipe.features")
    for column, known in levels.items():
        names(known, f"recipe.categories of {column!r}")
    if recipe["missing"] not in _POLICIES:
        raise Broken(f"expected recipe.missing to be one of {', '.join(_POLICIES)}")
    if not isinstance(recipe.get("multiline", False), bool):
        raise Broken("expected recipe.multiline to be true or false")
    given = (Feature(column, levels.get(column)).names for column in columns)
    if tuple(name for several in given for name in several) != features:
        raise Broken("expected recipe to give just the features")
    return recipe
