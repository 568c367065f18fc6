"""A fitted model as a JSON file, and back; read strictly, since a file may be damaged or edited.

The file holds what was released and nothing else: anyone may see it. Numbers are written so that
they come back bit for bit.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

import nolook
from nolook.algorithms.scaling import Scaling
from nolook.errors import ModelFileError, ParameterError
from nolook.privacy.guarantee import Budget, PrivacyGuarantee
from nolook.report.files import one_line, write_text
from nolook.report.methods import METHODS, FittedModel, estimator_class, method_of, recipe_of
from nolook.tables.design import Feature

__all__ = ["load", "save"]

_FORMAT = "nolook-model"
_SCHEMA_VERSION = 1
_LARGEST_FILE = 64 * 2**20  # bytes; a model of 100,000 features has about half as many


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
    """

    key: str
    attribute: str
    shape: Callable[[int], tuple[int, ...]]
    ordered: bool = False


def _single(_: int) -> tuple[int, ...]:
    return ()


def _pair(_: int) -> tuple[int, ...]:
    return (2,)


# Every number of a fitted model; METRICS are those kept under the key "metrics".
_MODEL = (
    _Numbers("coef", "coef_", lambda features: (features,)),
    _Numbers("coef_interval", "coef_interval_", lambda features: (features, 2), ordered=True),
    _Numbers("intercept", "intercept_", _single),
    _Numbers("intercept_interval", "intercept_interval_", _pair, ordered=True),
    _Numbers("label_range", "label_range_", _pair, ordered=True),
)
_METRICS = (
    _Numbers("r2", "r2_", _single),
    _Numbers("r2_interval", "r2_interval_", _pair, ordered=True),
    _Numbers("rmse", "rmse_", _single),
    _Numbers("rmse_interval", "rmse_interval_", _pair, ordered=True),
)
_SCALES = ("center", "scale")
_POLICIES = ("error", "drop-row", "zero")
_LARGEST_NUMBER = sys.float_info.max
_KEYS = frozenset(
    {"format", "schema_version", "nolook_version", "method", "recipe", "features"}
    | {"scaling", "metrics", "budget", "privacy"}
    | {field.key for field in _MODEL}
)


def save(model: FittedModel, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a JSON file.

    The file appears whole or not at all; an older one of the same name is replaced.

    Parameters
    ----------
    model : fitted estimator
        Such as :class:`nolook.LinearRegression`.
    path : path-like
        Where to write.

    Raises
    ------
    ParameterError
        If `model` is not an estimator of nolook that was fitted.
    NolookError
        If the file cannot be written.
    """
    document = _to_document(model)
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1)
    write_text(Path(path), text + "\n")


def load(path: str | os.PathLike[str]) -> FittedModel:
    """Read a model that :func:`save` wrote.

    Parameters
    ----------
    path : path-like
        A JSON file.

    Returns
    -------
    fitted estimator
        Of the class that was saved, with its budget; `random_state` is not kept.

    Raises
    ------
    ModelFileError
        If there is no such file, or it is damaged, was edited into something impossible, or was
        written in a format this version does not know.
    """
    place = Path(path)
    try:
        return _from_document(_parse(_read(place)))
    except _Broken as broken:
        raise ModelFileError(f"{one_line(place)} is not a model file: {one_line(broken)}") from None


class _Broken(Exception):  # noqa: N818 -- never leaves this module
    """What is wrong with a file, without the file's name."""


def _to_document(model: FittedModel) -> dict[str, Any]:
    method = method_of(model)
    if method is None or not hasattr(model, "privacy_"):
        known = ", ".join(name for _, name in METHODS.values())
        raise ParameterError(
            f"model is of type {type(model).__name__}; expected a fitted {known} (call fit first)"
        )
    scaling = model.scaling_
    names = list(scaling.names)
    return {
        "format": _FORMAT,
        "schema_version": _SCHEMA_VERSION,
        "nolook_version": nolook.__version__,
        "method": method,
        # Columns of arrays have no names, so scikit-learn asks for none when predicting.
        "recipe": recipe_of(model) if hasattr(model, "feature_names_in_") else None,
        "features": names[:-1],
        **{field.key: _plain(getattr(model, field.attribute)) for field in _MODEL},
        "scaling": {
            "names": names,
            **{key: _plain(getattr(scaling, key)) for key in _SCALES},
            "visible": [bool(seen) for seen in scaling.visible],
        },
        "metrics": {field.key: _plain(getattr(model, field.attribute)) for field in _METRICS},
        "budget": model.privacy_.budget.to_dict(),
        "privacy": model.privacy_.to_dict(),
    }


def _plain(value: object) -> Any:  # noqa: ANN401 -- a float or nested lists of them
    return np.asarray(value, dtype=np.float64).tolist()


def _read(path: Path) -> str:
    try:
        if path.exists() and not path.is_file():
            raise _Broken("expected an ordinary file")
        with path.open("rb") as stream:
            content = stream.read(_LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "expected the path of a file"
        raise _Broken(f"cannot read it ({reason})") from None
    if len(content) > _LARGEST_FILE:
        raise _Broken(f"it has more than {_LARGEST_FILE} bytes")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise _Broken("it is not text in UTF-8") from None


def _parse(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text, parse_constant=_refuse, object_pairs_hook=_distinct)
    except (ValueError, RecursionError):
        raise _Broken("it is not JSON, perhaps cut short") from None
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise _Broken(f'expected "format": "{_FORMAT}"')
    version = document.get("schema_version")
    if type(version) is not int or version != _SCHEMA_VERSION:
        raise _Broken(
            f"expected schema_version {_SCHEMA_VERSION}; another one needs another nolook"
        )
    return document


def _refuse(constant: str) -> NoReturn:
    raise _Broken(f"it holds the number {constant}; expected finite numbers")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Broken("it holds a key twice")
    return found


def _from_document(document: dict[str, Any]) -> FittedModel:
    _keys(document, _KEYS, "the file")
    _text(document["nolook_version"], "nolook_version")
    method = _text(document["method"], "method")
    if method not in METHODS:
        raise _Broken(f"expected method to be one of {', '.join(METHODS)}")
    features = _names(document["features"], "features")
    scaling = _scaling(document["scaling"], features)
    metrics = _keys(document["metrics"], frozenset(f.key for f in _METRICS), "metrics")
    privacy = _privacy(document["privacy"])
    if _budget(document["budget"]) != privacy.budget:
        raise _Broken("expected budget to be the epsilon and delta of privacy")
    recipe = None if document["recipe"] is None else _recipe(document["recipe"], features)
    model = estimator_class(method)(epsilon=privacy.epsilon, delta=privacy.delta)
    for field in _MODEL:
        setattr(model, field.attribute, _numbers(document[field.key], field, len(features)))
    for field in _METRICS:
        setattr(model, field.attribute, _numbers(metrics[field.key], field, len(features)))
    model.label_range_ = (float(model.label_range_[0]), float(model.label_range_[1]))
    model.scaling_ = scaling
    model.privacy_ = privacy
    model.n_features_in_ = len(features)
    if recipe is not None:
        model.recipe_ = recipe
        model.feature_names_in_ = np.array(features, dtype=object)
    return model


def _keys(value: object, expected: frozenset[str], name: str) -> dict[str, Any]:
    """Return an object that has exactly the expected keys."""
    if not isinstance(value, dict):
        raise _Broken(f"expected {name} to be an object")
    missing, unknown = sorted(expected - value.keys()), sorted(value.keys() - expected)
    if missing or unknown:
        wrong = f"{missing[0]!r} is missing" if missing else f"{unknown[0]!r} is unknown"
        raise _Broken(f"in {name}, the key {wrong}")
    return value


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or not value:
        raise _Broken(f"expected {name} to be a text")
    return value


def _names(value: object, name: str) -> tuple[str, ...]:
    """Return distinct texts, at least one."""
    if not isinstance(value, list) or not value or not all(isinstance(n, str) for n in value):
        raise _Broken(f"expected {name} to be a list of names")
    if len(set(value)) != len(value):
        raise _Broken(f"expected {name} to name each column once")
    return tuple(value)


def _array(value: object, shape: tuple[int, ...], name: str) -> NDArray[np.float64]:
    """Return nested lists of finite numbers as an array of exactly this shape."""
    flat: list[float] = []
    _collect(value, shape, name, flat)
    return np.array(flat, dtype=np.float64).reshape(shape)


def _collect(value: object, shape: tuple[int, ...], name: str, flat: list[float]) -> None:
    if shape:
        if not isinstance(value, list) or len(value) != shape[0]:
            raise _Broken(f"expected {name} to have {shape[0]} entries")
        for entry in value:
            _collect(entry, shape[1:], name, flat)
        return
    # A number too large for a double reads as infinite.
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _Broken(f"expected {name} to hold numbers")
    if not abs(value) <= _LARGEST_NUMBER:
        raise _Broken(f"expected {name} to hold finite numbers")
    flat.append(float(value))


def _numbers(value: object, field: _Numbers, features: int) -> NDArray[np.float64] | float:
    array = _array(value, field.shape(features), field.key)
    if field.ordered and (array[..., 0] > array[..., 1]).any():
        raise _Broken(f"expected {field.key} to hold lower ends before upper ends")
    return array if array.shape else float(array)


def _scaling(value: object, features: tuple[str, ...]) -> Scaling:
    parts = _keys(value, frozenset({"names", *_SCALES, "visible"}), "scaling")
    names = _names(parts["names"], "scaling.names")
    if names[:-1] != features:
        raise _Broken("expected scaling.names to be the features and the label")
    center, scale = (_array(parts[key], (len(names),), f"scaling.{key}") for key in _SCALES)
    if not (scale > 0).all():
        raise _Broken("expected scaling.scale to hold numbers above 0")
    visible = parts["visible"]
    if not isinstance(visible, list) or [type(seen) for seen in visible] != [bool] * len(names):
        raise _Broken(f"expected scaling.visible to have {len(names)} times true or false")
    return Scaling(names, center, scale, np.array(visible))


def _budget(value: object) -> Budget:
    try:
        return Budget.from_dict(value)
    except ParameterError as error:
        raise _Broken(f"in budget, {error}") from None


def _privacy(value: object) -> PrivacyGuarantee:
    if not isinstance(value, dict):
        raise _Broken("expected privacy to be an object")
    try:
        guarantee = PrivacyGuarantee.from_dict(value)
    except (ParameterError, TypeError) as error:
        raise _Broken(f"in privacy, {error}") from None
    if not guarantee.mechanisms:
        raise _Broken("in privacy, expected at least one mechanism")
    return guarantee


def _recipe(value: object, features: tuple[str, ...]) -> dict[str, Any]:
    """Return how to read a table, if it gives just these features."""
    recipe = _keys(value, frozenset({"features", "categories", "missing"}), "recipe")
    columns = _names(recipe["features"], "recipe.features")
    levels = recipe["categories"]
    if not isinstance(levels, dict) or not levels.keys() <= set(columns):
        raise _Broken("expected recipe.categories to give the levels of some of recipe.features")
    for column, known in levels.items():
        _names(known, f"recipe.categories of {column!r}")
    if recipe["missing"] not in _POLICIES:
        raise _Broken(f"expected recipe.missing to be one of {', '.join(_POLICIES)}")
    given = (Feature(column, levels.get(column)).names for column in columns)
    if tuple(name for names in given for name in names) != features:
        raise _Broken("expected recipe to give just the features")
    return recipe
