"""Tabulations and descriptions as files."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Self

import numpy as np
from msgspec import Meta

from nolook.algorithms.group_estimates import ALL, Estimates
from nolook.estimators.tabulation import Description, Measured, Tabulation
from nolook.formats.parts import Finding
from nolook.formats.strict import Content, Places, expect

__all__ = ["DescriptionFile", "TabulationFile"]

_Numbers = list[float | None]


class Measure(Content, frozen=True):
    """A measure of every group; null is what is not known."""

    name: Annotated[str, Meta(pattern="^(count|values|missing|mean|sum|deviation|share|quantile)$")]
    column: str | None
    at: str | float | None
    value: _Numbers
    low: _Numbers
    high: _Numbers
    noise_low: _Numbers
    noise_high: _Numbers

    @classmethod
    def of(cls, measured: Measured) -> Self:
        """Return what a file says of a measure."""
        names = ("value", "low", "high", "noise_low", "noise_high")
        own = zip(names, measured.estimates, strict=True)
        numbers = {
            name: [None if np.isnan(one) else one for one in each.tolist()] for name, each in own
        }
        return cls(name=measured.name, column=measured.column, at=measured.at, **numbers)

    def measured(self, groups: int) -> Measured:
        """Return the measure."""
        known = (self.value, self.low, self.high, self.noise_low, self.noise_high)
        expect(all(len(each) == groups for each in known), "a number for each group")
        found = [np.array(each, dtype=np.float64) for each in known]
        for low, high in (found[1:3], found[3:]):
            expect((np.isnan(low) == np.isnan(high)).all(), "both ends of an interval or none")
            expect(not (low > high).any(), "the lower end before the upper end")
        return Measured(self.name, self.column, self.at, Estimates(*found))


class _TableFile(Finding, frozen=True):
    """Measures of groups; -1 stands for all levels."""

    by: list[list[str]]
    levels: dict[str, Annotated[list[str], Meta(min_length=2)]]
    codes: list[list[int]]
    measured: Annotated[list[Measure], Meta(min_length=1)]
    n_rows: Annotated[float, Meta(ge=1)]
    n_rows_error: Annotated[float, Meta(ge=0)]

    #: What it is the file of.
    made: ClassVar[Any]

    @classmethod
    def of(cls, found: Any) -> Self:  # noqa: ANN401
        """Return what a file says of a table."""
        return cls.holding(
            found,
            by=[list(each) for each in found.by],
            levels={name: list(labels) for name, labels in found.levels.items()},
            codes=found.codes.tolist(),
            measured=[Measure.of(each) for each in found.measured],
        )

    def release(self) -> Any:  # noqa: ANN401
        """Return the table."""
        sizes = [len(labels) for labels in self.levels.values()]
        grouped = {name for each in self.by for name in each}
        expect(grouped == self.levels.keys(), "levels of the columns of by")
        expect(all(len(row) == len(sizes) for row in self.codes), "a code for each of levels")
        codes: Places = np.array(self.codes, dtype=np.intp).reshape(-1, len(sizes))
        inside = (codes >= ALL) & (codes < np.array(sizes, dtype=np.intp))
        expect(inside.all(), "codes of levels")
        expect(len({*map(tuple, self.codes)}) == len(codes), "each group once")
        expect(codes.size == 0 or (codes[0] == ALL).all(), "all rows as the first group")
        expect(self.measured[0].name == "count", "counts as the first measure")
        return self.made(
            tuple(map(tuple, self.by)),
            {name: tuple(labels) for name, labels in self.levels.items()},
            codes,
            tuple(each.measured(len(codes)) for each in self.measured),
            self.n_rows,
            self.n_rows_error,
            **self.about(),
        )


class TabulationFile(_TableFile, frozen=True, tag="tabulation"):
    """A tabulation."""

    made: ClassVar[Any] = Tabulation


class DescriptionFile(_TableFile, frozen=True, tag="description"):
    """A description."""

    made: ClassVar[Any] = Description
