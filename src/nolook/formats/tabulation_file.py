"""Tabulations and descriptions as files."""

from __future__ import annotations

import math
from typing import Annotated, Any, Self

import numpy as np
from msgspec import Meta

from nolook.algorithms.group_estimates import Estimates
from nolook.algorithms.margins import subsets
from nolook.estimators.tabulation import Description, Measured, Tabulation
from nolook.formats.parts import Finding
from nolook.formats.strict import Content, expect
from nolook.tables.design import labels_of
from nolook.tables.levels import check_categories

__all__ = ["DescriptionFile", "TabulationFile"]

_Numbers = list[float | None]


class Measure(Content, frozen=True):
    """A measure of every group; null stands for an unknown number."""

    name: Annotated[
        str, Meta(pattern="^(count|estimate|values|missing|mean|sum|deviation|share|quantile)$")
    ]
    column: str | None
    at: str | float | None
    value: _Numbers
    low: _Numbers
    high: _Numbers
    noise_low: _Numbers
    noise_high: _Numbers

    def __post_init__(self) -> None:
        counted, whole = self.name in {"count", "estimate"}, None not in self.value
        expect((self.column is None) == counted and whole >= counted, "counts of all groups only")
        kinds = {"share": str | None, "quantile": float}
        expect(isinstance(self.at, kinds.get(self.name, type(None))), "at of shares and quantiles")

    @classmethod
    def of(cls, measured: Measured) -> Self:
        """Return the record of a measure."""
        names = ("value", "low", "high", "noise_low", "noise_high")
        own = zip(names, measured.estimates, strict=True)
        numbers = {
            name: [None if np.isnan(one) else one for one in each.tolist()] for name, each in own
        }
        return cls(name=measured.name, column=measured.column, at=measured.at, **numbers)

    def measured_of(self, groups: int) -> Measured:
        """Return the measure."""
        known = (self.value, self.low, self.high, self.noise_low, self.noise_high)
        expect(all(len(each) == groups for each in known), "a number for each group")
        found = [np.array(each, dtype=np.float64) for each in known]
        for low, high in (found[1:3], found[3:]):
            expect((np.isnan(low) == np.isnan(high)).all(), "both ends of an interval or none")
            expect(not (low > high).any(), "the lower end before the upper end")
        return Measured(self.name, self.column, self.at, Estimates(*found))


class _TableFile(Finding, frozen=True):
    """Measures of groups, in the order that the columns of groups and their levels give."""

    levels: dict[str, Annotated[list[str], Meta(min_length=2)]]
    measured: Annotated[list[Measure], Meta(min_length=1)]
    n_rows: Annotated[float, Meta(gt=0)]
    n_rows_error: Annotated[float, Meta(ge=0)]

    @classmethod
    def of(cls, found: Any, **others: Any) -> Self:  # noqa: ANN401
        """Return the record of a table."""
        return cls.holding(
            found,
            levels={name: list(labels) for name, labels in found.levels.items()},
            measured=[Measure.of(each) for each in found.measured],
            **others,
        )

    def made(self, kind: Any, by: tuple[tuple[str, ...], ...]) -> Any:  # noqa: ANN401
        """Return the table."""
        expect({name for each in by for name in each} == {*self.levels}, "levels of every group")
        levels = {name: tuple(labels) for name, labels in self.levels.items()}
        known = check_categories(self.read_options.categories)
        for name, labels in levels.items():
            own = labels_of(known.get(name))
            expect(labels == own, "levels as read_options has them, or those of a boolean")
        margins = subsets([tuple(sorted(each)) for each in by] or [()])
        groups = sum(math.prod(len(levels[name]) for name in own) for own in margins)
        measured = tuple(each.measured_of(groups) for each in self.measured)
        expect(measured[0].name == "count", "counts as the first measure")
        return kind(by, levels, measured, self.n_rows, self.n_rows_error, **self.about())


class TabulationFile(_TableFile, frozen=True, tag="tabulation"):
    """A tabulation: the columns of each of its tables."""

    by: list[list[str]]

    def release(self) -> Tabulation:
        """Return the tabulation."""
        found: Tabulation = self.made(Tabulation, tuple(map(tuple, self.by)))
        return found


class DescriptionFile(_TableFile, frozen=True, tag="description"):
    """A description: the columns of levels."""

    columns: list[str]

    @classmethod
    def of(cls, found: Any, **others: Any) -> Self:  # noqa: ANN401
        """Return the record of a description."""
        return super().of(found, columns=list(found.names), **others)

    def release(self) -> Description:
        """Return the description."""
        found: Description = self.made(Description, tuple((name,) for name in self.columns))
        return found
