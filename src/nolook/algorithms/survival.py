"""Kaplan and Meier's curve and the log-rank test by noisy forests of events and censored times.

All of it is post-processing. Intervals and p-values come from simulated releases, with their noise.
The proof is ``tabulation.md``.
"""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from nolook._arrays import Array
from nolook.algorithms._simulation import Generator, simulation_generator
from nolook.algorithms.cumulative_noise import rising
from nolook.algorithms.group_tests import ENOUGH, Forests, forest_noise, p_value, too_few
from nolook.algorithms.intervals import NORMAL_95

__all__ = ["Curve", "Times", "log_rank"]

_REPEATS = 499

#: Events and censored times in each cell.
Cells = tuple[Array, Array]


@frozen(eq=False)
class Curve:
    """Survival at the ends of cells, from 1 at time 0, as far as the noise leaves it known.

    `low` and `high` are the ends of 95 % intervals, `at_risk` the number of rows after each time.
    `whole` times are whole numbers: survival changes at these only.
    """

    times: Array
    survival: Array
    low: Array
    high: Array
    at_risk: Array
    whole: bool = False

    @property
    def known(self) -> bool:
        """Return True if the curve goes on after time 0."""
        return self.times.item(-1) > 0.0

    def at(self, times: Array) -> Array:
        """Return survival and its interval at times, shape (3, times); NaN beyond the curve."""
        times = np.floor(times) if self.whole else np.asarray(times)
        ends = self.survival, self.low, self.high
        found = np.array([np.interp(times, self.times, each) for each in ends])
        # The first cell reaches from 0 to where times are seen: its events may be anywhere in it.
        end = min(int(np.count_nonzero(self.times <= 0.0)), self.times.size - 1)
        first = (times > 0.0) & (times < self.times[end])
        found[1:, first] = [[self.low[end]], [self.high[max(end - 1, 0)]]]
        return np.where(self.known & (times <= self.times[-1]), found, np.nan)

    def median(self) -> tuple[float | None, float | None, float | None]:
        """Return the median and its interval, None where the curve or an end is above 1/2."""
        ends = (np.minimum.accumulate(each) for each in (self.survival, self.low, self.high))
        known = [np.interp(-0.5, -each, self.times, right=np.nan) for each in ends]
        found = (np.ceil(known) if self.whole else np.array(known)).tolist()
        value, low, high = (None if np.isnan(each) else each for each in found)
        return value, low, high


@frozen(eq=False)
class Times:
    """Times of one group: a forest of events, and one of those censored.

    `single` marks the cells that hold one time only, at which events come before those censored.
    """

    forests: Forests
    single: NDArray[np.bool_]
    whole: bool = False

    def cells(self) -> Cells:
        """Return the number of events and of censored times in each cell."""
        events, censored = np.diff([self.forests.distribution(n).counts for n in (0, 1)], prepend=0)
        return events, censored

    def noisy(self, exact: Cells, generator: Generator) -> Cells:
        """Return cells of repeated releases of exact ones, shape (repeats, cells)."""
        again = []
        for group, each in zip(self.forests.groups, exact, strict=True):
            counts = np.cumsum(each, axis=-1) + forest_noise(group, _REPEATS, generator)
            # Releases end to end, each lifted above the one before, rise by themselves.
            lift = np.ptp(counts) * np.arange(_REPEATS)[:, None]
            kept = rising((counts + lift).ravel()).reshape(counts.shape) - lift
            again.append(kept.clip(0.0, np.maximum(counts[:, -1:], 1.0)))
        events, censored = np.diff(again, axis=-1, prepend=0.0)
        return events, censored

    def curve(self) -> Curve:
        """Return the curve with intervals of noise and sampling."""
        exact = self.cells()
        again = self.noisy(exact, simulation_generator())
        risk, risks = _at_risk(exact), _at_risk(again)
        hazards = (_hazards(each, self.single)[0] for each in (exact, again))
        survival, repeated = (np.exp(-np.cumsum(each, axis=-1)) for each in hazards)
        noise = np.mean((repeated - survival) ** 2, axis=0)
        left = np.maximum(risk - exact[0], 0.5)
        greenwood = survival**2 * np.cumsum(exact[0] / np.maximum(risk * left, 0.5))
        room = NORMAL_95 * np.sqrt(noise + greenwood)
        enough = risk > ENOUGH * np.sqrt(np.mean((risks - risk) ** 2, axis=0))
        # At a cell's one time, or throughout its times; the last cell has no end.
        end = int(np.cumprod(np.where(self.single, enough, np.roll(enough, -1))[:-1]).sum())
        numbers = survival, survival - room, survival + room
        survival, low, high = (np.append(1.0, each[:end]).clip(0.0, 1.0) for each in numbers)
        points = self.forests.points[:end]
        times = np.append(min(0.0, *points[:1], 0.0), points)
        return Curve(times, survival, low, high, risk[: end + 1], self.whole)


def _at_risk(cells: Cells) -> Array:
    """Return the number of rows that are left before each cell."""
    gone = cells[0] + cells[1]
    return np.asarray((gone.sum(axis=-1, keepdims=True) - gone.cumsum(axis=-1) + gone).clip(0.0))


def _hazards(cells: Cells, single: NDArray[np.bool_]) -> Cells:
    """Return the cumulative hazard of an event, and of being censored, in each cell.

    Within a cell of several times both go on at a constant ratio.
    """
    risk, gone = np.maximum(_at_risk(cells), 1e-9), cells[0] + cells[1]
    total, events = (-np.log(np.maximum(1.0 - each / risk, 1e-9)) for each in (gone, cells[0]))
    own = np.where(single, events, cells[0] / np.maximum(gone, 1e-9) * total)
    return own, np.maximum(total - own, 0.0)


def log_rank(groups: tuple[Times, ...]) -> float | None:
    """Return the p-value of the test that groups have one hazard; None if any has too few rows.

    Under the null hypothesis every group has the pooled hazard and its own censoring.
    """
    curves, single = map(Times.curve, groups), groups[0].single
    end = min(each.times.size * each.known for each in curves) - 1
    if end < 1 or any(too_few(*each.forests.groups) for each in groups):
        return None
    exact = [each.cells() for each in groups]
    events, censored = np.sum(exact, axis=0)
    hazard, generator = _hazards((events, censored), single)[0], simulation_generator()
    drawn = [_drawn(each, hazard, single, generator) for each in exact]
    noisy = [each.noisy(own, generator) for each, own in zip(groups, drawn, strict=True)]
    again = _excess(noisy, single, end)
    mean = again.mean(axis=1, keepdims=True)
    found, again = _excess(exact, single, end)[:, None] - mean, again - mean
    inverse = np.linalg.pinv(np.atleast_2d(np.cov(again)))
    size = [np.einsum("gr,gh,hr->r", each, inverse, each) for each in (found, again)]
    return p_value(float(size[0][0]), size[1])


def _drawn(cells: Cells, hazard: Array, single: NDArray[np.bool_], generator: Generator) -> Cells:
    """Draw a group with a hazard and its own censoring, shape (repeats, cells)."""
    both = hazard + _hazards(cells, single)[1]
    leaving = np.append(-np.expm1(-both[:-1]), 1.0)  # in the last cell all leave
    before = np.append(1.0, np.cumprod(1.0 - leaving[:-1]))
    share = hazard / np.maximum(both, 1e-9)
    share = np.where(single, -np.expm1(-hazard) / np.maximum(leaving, 1e-9), share).clip(0.0, 1.0)
    chances = np.concatenate([before * leaving * share, before * leaving * (1.0 - share)])
    rows = max(1, round(float(cells[0].sum() + cells[1].sum())))
    drawn = generator.multinomial(rows, chances / chances.sum(), size=_REPEATS).astype(np.float64)
    return drawn[:, : hazard.size], drawn[:, hazard.size :]


def _excess(groups: list[Cells], single: NDArray[np.bool_], end: int) -> Array:
    """Return events less those expected by the pooled hazard, of all groups but the last."""
    cells = np.array(groups)[..., :end]
    events, gone = cells[:, 0], cells.sum(axis=1)
    risk = np.array([_at_risk(each) for each in groups])[..., :end]
    risk = np.maximum(risk - np.where(single[:end], 0.0, gone / 2.0), 0.0)
    share = risk / np.maximum(risk.sum(axis=0), 1e-9)
    return np.asarray((events - events.sum(axis=0) * share).sum(axis=-1)[:-1])
