"""The search for scales in columns whose histograms are released together.

Three rounds: all columns by magnitude, then those that need a finer look in equal bins, and again.
Which columns a round counts, and their bins, follow from earlier noisy counts and public numbers.
The proof is ``scaling.md``.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from attrs import frozen

from nolook._arrays import Array, Flags, Places, Vector
from nolook.algorithms.histogram_fit import fit_magnitudes, read_linear, read_rest
from nolook.algorithms.histogram_noise import BinNoise
from nolook.kernels.histogram import linear_counts, magnitude_counts, magnitude_edges
from nolook.statistics.histograms import Histograms, histograms_sensitivity

__all__ = ["MOSTLY", "ColumnGroup", "ColumnHistogram"]

#: Share of the rows in one bin from which a column is mostly one value.
MOSTLY = 0.9

_EVIDENCE = 3.0  # gain over "all rows are zero" below which a column tells nothing
_RARE_EVIDENCE = 6.0  # the same of two looks at few values that are not zero
_TARGET_GAIN = 10.0  # gain over "no rows" below which a target tells nothing
_FIRST_ERROR = 0.5  # of a centre read off magnitudes, in scales
# What a scale read off magnitudes counts beside later ones: one over its squared relative error.
_FIRST_WEIGHT, _NARROW_WEIGHT = 3.0, 0.01
_ENOUGH = 15.0  # rows in deviations of a bin's noise that make a finer look worth it
_ROWS_PER_BIN = 1.5  # the same for each bin of a finer look
_FEWEST, _FEWEST_ALONE, _MOST = 8, 24, 48  # bins of a finer look
_GO_ON = 0.7  # share of the bins that the next range must leave out for another look
_FAR = 0.25  # share of the bins that other values must reach away from it
# Scales within which other values lie: by the first look, or those that stand out from the noise.
_INSIDE, _STANDS_OUT_INSIDE = 5.0, 4.0


@frozen(eq=False)
class ColumnHistogram:
    """A released histogram of one column."""

    low: Vector  # of every bin; -inf for the first
    high: Vector  # of every bin; inf for the last
    counts: Vector  # noisy, may be negative
    sigma: float  # standard deviation of each count's noise


class ColumnGroup:
    """Columns, what is known of them, and what the next round will count.

    Parameters
    ----------
    columns : ndarray of int
        Their places in the table.
    alone : bool
        Whether it is the target: always looked at three times.
    gaps : bool
        Whether values may be missing (NaN): these are in no bin, so that fewer rows may count.
    rare : bool
        Whether a column may be mostly one value; if not, that is its spread.
    """

    def __init__(self, columns: Places, *, alone: bool, gaps: bool, rare: bool) -> None:
        size = columns.size
        self.columns = columns
        self.center, self.scale, self.median = np.zeros(size), np.ones(size), np.zeros(size)
        #: Whether values stood out from the noise, and whether the last round showed their spread.
        self.detected, self.resolved = np.zeros((2, size), dtype=np.bool_)
        self.histograms: list[ColumnHistogram | None] = [None] * size
        self._alone, self._gaps, self._may_be_rare = alone, gaps, rare
        self._present: Vector = np.zeros(size)  # rows with a value, as far as the counts tell
        self._next: Places = np.arange(size)
        self._bins = 0  # of the next round; 0 for magnitudes
        self._low, self._width = np.zeros(size), np.ones(size)
        self._error = np.ones(size)  # of the centre, roughly
        self._weight = np.ones(size)  # of the scale
        self._rare = np.zeros(size, dtype=np.bool_)  # nearly all zeros
        self._evidence = np.zeros(size)  # of the first look

    def counting(self) -> Histograms:
        """Return the histograms of the next round, of no rows yet."""
        linear = partial(linear_counts, low=self._low, width=self._width, bins=self._bins)
        columns = self.columns[self._next].tolist()
        return Histograms(linear if self._bins else magnitude_counts, columns)

    def read(self, counts: Array, mu: float, rows: float, next_mu: float | None) -> None:
        """Learn from a round's noisy counts, and choose what a round of `next_mu` will count."""
        sigma = _sigma(len(counts), mu)
        lower, upper = self._edges()
        for column, low, high, own in zip(self._next, lower, upper, counts, strict=True):
            self.histograms[column] = ColumnHistogram(low, high, own, sigma)
        noise = BinNoise(sigma)
        if self._bins:
            low, high, closer = self._read_linear(counts, noise, last=next_mu is None)
        else:
            low, high, closer = self._read_magnitudes(counts, noise, rows, next_mu)
        if next_mu is None:
            return
        closer |= self._alone
        self._next, low, high = self._next[closer], low[closer], high[closer]
        per_bin = rows / _sigma(self._next.size, next_mu) / _ROWS_PER_BIN
        # A target's spread must show in the last round, for which many bins are needed.
        fewest = (_MOST if self._bins else _FEWEST_ALONE) if self._alone else _FEWEST
        self._bins = int(min(max(per_bin, fewest), _MOST))
        # One bin is left free at either end.
        self._width = (high - low) / (self._bins - 2)
        self._low = low - self._width

    def _edges(self) -> tuple[Array, Array]:
        if self._bins:
            inner = self._low[:, None] + self._width[:, None] * np.arange(self._bins + 1)
            far = np.full((len(inner), 1), np.inf)
            return np.hstack([-far, inner]), np.hstack([inner, far])
        lower, upper = magnitude_edges()
        lower[0], upper[-1] = -np.inf, np.inf
        shape = (self._next.size, lower.size)
        return np.broadcast_to(lower, shape), np.broadcast_to(upper, shape)

    def _read_magnitudes(
        self, counts: Array, noise: BinNoise, rows: float, next_mu: float | None
    ) -> tuple[Vector, Vector, Flags]:
        fit = fit_magnitudes(counts, noise, rows, gaps=self._gaps)
        self._present = fit.present
        self.center, self.scale, self.median = fit.center, fit.scale, fit.center.copy()
        self.detected, self._evidence = fit.evidence >= _EVIDENCE, fit.evidence
        if self._alone:
            self.detected = fit.gain >= _TARGET_GAIN
        if self._may_be_rare:
            self._rare = fit.rare & self.detected
            reach = np.maximum(fit.high, -fit.low) / _INSIDE
            self.center = np.where(self._rare, 0.0, self.center)
            self.scale = np.where(self._rare, np.maximum(self.scale, reach), self.scale)
        self._error = _FIRST_ERROR * self.scale
        self._weight = np.where(fit.narrow, _NARROW_WEIGHT, _FIRST_WEIGHT)
        everything = _sigma(int(self.detected.sum()), next_mu or 1.0)
        closer = self.detected & (fit.narrow | (rows > _ENOUGH * everything))
        return fit.low, fit.high, closer

    def _read_linear(
        self, counts: Array, noise: BinNoise, *, last: bool
    ) -> tuple[Vector, Vector, Flags]:
        low, width, places = self._low, self._width, self._next
        known = self.center[places], self.scale[places]
        found = read_linear(counts, noise, self._present[places])
        center, error = low + found.mean * width, found.error * width
        ratio = self._error[places] / error
        center += (self.center[places] - center) / (1.0 + ratio**2)
        self.center[places], self._error[places] = center, error * ratio / np.hypot(1.0, ratio)
        # Scales are averaged by their logarithms; one that was only the size of a wide bin counts
        # little beside the first that is much smaller.
        scale, weight = found.deviation * width, found.doubt**-2
        before = self._weight[places] * np.minimum(1.0, scale / self.scale[places]) ** 2
        logs = weight * np.log(scale) + before * np.log(self.scale[places])
        self.scale[places], self._weight[places] = np.exp(logs / (weight + before)), weight + before
        self.median[self._next] = low + found.median * width
        if self._alone:
            self.resolved = found.resolved
        closer = found.high - found.low < _GO_ON * self._bins
        if self._may_be_rare:
            closer &= ~self._mostly_one_value(counts, noise, known, last=last)
        return low + found.low * width, low + found.high * width, closer

    def _mostly_one_value(
        self, counts: Array, noise: BinNoise, known: tuple[Vector, Vector], *, last: bool
    ) -> Flags:
        """Give columns of mostly one value a scale by their other values; return which these are.

        Few values that are not zero keep the scale of the first look, `known`, if both looks
        together show where they are. Where none shows where such values are, nothing of the column
        is detected.
        """
        low, width, places = self._low, self._width, self._next
        found = read_rest(counts, noise, self._present[places])
        rare = self._rare[places]
        hidden = rare & (self._evidence[places] + found.evidence < _RARE_EVIDENCE)
        mostly = ~rare & (found.share > MOSTLY)
        placed = mostly & (found.evidence >= _EVIDENCE) & (found.reach > _FAR * self._bins)
        if last:
            hidden |= mostly & ~placed & (found.beyond >= _EVIDENCE)
        self.detected[places] &= ~hidden
        center = np.where(placed, low + found.middle * width, self.center[places])
        scale = np.where(placed, found.reach * width / _STANDS_OUT_INSIDE, 0.0)
        self.center[places] = np.where(rare, known[0], center)
        self.scale[places] = np.where(rare, known[1], np.maximum(scale, self.scale[places]))
        if self._alone:
            self.resolved |= placed | (rare & ~hidden)
        return rare | placed


def _sigma(columns: int, mu: float) -> float:
    return histograms_sensitivity(max(1, columns), "add-remove") / mu
