"""What the files of models, selections and distributions have in common."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from msgspec import UNSET, Meta, UnsetType, to_builtins

from nolook._validation import check_choice
from nolook.algorithms.scaling import NoisyCount
from nolook.errors import ParameterError
from nolook.estimators.base import PrivateRegressor
from nolook.estimators.catalogue import (
    Entry,
    entry_of,
    own_parameters,
    retired_parameters,
    silent_parameters,
    unproved_settings,
)
from nolook.formats.strict import Broken, Content, convert
from nolook.privacy.guarantee import Budget, PrivacyGuarantee
from nolook.tables.design import Feature, Missing
from nolook.tables.levels import Levels, check_categories, recipe_levels
from nolook.tables.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sklearn.base import BaseEstimator

    from nolook.estimators.base import PrivateEstimator

__all__ = [
    "Fitted",
    "Names",
    "Recipe",
    "Release",
    "guarantee_content",
    "plain_parameters",
    "recipe_content",
    "rows_content",
    "stated_guarantee",
]

_Kind = TypeVar("_Kind", Budget, PrivacyGuarantee)

Names = Annotated[list[str], Meta(min_length=1)]
_Levels = Annotated[list[str | None], Meta(min_length=1)]

# What a file holds of a pair of array-likes.
_PAIR = tuple[float | list[float], float | list[float]] | None


def guarantee_content(guarantee: PrivacyGuarantee) -> dict[str, Any]:
    """Return the entries of a file that state a guarantee."""
    return {"budget": guarantee.budget.to_dict(), "privacy": guarantee.to_dict()}


def rows_content(estimator: PrivateEstimator) -> dict[str, float | None]:
    """Return the entries of a file that state the private number of rows; none if not counted."""
    if estimator.n_rows_ is None:
        return {}
    return {"n_rows": estimator.n_rows_, "n_rows_error": estimator.n_rows_error_}


class Release(Content, frozen=True):
    """The part of a file that states a guarantee, its budget twice."""

    budget: dict[str, Any]
    privacy: dict[str, Any]

    def __post_init__(self) -> None:
        guarantee = self.guarantee()
        if not guarantee.mechanisms:
            raise Broken("expected privacy to list at least one mechanism")
        if _stated("budget", Budget, self.budget) != guarantee.budget:
            raise Broken("expected budget to be the epsilon and delta of privacy")

    def guarantee(self) -> PrivacyGuarantee:
        """Return the guarantee."""
        return stated_guarantee(self.privacy)


def stated_guarantee(content: dict[str, Any]) -> PrivacyGuarantee:
    """Return the guarantee that a file states."""
    return _stated("privacy", PrivacyGuarantee, content)


def _stated(key: str, kind: type[_Kind], content: dict[str, Any]) -> _Kind:
    try:
        return kind.from_dict(content)
    except ParameterError as error:
        raise Broken(f"in {key}, {error}") from None


class Recipe(Content, frozen=True):
    """How a table is read.

    `categories` gives the levels that have a number each, null for all values not declared, and
    `reference` the level they are compared with. Without one, as in all files of version 0.1, they
    are compared with all values that have no number.
    """

    features: Names
    categories: dict[str, _Levels]
    missing: str
    multiline: bool | UnsetType = UNSET
    reference: Annotated[dict[str, str], Meta(min_length=1)] | UnsetType = UNSET
    schema: dict[str, Any] | UnsetType = UNSET

    def __post_init__(self) -> None:
        check_choice("missing", self.missing, get_args(Missing))
        if not self.categories.keys() <= set(self.features):
            raise Broken("expected categories to give the levels of some of features")
        if not self._references().keys() <= self.categories.keys():
            raise Broken("expected reference to give a level of some of categories")
        if not isinstance(self.schema, UnsetType):
            Schema.from_dict(self.schema)
        check_categories(self._levels())

    def _references(self) -> dict[str, str]:
        return {} if isinstance(self.reference, UnsetType) else self.reference

    def _levels(self) -> dict[str, Levels]:
        first = self._references()
        return {column: (first.get(column), *known) for column, known in self.categories.items()}

    def check_gives(self, features: Sequence[str]) -> None:
        """Refuse a recipe that gives other features than these, which are distinct."""
        levels = self._levels()
        schema = None if isinstance(self.schema, UnsetType) else Schema.from_dict(self.schema)
        indicated = set() if schema is None else schema.indicated
        given = (
            Feature(column, levels.get(column), column in indicated).names
            for column in self.features
        )
        if [name for names in given for name in names] != list(features):
            raise Broken("expected recipe to give just the features")

    def options(self) -> dict[str, Any]:
        """Return the options of :func:`nolook.read_table`."""
        found: dict[str, Any] = to_builtins(self)
        found.pop("reference", None)
        levels = {column: recipe_levels(known) for column, known in self._levels().items()}
        return found | {"categories": levels}


def recipe_content(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a file says of these options of :func:`nolook.read_table`: see `Recipe`."""
    levels = check_categories(options["categories"])
    content = {**options, "categories": {name: known[1:] for name, known in levels.items()}}
    first = {name: known[0] for name, known in levels.items() if known[0] is not None}
    return content | ({"reference": first} if first else {})


class Fitted(Release, frozen=True, kw_only=True):
    """The part of a file that tells of an estimator and the features it was fitted to."""

    parameters: dict[str, Any]
    features: Names
    n_rows: Annotated[float, Meta(ge=1)] | UnsetType = UNSET
    n_rows_error: Annotated[float, Meta(ge=0)] | UnsetType = UNSET

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(set(self.features)) != len(self.features):
            raise Broken("expected features to name each column once")
        if (self.n_rows is UNSET) != (self.n_rows_error is UNSET):
            raise Broken("expected n_rows and n_rows_error together")

    def rows(self) -> NoisyCount | None:
        """Return the private number of rows, if they were counted."""
        if self.n_rows is UNSET or self.n_rows_error is UNSET:
            return None
        return NoisyCount(self.n_rows, self.n_rows_error)

    def unfitted(self, name: str, entries: Mapping[str, Entry]) -> Any:  # noqa: ANN401
        """Return the estimator with its parameters, of the types its class declares.

        Settings that only an older version had are kept apart, as `retired_`.
        """
        maker: Any = entries[name].load()
        privacy = self.guarantee()
        retired = retired_parameters(name, self.parameters)
        own = {n: value for n, value in self.parameters.items() if n not in retired}
        hints = get_type_hints(maker.__init__)
        expected = own_parameters(maker()).keys() - retired.keys()
        expected |= silent_parameters(maker()) & own.keys()
        for parameter in sorted(own.keys() ^ expected):
            wrong = "unknown" if parameter in own else "missing"
            raise Broken(f"in parameters, the key {parameter!r} is {wrong}")
        for parameter, value in own.items():
            if not _fits(value, hints[parameter]):
                raise Broken(f"parameters.{parameter} has a value of the wrong type")
        settings = unproved_settings(self.parameters)
        if settings and privacy.private:
            raise Broken(f"expected privacy.private to be false with {settings[0]}")
        plain = {n: tuple(value) if isinstance(value, list) else value for n, value in own.items()}
        estimator = maker(epsilon=privacy.epsilon, **plain)
        if "delta" in estimator.get_params() and privacy.delta > 0:
            estimator.set_params(delta=privacy.delta)
        if retired:
            estimator.retired_ = retired
        estimator.keep_rows(self.rows())
        return estimator


def plain_parameters(estimator: BaseEstimator) -> dict[str, Any]:
    """Return what was set apart from the budget, fit for JSON and for the class a file names."""
    entry = entry_of(estimator)
    kind: Any = type(estimator) if entry is None else entry.load()
    if estimator.get_params().keys() != kind().get_params().keys():
        part = "model" if isinstance(estimator, PrivateRegressor) else "selector"
        raise ParameterError(
            f"{part} is of type {type(estimator).__name__}, whose parameters a file has no place "
            f"for; expected a {kind.__name__}"
        )
    # Settings of an older version are texts.
    hints = get_type_hints(kind.__init__) | dict.fromkeys(getattr(estimator, "retired_", {}), str)
    plain: dict[str, Any] = {}
    for name, value in own_parameters(estimator).items():
        own = value.item() if isinstance(value, np.generic) else value
        if isinstance(value, tuple):
            own = [np.asarray(entry).tolist() for entry in value]
        if not _fits(own, hints[name]):
            raise ParameterError(
                f"{name} is of type {type(value).__name__} or not finite; expected a plain value "
                "of the type its class declares, so that the model can be saved"
            )
        plain[name] = own
    return plain


def _fits(value: object, hint: Any) -> bool:  # noqa: ANN401 -- a type or a union
    """Tell whether a plain value is finite and of a declared type."""
    if any(get_origin(one) is tuple for one in get_args(hint)):
        hint = _PAIR
    try:
        json.dumps(value, allow_nan=False)
        convert(value, hint)
    except (TypeError, ValueError):
        return False
    return True
