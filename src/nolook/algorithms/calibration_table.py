"""Calibration from the private sums of groups of probabilities, at no further cost.

The statistic estimates Hosmer and Lemeshow's H, less what the known noise adds to it. Every divisor
has a floor that grows with the noise.
"""

from __future__ import annotations

import numpy as np
from attrs import frozen

from nolook._arrays import Vector
from nolook.algorithms._simulation import simulation_generator
from nolook.algorithms.scaling import NoisyCount

__all__ = ["CalibrationTable"]

_REPEATS = 9999
# A squared difference is divided by at least this share of its noise's variance. A larger share
# is steadier, and loses more of what small groups say.
_FLOOR = 0.25


@frozen
class CalibrationTable:
    """Groups of probabilities: observed and expected numbers of rows, with their errors.

    The noise has mean 0, so numbers of small groups may be negative. Standard errors are those of
    the noise; they say nothing about how the rows were sampled. A group holds the probabilities
    above its left border and up to its right one; the first group also holds 0.
    """

    borders: Vector  # from 0 to 1, shape (groups + 1,); the others have shape (groups,)
    positives: Vector  # private number of positive rows
    negatives: Vector
    excess: Vector  # private sum of how far probabilities exceed the left border
    count_variance: Vector  # of the noise of `positives`, and of that of `negatives`
    excess_variance: Vector

    @property
    def counts(self) -> Vector:
        """Rows in each group."""
        return self.positives + self.negatives

    @property
    def expected_positives(self) -> Vector:
        """Sums of the probabilities."""
        return self.borders[:-1] * self.counts + self.excess

    @property
    def observed_error(self) -> Vector:
        """Standard error of `positives` and of `negatives`."""
        return np.sqrt(self.count_variance)

    @property
    def count_error(self) -> Vector:
        """Standard error of `counts`."""
        return np.sqrt(2.0 * self.count_variance)

    @property
    def counted(self) -> NoisyCount:
        """Rows in all groups, at least 1, with the standard deviation of their noise."""
        error = float(np.linalg.norm(self.count_error))
        return NoisyCount(max(1.0, float(self.counts.sum())), error)

    @property
    def expected_positives_error(self) -> Vector:
        """Standard error of `expected_positives`."""
        left = self.borders[:-1]
        return np.sqrt(2.0 * left**2 * self.count_variance + self.excess_variance)

    @property
    def difference_error(self) -> Vector:
        """Standard error of `positives` less `expected_positives`, and of the negatives' too."""
        return np.sqrt(self._difference_variance)

    @property
    def statistic(self) -> float:
        """H less what the noise adds to it, at least 0.

        With D = O_1 - E_1 = E_0 - O_0, a group's term D^2/E_1 + D^2/E_0 is D^2/V, V =
        E_1 E_0/(O_1 + O_0). Here it is (D^2 - v)/max(V, 1, v/4), v the variance of the noise of D,
        and V that of the nearest possible numbers.
        """
        return float(self._statistic(self.positives, self.negatives, self.excess))

    @property
    def p_value(self) -> float:
        """P-value: the chance of such a statistic or a larger one for a perfectly calibrated model.

        Simulated 9999 times from one fixed seed: the rows of each group are positive with the
        group's mean probability, and the noise is drawn again.
        """
        generator = simulation_generator()
        rows, expected = self._possible(np.rint(self.counts), self.excess)
        mean = np.clip(expected / np.maximum(rows, 1.0), 0.0, 1.0)
        size = (_REPEATS, len(rows))
        positives = generator.binomial(rows.astype(np.int64), mean, size=size)
        scales = np.sqrt(np.stack([self.count_variance, self.count_variance, self.excess_variance]))
        noise = generator.laplace(scale=scales[:, np.newaxis] / np.sqrt(2.0), size=(3, *size))
        exact = positives, rows - positives, expected - self.borders[:-1] * rows
        simulated = self._statistic(*map(np.add, exact, noise))
        return float((1 + np.count_nonzero(simulated >= self.statistic)) / (1 + _REPEATS))

    def rates(self) -> tuple[Vector, Vector, Vector]:
        """Return each group's share of positives, its mean probability and the error of the gap.

        The error is that of the noise. A group no larger than the noise of its number of rows is
        divided by that noise, which pulls both shares together.
        """
        rows, expected = self._possible(self.counts, self.excess)
        left, right = self.borders[:-1], self.borders[1:]
        mean = np.clip(expected / np.maximum(rows, 1.0), left, right)
        divisor = np.maximum(np.maximum(rows, 1.0), self.count_error)
        difference = self.positives - self.expected_positives
        observed = np.clip(mean + difference / divisor, 0.0, 1.0)
        return observed, mean, self.difference_error / divisor

    @property
    def _difference_variance(self) -> Vector:
        left = self.borders[:-1]
        variance: Vector = ((1.0 - left) ** 2 + left**2) * self.count_variance
        return variance + self.excess_variance

    def _possible(self, counts: Vector, excess: Vector) -> tuple[Vector, Vector]:
        """Return the nearest numbers of rows and of expected positives that rows could have."""
        rows = np.maximum(counts, 0.0)
        left, widths = self.borders[:-1], np.diff(self.borders)
        return rows, left * rows + np.clip(excess, 0.0, widths * rows)

    def _statistic(self, positives: Vector, negatives: Vector, excess: Vector) -> Vector:
        """Return the statistic of groups along the last axis."""
        left, noise = self.borders[:-1], self._difference_variance
        difference = (1.0 - left) * positives - left * negatives - excess
        rows, expected = self._possible(positives + negatives, excess)
        variance = expected * (1.0 - expected / np.maximum(rows, 1.0))
        floor = np.maximum(1.0, _FLOOR * noise)
        terms = (difference**2 - noise) / np.maximum(variance, floor)
        return np.asarray(np.maximum(terms.sum(axis=-1), 0.0))
