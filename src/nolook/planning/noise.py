"""The noise of counts and means of groups, which is known before a row is read."""

from __future__ import annotations

import math

import numpy as np
from attrs import frozen

from nolook.algorithms.forest import CountEvent, best_forest
from nolook.algorithms.histogram_noise import BinNoise
from nolook.algorithms.intervals import DEVIATIONS
from nolook.algorithms.margins import NoisyTable, margins, subsets
from nolook.algorithms.node_counts import noise_kind
from nolook.algorithms.range_search import LONGEST, SHOWS
from nolook.algorithms.tabulation import (
    BLOCKS,
    CELLS,
    COUNTS,
    MAGNITUDES,
    SUMS,
    TOTAL,
    TabulationRelease,
)
from nolook.privacy.guarantee import PureEvent
from nolook.statistics.cell_counts import cell_counts_sensitivity, node_counts_l2_sensitivity
from nolook.statistics.group_totals import moments_l1_sensitivity, moments_l2_sensitivity
from nolook.tables import Table

__all__ = ["GroupNoise", "group_noise"]

_OF = "all rows", "groups by one column", "by two", "by three"
_MOMENTS = moments_l1_sensitivity, moments_l2_sensitivity
_USUAL_CLIP = 4.0  # standard deviations: the clip of a column without far values


@frozen
class GroupNoise:
    """The noise of a release; `count` and `mean` are half widths of 95 % intervals.

    Parameters
    ----------
    count : dict of float
        In rows: of all rows, of groups by one column (the widest), by two, and so on.
    mean : float or None
        Divided by the rows of a group, in standard deviations of a column without far values; None
        where no means are released.
    deviation : float
        Of the noise of such a mean.
    seen : float
        So many rows of a column stand out from the noise, wherever their values lie. Where none do,
        no mean, sum or quantile is shown.
    """

    count: dict[str, float]
    mean: float | None = None
    deviation: float = 0.0
    seen: float = 0.0
    blocks: float = 0.0  # the epsilon whose Laplace noise on cells for quantiles would be as large

    @property
    def counts(self) -> str:
        """Return the half widths of counts, in two digits."""
        said = {of: float(f"{half:.2g}") for of, half in self.count.items()}
        return ", ".join(f"{half:,.12g} ({of})" for of, half in said.items())


def group_noise(release: object, table: Table | None = None) -> GroupNoise | None:
    """Return the noise of a release of counts by groups; None if it is of another kind.

    With survey weights it is in weights of the bound. Noise of margins is that of the table's
    levels.
    """
    release = getattr(release, "release", release)
    if not isinstance(release, TabulationRelease):
        return None
    costs = {each.name: each for each in release.costs}
    kind = noise_kind(release.costs[0])
    counts, blocks, mean = _counts(release, table), 0.0, None
    if MAGNITUDES not in costs:
        return GroupNoise(counts)
    if event := costs.get(BLOCKS):
        times = len(release.spread) * len(release.grouped)
        levels = 2.0 * best_forest(CELLS, kind, shares=True).levels
        blocks = math.sqrt(levels / times)
        blocks = event.epsilon / times if isinstance(event, PureEvent) else event.mu * blocks
    deviation = _of_counts(release, costs[MAGNITUDES], len(release.numbers))
    bins = BinNoise(deviation, laplace=kind == "laplace")
    seen = float(bins.surely(np.array([LONGEST]), SHOWS)[0])
    if event := costs.get(SUMS):
        times = len(release.summed) * len(release.grouped)
        sensitivities = (of(times, release.relation) for of in _MOMENTS)
        mean = _USUAL_CLIP * _deviation(event, *sensitivities)
    return GroupNoise(counts, mean and DEVIATIONS[kind] * mean, mean or 0.0, seen, blocks)


def _counts(release: TabulationRelease, table: Table | None) -> dict[str, float]:
    """Return the half widths of the intervals of counts, those of all rows first."""
    labels = dict(enumerate(table.code_labels if table else ()))
    sizes = [[len(labels.get(d) or " ") for d in each] for each in release.counted]
    costs = {each.name: each for each in release.costs}
    variance = _of_counts(release, costs[COUNTS], len(sizes)) ** 2
    pairs = zip(release.counted, sizes, strict=True)
    tables = [NoisyTable(each, np.zeros(size), variance) for each, size in pairs]
    if event := costs.get(TOTAL):
        tables.append(NoisyTable((), np.zeros(()), _of_counts(release, event, 1) ** 2))
    found = margins(tables, 0.0 if release.relation == "replace" else None)
    halves: dict[str, float] = {}
    for each in subsets(release.counted if release.grouped == ((),) else release.grouped):
        deviations, of = DEVIATIONS[noise_kind(release.costs[0])], _OF[len(each)]
        half = deviations * math.sqrt(found[each].variance)
        halves[of] = max(halves.get(of, 0.0), half)
    return halves


def _of_counts(release: TabulationRelease, event: CountEvent, columns: int) -> float:
    changes = columns * cell_counts_sensitivity(release.relation)
    return _deviation(event, changes, node_counts_l2_sensitivity(changes))


def _deviation(event: CountEvent, l1: float, l2: float) -> float:
    if isinstance(event, PureEvent):
        return math.sqrt(2.0) * l1 / event.epsilon
    return l2 / event.mu
