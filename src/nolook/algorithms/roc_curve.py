"""What follows from the private distributions of two classes' scores, at no further cost.

A row is called positive at a threshold if its score is above it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nolook.algorithms._simulation import Generator, simulation_generator
from nolook.algorithms.distribution import PrivateDistribution

__all__ = ["RocCurve", "area"]

_MOST_REPEATS = 200
_LEAST_REPEATS = 20
_WORK = 2**20  # thresholds times repeats
_BAND_POINTS = 201

Vector = NDArray[np.float64]


def area(fpr: Vector, tpr: Vector) -> float:
    """Return the area under a curve by trapezoids: ties within a cell count half."""
    return float(np.clip(np.trapezoid(tpr, fpr), 0.0, 1.0))


@dataclass(frozen=True, slots=True)
class RocCurve:
    """A private ROC curve: the distributions of either class's scores on the same thresholds."""

    positive: PrivateDistribution
    negative: PrivateDistribution

    @property
    def thresholds(self) -> Vector:
        """From infinity, where the curve is at (0, 0), down to minus infinity, at (1, 1)."""
        inner = self.positive.points[:-1]
        return np.concatenate([[np.inf], inner[::-1], [-np.inf]])

    @property
    def rates(self) -> tuple[Vector, Vector]:
        """False and true positive rates at the thresholds; not monotone without smoothing."""
        return _rates(self.negative.counts), _rates(self.positive.counts)

    def partial_area(self, max_fpr: float) -> float:
        """Return the standardised area up to a false positive rate, as scikit-learn does.

        0.5 for a curve that is the diagonal, 1 for a perfect one (McClish 1989). `max_fpr` is above
        0 and at most 1.
        """
        fpr, tpr = _rising(*self.rates)
        inside = fpr < max_fpr
        end = np.interp(max_fpr, fpr, tpr)
        part = np.trapezoid(np.append(tpr[inside], end), np.append(fpr[inside], max_fpr))
        least = max_fpr**2 / 2
        return float(0.5 * (1.0 + (part - least) / (max_fpr - least)))

    def threshold_at_fpr(self, fpr: float) -> float:
        """Return the smallest threshold with at most this false positive rate."""
        reached, _ = _rising(*self.rates)
        return float(self.thresholds[np.searchsorted(reached, fpr, side="right") - 1])

    def threshold_at_tpr(self, tpr: float) -> float:
        """Return the largest threshold with at least this true positive rate."""
        _, reached = _rising(*self.rates)
        return float(self.thresholds[np.searchsorted(reached, tpr, side="left")])

    def noise_errors(
        self, *, smooth: bool, rows_known: bool
    ) -> tuple[float, Vector, Vector, Vector]:
        """Estimate how far the noise moved the area and the curve.

        The release is repeated on the private counts, from one fixed seed, with new noise of the
        same size, and smoothed if the private counts were; errors are root mean squares of what
        that moves. `rows_known`: the number of all rows is public, so the two classes' are off by
        the same. Returns the area's error, 201 even false positive rates, and the curve and its
        error there.
        """
        places = np.linspace(0.0, 1.0, _BAND_POINTS)
        fpr, tpr = self.rates
        middle = np.interp(places, *_rising(fpr, tpr))
        size = len(self.positive.points)
        repeats = int(np.clip(_WORK // size, _LEAST_REPEATS, _MOST_REPEATS))
        areas, bands = 0.0, np.zeros(_BAND_POINTS)
        for again in self._repeated(repeats, smooth=smooth, rows_known=rows_known):
            areas += (area(*again) - area(fpr, tpr)) ** 2
            bands += (np.interp(places, *_rising(*again)) - middle) ** 2
        return float(np.sqrt(areas / repeats)), places, middle, np.sqrt(bands / repeats)

    def _repeated(
        self, repeats: int, *, smooth: bool, rows_known: bool
    ) -> Iterator[tuple[Vector, Vector]]:
        generator = simulation_generator()
        scale = np.sqrt(self.positive.noise.rows_variance / 2)
        for _ in range(repeats):
            moved = generator.laplace(scale=scale, size=2)
            if rows_known:
                moved[1] = -moved[0]
            yield (
                _rates(_noised(self.negative, moved[1], smooth, generator)),
                _rates(_noised(self.positive, moved[0], smooth, generator)),
            )


def _rates(counts: Vector) -> Vector:
    above = 1.0 - (counts / counts[-1]).clip(0.0, 1.0)
    return np.append(above[::-1], 1.0)


def _rising(fpr: Vector, tpr: Vector) -> tuple[Vector, Vector]:
    return np.maximum.accumulate(fpr), np.maximum.accumulate(tpr)


def _noised(
    distribution: PrivateDistribution, moved: float, smooth: bool, generator: Generator
) -> Vector:
    """Add the noise of a release to private counts, and smooth them."""
    noisy = distribution.counts + distribution.noise.draw(moved, generator)
    top = max(1.0, distribution.rows + moved)
    counts = distribution.noise.smooth(noisy, top) if smooth else noisy
    counts[-1] = top
    return counts
