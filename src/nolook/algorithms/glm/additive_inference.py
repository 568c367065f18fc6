"""The curves of a released additive model in the columns' units, with bands. Post-processing.

A curve is what a column adds to the prediction, less its mean; at a place it is a contrast of the
model, so that its band is an interval of :mod:`nolook.algorithms.glm.inference`, point by point.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from nolook.algorithms.curves import Curve
from nolook.algorithms.glm.linear import NoisyRegression
from nolook.algorithms.glm.linear_inference import MOST_HIDDEN, knowledge
from nolook.kernels.moments import UNIT

__all__ = ["ColumnCurve", "additive_curves"]

# A curve whose deviations are no more, in scales of the target, is a line.
_STRAIGHT = 1e-6

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@frozen(eq=False)
class ColumnCurve:
    """The contribution of a column: straight between places, and constant beyond them."""

    places: Vector  # increasing, in the column's units
    heights: Vector  # in the target's units, 0 on average
    band: Matrix | None  # both 95 % ends at each place, shape (places, 2); None where not known
    straight: bool  # whether it is a line between its ends
    share: float  # of what the variances of all curves add up to

    def at(self, values: Vector) -> Vector:
        """Return the heights at values of the column."""
        found: Vector = np.interp(values, self.places, self.heights)
        return found

    def monotone(self, *, rising: bool) -> ColumnCurve:
        """Return the nearest curve that only rises, or only falls; its band, too."""
        ends = () if self.band is None else self.band.T
        heights, *band = (
            isotonic_regression(each, increasing=rising).x for each in (self.heights, *ends)
        )
        return evolve(self, heights=heights, band=np.column_stack(band) if band else None)


def additive_curves(
    release: NoisyRegression,
) -> tuple[float, Vector | None, tuple[ColumnCurve, ...]]:
    """Return the level that curves are added to, its interval, and a curve for each feature."""
    scaling, theta, back = release.scaling, release.spread.model(release.theta), release.spread.back
    moments = back @ release.gram @ back.T / max(float(release.gram[0, 0]), 1.0)
    low, high = (end[:-1] for end in scaling.limits)
    lines = slice(1, np.count_nonzero(release.kept) + 1)
    means = np.append(1.0, moments[0, 1:])
    means[lines] = means[lines].clip(low[release.kept], high[release.kept])
    spread = moments - np.outer(means, means)
    target, known = scaling.scale[-1], knowledge(release)
    residuals = release.clips.residuals(release.gram, release.gram_sigma)

    def half_widths(contrasts: Matrix) -> Matrix | None:
        half = target * known.half_widths(contrasts, MOST_HIDDEN, residuals=residuals)
        return None if np.isnan(half).any() else half[:, None] * np.array([-1.0, 1.0])

    found = [
        ColumnCurve(np.array(ends), np.zeros(2), None, straight=True, share=0.0)
        for ends in zip(scaling.low[:-1], scaling.high[:-1], strict=True)
    ]
    columns = np.flatnonzero(release.kept)
    for column, (entries, curve) in zip(columns, _entries(release), strict=True):
        ends = float(low[column]), float(high[column])
        standard, contrasts = _contrasts(entries, curve, ends, means)
        heights, half = target * (contrasts @ theta), half_widths(contrasts)
        part = theta[entries]
        found[column] = ColumnCurve(
            scaling.center[column] + scaling.scale[column] * standard,
            heights,
            None if half is None else heights[:, None] + half,
            straight=bool((np.abs(part[1:]) <= _STRAIGHT).all()),
            share=max(float(part @ spread[np.ix_(entries, entries)] @ part), 0.0),
        )
    whole = max(sum(each.share for each in found), np.finfo(np.float64).tiny)
    level, half = float(scaling.center[-1] + target * (means @ theta)), half_widths(means[None])
    return (
        level,
        None if half is None else level + half[0],
        tuple(evolve(each, share=each.share / whole) for each in found),
    )


def _contrasts(
    entries: list[int], curve: Curve | None, ends: tuple[float, float], means: Vector
) -> tuple[Vector, Matrix]:
    """Return the places of a feature, standardised, and its curve there less its mean."""
    inside = np.zeros(0) if curve is None else curve.knots / UNIT
    inside = inside[(inside > ends[0]) & (inside < ends[1])]
    standard = np.concatenate([ends[:1], inside, ends[1:]])
    contrasts = np.zeros((standard.size, means.size))
    contrasts[:, entries] = -means[entries]
    contrasts[:, entries[0]] += standard
    if curve is not None:
        contrasts[:, entries[1:]] += curve.at(standard).T
    return standard, contrasts


def _entries(release: NoisyRegression) -> Iterator[tuple[list[int], Curve | None]]:
    """Yield the entries of each kept feature in a model: its line, then its deviations."""
    lines = np.count_nonzero(release.kept)
    start = lines + 1
    for line, curve in enumerate(release.curves or (None,) * lines, 1):
        size = 0 if curve is None else len(curve.shapes)
        yield [line, *range(start, start + size)], curve
        start += size
