"""The curves of a released additive model in the columns' units, with bands. Post-processing.

A curve is what a column adds to the prediction, less its mean; at a place it is a contrast of the
model, so that its band is an interval of :mod:`nolook.algorithms.glm.inference`, point by point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from attrs import evolve, frozen

from nolook._arrays import Matrix, Vector
from nolook._defaults import QUANTILE
from nolook.algorithms.curves import Curve
from nolook.algorithms.glm.additive_priors import shrink
from nolook.algorithms.glm.estimate import Noisy, hidden_directions
from nolook.algorithms.glm.frame import NoisyFrame
from nolook.algorithms.glm.inference import with_sampling
from nolook.algorithms.glm.likelihood import NoisyLikelihood
from nolook.algorithms.glm.linear import NoisyRegression

__all__ = ["ColumnCurve", "additive_curves", "feature_entries"]

# A curve whose deviations are no more, in scales of the target, is a line.
_STRAIGHT = 1e-6
# Share of a curve's squared loading on hidden directions beyond which it has no band; and what the
# variance of effects along these is at least: theirs seem smaller than they are.
_MOST_HIDDEN, _HIDDEN = 0.2, 0.02


@frozen(eq=False)
class ColumnCurve:
    """The contribution of a column: straight between places, and constant beyond them."""

    places: Vector  # increasing, in the column's units
    heights: Vector  # in the target's units, 0 on average
    band: Matrix | None  # both 95 % ends at each place, shape (places, 2); None where not known
    straight: bool  # whether it is a line between its ends
    share: float  # of what the variances of all curves add up to
    #: Share of rows below each place, from the histogram that places were chosen by, if any was.
    below: Vector | None

    def at(self, values: Vector) -> Vector:
        """Return the heights at values of the column."""
        return np.asarray(np.interp(values, self.places, self.heights))

    def monotone(self, *, rising: bool) -> ColumnCurve:
        """Return the nearest curve that only rises, or only falls; its band, too."""
        from scipy.optimize import isotonic_regression

        ends = () if self.band is None else self.band.T
        curves = self.heights, *ends
        heights, *band = (isotonic_regression(each, increasing=rising).x for each in curves)
        return evolve(self, heights=heights, band=np.column_stack(band) if band else None)


def additive_curves(
    release: NoisyRegression | NoisyLikelihood,
) -> tuple[float, Vector | None, tuple[ColumnCurve, ...]]:
    """Return the level that curves are added to, its interval, and a curve for each feature."""
    scaling, theta, back = release.scaling, release.spread.model(release.theta), release.spread.back
    rows = max(float(release.gram[0, 0]), 1.0)
    moments = back @ release.gram @ back.T / rows
    low, high = (end[:-1] for end in scaling.limits)
    lines = slice(1, np.count_nonzero(release.kept) + 1)
    means = np.append(1.0, moments[0, 1:])
    means[lines] = means[lines].clip(low[release.kept], high[release.kept])
    spread = moments - np.outer(means, means)
    origin, target = release.units
    both = target * np.array([-1.0, 1.0])
    half_widths = _half_widths(release, release.known)
    found = [
        ColumnCurve(np.array(ends), np.zeros(2), None, straight=True, share=0.0, below=None)
        for ends in zip(scaling.low[:-1], scaling.high[:-1], strict=True)
    ]
    columns = np.flatnonzero(release.kept)
    for column, (entries, curve) in zip(columns, feature_entries(release), strict=True):
        ends = float(low[column]), float(high[column])
        standard, contrasts = _contrasts(entries, curve, ends, means)
        part = theta[entries]
        varied = max(float(part @ spread[np.ix_(entries, entries)] @ part), 0.0)
        # The mean is not known for certain either: by sampling, and by the moments' noise.
        moved = 0.5 * float(((part @ back[entries]) ** 2).sum()) + float(part @ means[entries]) ** 2
        centred = varied / rows + moved * (release.gram_sigma / rows) ** 2
        heights, half = target * (contrasts @ theta), half_widths(contrasts, centred)
        found[column] = ColumnCurve(
            scaling.center[column] + scaling.scale[column] * standard,
            heights,
            None if half is None else heights[:, None] + half[:, None] * both,
            straight=bool((np.abs(part[1:]) <= _STRAIGHT).all()),
            share=varied,
            below=None if curve is None else np.interp(standard, *curve.rows),
        )
    whole = max(sum(each.share for each in found), np.finfo(np.float64).tiny)
    level, half = origin + target * float(means @ theta), half_widths(means[None])
    curves = tuple(evolve(each, share=each.share / whole) for each in found)
    return level, None if half is None else level + half * both, curves


def _half_widths(
    release: NoisyRegression | NoisyLikelihood, known: Noisy | None
) -> Callable[..., Vector | None]:
    """Return the half widths of intervals as a function of contrasts; `known` are the scores'.

    Contrasts are of a model of (1, x), standardised, and each has a further variance. None where
    more than a share of their squares is on hidden directions.
    """
    if known is None:
        return lambda *_: None
    combined, residuals, sigma, last = release.observed()
    # Of the combined gradients, were residuals alike in all rows.
    alike = (combined.vectors * combined.values) @ combined.vectors.T
    alike *= release.squares * residuals
    shrunk = shrink(combined, release, residuals, sigma)
    seen = hidden_directions(combined.eigenvalues, sigma)
    along = release.spread.along(combined.vectors)
    hidden_ways, unsettled = np.linalg.qr(along[:, seen])[0], along * np.sqrt(last)

    def half_widths(contrasts: Matrix, extra: float = 0.0) -> Vector | None:
        contrasts = release.spread.centred(contrasts)
        hidden = ((contrasts @ hidden_ways) ** 2).sum(axis=1)
        if hidden.sum() > _MOST_HIDDEN * (contrasts**2).sum():
            return None
        ways = contrasts @ shrunk.response
        missed = (contrasts @ shrunk.missed) ** 2 @ shrunk.prior
        missed += _HIDDEN * hidden + ((contrasts @ unsettled) ** 2).sum(axis=1)
        missed += combined.variance * (ways**2).sum(axis=1) + extra
        variance = with_sampling(missed, known, ways, ((ways @ alike) * ways).sum(axis=1))
        return np.asarray(QUANTILE * np.sqrt(variance))

    return half_widths


def _contrasts(
    entries: list[int], curve: Curve | None, ends: tuple[float, float], means: Vector
) -> tuple[Vector, Matrix]:
    """Return the places of a feature, standardised, and its curve there less its mean."""
    # The band of a line is narrowest, and bent, at the mean.
    inside = means[entries] if curve is None else curve.rows[0]
    inside = inside[(inside > ends[0]) & (inside < ends[1])]
    standard = np.concatenate([ends[:1], inside, ends[1:]])
    contrasts = np.zeros((standard.size, means.size))
    contrasts[:, entries] = -means[entries]
    contrasts[:, entries[0]] += standard
    if curve is not None:
        contrasts[:, entries[1:]] += curve.at(standard).T
    return standard, contrasts


def feature_entries(release: NoisyFrame) -> Iterator[tuple[list[int], Curve | None]]:
    """Yield the entries of each kept feature in a model: its line, then its deviations."""
    lines = np.count_nonzero(release.kept)
    start = lines + 1
    for line, curve in enumerate(release.curves or (None,) * lines, 1):
        size = 0 if curve is None else len(curve.shapes)
        yield [line, *range(start, start + size)], curve
        start += size
