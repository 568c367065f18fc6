"""What the files of several kinds of release have in common."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Self,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from msgspec import Meta, field, to_builtins

from nolook._validation import check_choice
from nolook.algorithms.scaling import NoisyCount
from nolook.errors import ParameterError
from nolook.estimators.catalogue import Entry, entry_of, name_of, own_parameters
from nolook.formats.strict import Broken, Content, convert
from nolook.privacy.guarantee import PrivacyGuarantee
from nolook.tables.design import Feature, Missing
from nolook.tables.schema import Schema, check_categories

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

__all__ = ["Finding", "Fitted", "Names", "Recipe", "Release", "Rows", "RowsError", "guaranteed"]

Names = Annotated[list[str], Meta(min_length=1)]
Rows = Annotated[float, Meta(ge=1)]
RowsError = Annotated[float, Meta(ge=0)]

# What a file holds of a pair of array-likes.
_PAIR = tuple[float | list[float], float | list[float]] | None


class Recipe(Content, frozen=True, omit_defaults=True):
    """How a table is read: options of :func:`nolook.read_table`."""

    features: Names
    categories: dict[str, Annotated[list[str | None], Meta(min_length=1)]]
    missing: Missing
    schema: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.categories.keys() <= set(self.features):
            raise Broken("expected categories to list the levels of some of features")
        _ = self.names

    @property
    def names(self) -> list[str]:
        """The features that a table read so has."""
        levels, indicated = check_categories(self.categories), self._schema().indicated
        return [
            name
            for column in self.features
            for name in Feature(column, levels.get(column), column in indicated).names
        ]

    def _schema(self) -> Schema:
        return Schema.from_dict(self.schema)

    def options(self) -> dict[str, Any]:
        """Return the options."""
        found: dict[str, Any] = to_builtins(self)
        return found


class Release(Content, frozen=True, tag_field="kind"):
    """A release and its guarantee; each kind of file is a subclass with the kind as its tag."""

    privacy: dict[str, Any]

    def __post_init__(self) -> None:
        if not self.guarantee().mechanisms:
            raise Broken("expected privacy to list at least one mechanism")

    def guarantee(self) -> PrivacyGuarantee:
        """Return the guarantee."""
        return guaranteed(self.privacy)


def guaranteed(content: dict[str, Any]) -> PrivacyGuarantee:
    """Return the guarantee that a file states."""
    try:
        return PrivacyGuarantee.from_dict(content)
    except ParameterError as error:
        raise Broken(f"in privacy, {str(error).rpartition('; ')[2]}") from None


class Finding(Release, frozen=True):
    """What was found about values or scores, and how these were read."""

    recipe: Recipe

    def about(self) -> dict[str, Any]:
        """Return both for `keep_release`."""
        return {"privacy": self.guarantee(), "recipe": self.recipe.options()}


class Fitted(Release, frozen=True):
    """An estimator of a target; the columns of arrays are not `named`."""

    method: str
    parameters: dict[str, Any]
    recipe: Recipe
    named: bool
    features: Names
    target: str
    n_rows: Rows | None
    n_rows_error: RowsError | None

    #: The estimators that may have made it, by `method`.
    entries: ClassVar[Mapping[str, Entry]]

    @classmethod
    def of(cls, estimator: Any, **others: Any) -> Self:  # noqa: ANN401
        """Return what a file says of a fitted estimator."""
        return cls.holding(
            estimator,
            "_",
            privacy=estimator.privacy_.to_dict(),
            method=name_of(estimator),
            parameters=_plain_parameters(estimator),
            recipe=Recipe(**estimator.recipe_),
            named=hasattr(estimator, "feature_names_in_"),
            **others,
        )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("method", self.method, tuple(self.entries))
        if len({*self.features, self.target}) <= len(self.features):
            raise Broken("expected features and target to name each column once")
        if not set(self.features) <= set(self.recipe.names):
            raise Broken("expected features that recipe names")
        if (self.n_rows is None) != (self.n_rows_error is None):
            raise Broken("expected both n_rows and n_rows_error, or neither")
        self.unfitted()

    def release(self) -> Any:  # noqa: ANN401
        """Return the estimator of a file that holds nothing else."""
        if self.features != self.recipe.names:
            raise Broken("expected features to be those of recipe")
        return self.estimator()

    def estimator(self) -> Any:  # noqa: ANN401
        """Return the fitted estimator."""
        estimator = self.unfitted()
        estimator.privacy_ = self.guarantee()
        estimator.recipe_ = self.recipe.options()
        estimator.keep_rows(self.rows())
        estimator.n_features_in_ = len(self.features)
        if self.named:
            estimator.feature_names_in_ = np.array(self.features, dtype=object)
        return estimator

    def rows(self) -> NoisyCount | None:
        """Return the private number of rows, if they were counted."""
        value, error = self.n_rows, self.n_rows_error
        return None if value is None or error is None else NoisyCount(value, error)

    def unfitted(self) -> Any:  # noqa: ANN401
        """Return the estimator with its parameters, of the types its class declares."""
        maker: Any = self.entries[self.method].load()
        privacy, given = self.guarantee(), self.parameters
        hints = get_type_hints(maker.__init__)
        for name in sorted(given.keys() ^ own_parameters(maker()).keys()):
            wrong = "unknown" if name in given else "missing"
            raise Broken(f"in parameters, the key {name!r} is {wrong}")
        for name, value in given.items():
            if not _fits(value, hints[name]):
                raise Broken(f"parameters.{name} has a value of the wrong type")
        own = {n: tuple(value) if isinstance(value, list) else value for n, value in given.items()}
        estimator = maker(epsilon=privacy.epsilon, **own)
        if "delta" in estimator.get_params() and privacy.delta > 0:
            estimator.set_params(delta=privacy.delta)
        return estimator


def _plain_parameters(estimator: BaseEstimator) -> dict[str, Any]:
    """Return what was set apart from the budget, fit for JSON and for the class a file names."""
    entry = entry_of(estimator)
    kind: Any = type(estimator) if entry is None else entry.load()
    if estimator.get_params().keys() != kind().get_params().keys():
        raise ParameterError(
            f"model is of type {type(estimator).__name__}, whose parameters a file cannot hold; "
            f"expected a {kind.__name__}"
        )
    hints, found = get_type_hints(kind.__init__), {}
    for name, value in own_parameters(estimator).items():
        own = value.item() if isinstance(value, np.generic) else value
        if isinstance(value, tuple):
            own = [np.asarray(entry).tolist() for entry in value]
        if not _fits(own, hints[name]):
            raise ParameterError(
                f"{name} is of type {type(value).__name__} or not finite; expected a plain value "
                "of the type its class declares, so that the model can be saved"
            )
        found[name] = own
    return found


def _fits(value: object, hint: Any) -> bool:  # noqa: ANN401 -- a type or a union
    """Whether a plain value is finite and of a declared type."""
    if any(get_origin(one) is tuple for one in get_args(hint)):
        hint = _PAIR
    try:
        json.dumps(value, allow_nan=False)
        convert(value, hint)
    except (TypeError, ValueError):
        return False
    return True
