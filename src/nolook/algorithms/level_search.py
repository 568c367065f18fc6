"""Undeclared levels: those whose noisy weight stands out are shown.

Noise is added to the weight of every level that occurs, and to no other. What noise cannot hide is
that a level occurs at all. So a level is shown only above a threshold, and delta is charged for the
chance that levels which a single unit has reach it. The proof is ``level_search.md``.

===============  ====================================================================
name here        meaning
===============  ====================================================================
``event``        mu of the weights: their noise has standard deviation 1 / mu, in units
``failure``      delta of the levels that only one unit has
``most``         C: levels of one unit that count, drawn at random
``threshold``    rho: a noisy weight above it is shown
===============  ====================================================================
"""

from __future__ import annotations

import math

import numpy as np
from attrs import frozen
from scipy.special import log_ndtr, ndtr

from nolook._arrays import Integers
from nolook.privacy.guarantee import DeltaEvent, GaussianEvent
from nolook.privacy.mechanisms.gaussian import gaussian_release, gaussian_variance
from nolook.privacy.noise import ByteSource
from nolook.tables import Table
from nolook.tables.units import Units

__all__ = ["MOST_OF_A_UNIT", "LevelSearch", "level_weights", "threshold"]

#: Levels of one unit that count.
MOST_OF_A_UNIT = 64
#: The threshold's grid: a unit weighs that many steps.
_WHOLE = 2**30


@frozen
class LevelSearch:
    """Levels of columns that occur, as far as their noisy weights stand out.

    Guarantee: costs its events under add-remove. No table raises.

    Parameters
    ----------
    columns : tuple of int
        Columns of codes without declared levels, each of which costs the events once.
    event : GaussianEvent
    failure : DeltaEvent
    most : int
        1 where the unit is the row.
    """

    columns: tuple[int, ...]
    event: GaussianEvent
    failure: DeltaEvent
    most: int = 1

    def events(self) -> tuple[GaussianEvent | DeltaEvent, ...]:
        """State everything that will be released."""
        return (self.event, self.failure) * len(self.columns)

    def chance(self, units: float) -> float:
        """Return the probability that a level of a number of units is shown."""
        rho = threshold(self.event.mu, self.failure.delta, self.most) / _WHOLE
        return float(ndtr((units - rho) * self.event.mu))

    def run(self, table: Table, source: ByteSource, room: int) -> dict[int, Integers]:
        """Return the codes of each column's levels that are shown: at most `room`, the heaviest."""
        rho = threshold(self.event.mu, self.failure.delta, self.most)
        found = {}
        for column in self.columns:
            codes, weights = level_weights(table, column, self.most, source)
            noisy = gaussian_release(weights, _WHOLE, self.event.mu, source)
            # Of equal weights at the limit none is shown: the order of the rows must not decide.
            limit = np.sort(noisy)[-room - 1] if noisy.size > room else rho
            found[column] = codes[noisy > max(rho, limit)]
        return found


def level_weights(
    table: Table, column: int, most: int, source: ByteSource
) -> tuple[Integers, Integers]:
    """Return the codes that rows of a table have in a column, and the weight of each.

    A unit's weights add up to 2^30 at most, over at most `most` codes that are drawn at random.
    """
    step = _WHOLE // table.unit.weight_scale
    found = [_added(*np.empty((2, 0), np.int64))]
    for batch, weights, units in table.batches_of_units():
        known = ~np.isnan(batch[column])
        own = batch[column, known].astype(np.int64)
        if units is not None:
            own |= units[known] << 32
        each = np.full(own.size, step) if weights is None else weights[known] * step
        found.append(_added(own, each))
    pairs, sums = _added(*map(np.concatenate, zip(*found, strict=True)))
    if table.unit.column is not None:
        of_units = pairs >> 32
        counts = np.bincount(of_units, minlength=1)
        kept = Units(of_units, counts).chosen(most, source.words)
        pairs, sums = pairs[kept] & 0xFFFFFFFF, sums[kept]
    return _added(pairs, sums)


def _added(keys: Integers, numbers: Integers) -> tuple[Integers, Integers]:
    """Return the distinct keys in order, and the sum of each one's numbers."""
    distinct, places = np.unique(keys, return_inverse=True)
    totals = np.zeros(distinct.size, dtype=np.int64)
    np.add.at(totals, places, numbers)
    return distinct, totals


def threshold(mu: float, delta: float, most: int) -> int:
    """Return the smallest threshold, in units of 2^-30, that keeps a delta, rounded up."""
    # The noise is a little larger than 1 / mu, and delta grows with it.
    deviation = math.sqrt(gaussian_variance(_WHOLE, mu)) / _WHOLE
    low, high = 1.0, 2.0
    while _failure(high, deviation, most) > delta:
        low, high = high, 2.0 * high
    while (middle := (low + high) / 2.0) not in (low, high):
        low, high = (low, middle) if _failure(middle, deviation, most) <= delta else (middle, high)
    return math.ceil(high * _WHOLE)


def _failure(rho: float, deviation: float, most: int) -> float:
    """Return the chance that one unit's own levels show, at its largest, rounded up."""
    chance = log_ndtr((rho - 1.0) / deviation) + (most - 1) * log_ndtr(rho / deviation)
    return float(-chance) * (1.0 + 2.0**-30)
