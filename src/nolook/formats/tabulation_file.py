"""Tabulations and descriptions as files."""

from __future__ import annotations

import math
from itertools import chain
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from nolook.algorithms.group_estimates import Estimates
from nolook.algorithms.margins import subsets
from nolook.algorithms.scaling import NoisyCount
from nolook.estimators.tabulation import Description, Measured, Tabulation
from nolook.formats.parts import Counted
from nolook.formats.strict import expect

__all__ = ["DescriptionFile", "TabulationFile"]

_COUNTS = {"count", "estimate"}
_MEASURES = {*_COUNTS, "values", "missing", "mean", "sum", "deviation", "share", "quantile"}
_AT = {"share": str | None, "quantile": float}


def check_numbers(found: Estimates, groups: int) -> None:
    """Refuse numbers and intervals unless they can be those of some groups."""
    expect({each.shape for each in found} == {(groups,)}, "a number for each group")
    _, *ends = found
    for low, high in (ends[:2], ends[2:]):
        expect((np.isnan(low) == np.isnan(high)).all(), "both ends of an interval or none")
        expect(not (low > high).any(), "the lower end before the upper end")


class _TableFile(Counted, frozen=True):
    """Measures of groups, in the order that the columns of groups and their levels give."""

    measured: Annotated[tuple[Measured, ...], Meta(min_length=1)]
    rows: NoisyCount

    def __post_init__(self) -> None:
        super().__post_init__()
        for one in self.measured:
            counted, whole = one.name in _COUNTS, not np.isnan(one.estimates.value).any()
            expect(one.name in _MEASURES, "known measures")
            expect((one.column is None) == counted <= whole, "counts of all groups only")
            expect(isinstance(one.at, _AT.get(one.name, type(None))), "at of shares and quantiles")

    def made(self, kind: Any, by: tuple[tuple[str, ...], ...]) -> Any:  # noqa: ANN401
        """Return the table."""
        levels = {name: self.read_options.labels(name) for name in chain(*by)}
        expect(levels.keys() <= {*self.read_options.features}, "columns of read_options")
        margins = subsets([tuple(sorted(each)) for each in by] or [()])
        groups = sum(math.prod(len(levels[name]) for name in own) for own in margins)
        for each in self.measured:
            # Of numbers, a description has those of all rows only.
            check_numbers(each.estimates, 1 if kind is Description and each.column else groups)
        expect(self.measured[0].name == "count", "counts as the first measure")
        return kind(by, levels, self.measured, rows=self.rows, **self.about())


class TabulationFile(_TableFile, frozen=True, tag="tabulation"):
    """A tabulation: the columns of each of its tables."""

    by: tuple[tuple[str, ...], ...]

    def release(self) -> Any:  # noqa: ANN401
        """Return the tabulation."""
        return self.made(Tabulation, self.by)


class DescriptionFile(_TableFile, frozen=True, tag="description"):
    """A description: the columns of levels."""

    names: tuple[str, ...]

    def release(self) -> Any:  # noqa: ANN401
        """Return the description."""
        return self.made(Description, tuple((name,) for name in self.names))
