"""Records that the files of several kinds of release have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self, get_type_hints

import numpy as np
from msgspec import Meta, defstruct, field

from nolook._validation import check_choice
from nolook.algorithms.scaling import NoisyCount
from nolook.errors import ParameterError
from nolook.estimators.catalogue import Entry, name_of, own_parameters
from nolook.formats.strict import Broken, Content, convert, expect, plain
from nolook.privacy.guarantee import PrivacyGuarantee
from nolook.tables.design import Feature, Missing, labels_of
from nolook.tables.schema import Schema
from nolook.tables.words import check_categories

__all__ = ["Counted", "Finding", "Fitted", "Names", "ReadOptions", "Release", "guaranteed"]

Names = Annotated[list[str], Meta(min_length=1)]


class ReadOptions(Content, frozen=True, omit_defaults=True):
    """Read options of a table: those of :func:`nolook.read_table`."""

    features: Names
    categories: dict[str, Annotated[list[str | None], Meta(min_length=1)]]
    missing: Missing
    positive: str | None = None
    negative: str | None = None
    schema: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        expect(self.categories.keys() <= set(self.features), "categories of some of features")
        _ = self.names

    @property
    def names(self) -> list[str]:
        """The features that a table read so has."""
        levels = check_categories(self.categories)
        return [
            name for column in self.features for name in Feature(column, levels.get(column)).names
        ]

    def labels(self, column: str) -> tuple[str, ...]:
        """Return the labels of a column's levels; of a boolean if it has none."""
        declared = Schema.from_dict(self.schema).columns.get(column)
        return labels_of(check_categories(self.categories).get(column), declared)


class Release(Content, frozen=True, tag_field="kind"):
    """A release and its guarantee; each kind of file is a subclass with the kind as its tag."""

    privacy: dict[str, Any]

    def __post_init__(self) -> None:
        expect(self.guarantee().mechanisms, "privacy to list at least one mechanism")

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
    """A finding in a table, and its read options."""

    read_options: ReadOptions

    @classmethod
    def of(cls, found: Any, **others: Any) -> Self:  # noqa: ANN401
        """Return the record of a finding, with its guarantee and read options."""
        read_options = ReadOptions(**found.read_options)
        return super().of(
            found, privacy=found.privacy.to_dict(), read_options=read_options, **others
        )

    def about(self) -> dict[str, Any]:
        """Return both for `keep_release`."""
        return {"privacy": self.guarantee(), "read_options": plain(self.read_options)}


class Counted(Finding, frozen=True):
    """A finding with a private number of rows, if they were counted."""

    rows: NoisyCount | None

    def __post_init__(self) -> None:
        super().__post_init__()
        if (rows := self.rows) is not None:
            known = rows.value > 0.0 and min(rows.error, rows.lost_error or 0.0) >= 0.0
            expect(known, "rows above 0, and errors of at least 0")


class Fitted(Counted, frozen=True):
    """An estimator of a target; the columns of arrays are not `named`."""

    method: str
    parameters: dict[str, Any]
    named: bool
    features: Names
    target: str

    #: The estimators that may have made it, by `method`.
    entries: ClassVar[Mapping[str, Entry]]

    @classmethod
    def of(cls, found: Any, **others: Any) -> Self:  # noqa: ANN401
        """Return the record of a fitted estimator."""
        own = {"method": name_of(found), "parameters": own_parameters(found)}
        named = hasattr(found, "feature_names_in_")
        return super().of(found, named=named, **own, **others)

    def __post_init__(self) -> None:
        super().__post_init__()
        once = len({*self.features, self.target}) > len(self.features)
        expect(once, "features and target to name each column once")
        expect(set(self.features) <= set(self.read_options.names), "features of read_options")

    def release(self) -> Any:  # noqa: ANN401
        """Return the estimator of a file that holds nothing else."""
        expect(self.features == self.read_options.names, "features to be those of read_options")
        return self.estimator()

    def estimator(self) -> Any:  # noqa: ANN401
        """Return the fitted estimator, its parameters of the types that its class declares."""
        check_choice("method", self.method, self.entries)
        maker: Any = self.entries[self.method].load()
        expect(maker.kind == self.__struct_config__.tag, "a method of this kind")
        hints, privacy = get_type_hints(maker), self.guarantee()
        own = [(name, hints[name]) for name in own_parameters(maker())]
        try:
            convert(plain(self.parameters), defstruct("Parameters", own, bases=(Content,)))
        except Broken as error:
            raise Broken(f"in parameters, {error}") from None
        estimator = maker(epsilon=privacy.epsilon, **self.parameters)
        if hasattr(estimator, "delta") and privacy.delta:
            estimator.delta = privacy.delta
        estimator.privacy_, estimator.rows_ = privacy, self.rows
        estimator.read_options_ = plain(self.read_options)
        estimator.n_features_in_ = len(self.features)
        if self.named:
            estimator.feature_names_in_ = np.array(self.features, dtype=object)
        return estimator
