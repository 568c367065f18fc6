"""Intervals of the coefficients of a released regression. All of it is post-processing.

The eigenvectors of the released curvature are directions in which a model is known more or less
well:

* told apart from noise: the variance has three parts. The gradients' noise; the matrix's noise
  times what the hidden directions may hold; and sampling, by the second moments of the rows' parts
  of the gradient, whose noise widens intervals as Student's law does;
* hidden: the eigenvalue is no larger than noise alone would make it. Nothing is known of the model
  there, and the interval allows for effects of a usual size.
"""

from __future__ import annotations

import math

import numpy as np
from attrs import frozen

from nolook._arrays import Flags, Matrix, Vector
from nolook._defaults import QUANTILE
from nolook.algorithms.glm.designs import TARGET_LIMIT
from nolook.algorithms.glm.estimate import CombinedGradients, Noisy
from nolook.algorithms.glm.frame import NoisyFrame
from nolook.algorithms.glm.level_sets import level_sets, turned
from nolook.algorithms.intervals import Measure
from nolook.algorithms.scaling import Scaling, clipped_rest, clipped_share

__all__ = [
    "HIDDEN_EFFECT",
    "MOST_CLIPPED",
    "Coefficients",
    "Knowledge",
    "clipped_shares",
    "coefficients",
    "explained",
    "with_sampling",
]

#: Standard deviation of a linear model along a hidden direction, in scales of the target a scale.
#: Intervals assume it: on six real tables 95 % of such effects were below 1.33.
HIDDEN_EFFECT = 0.7

#: Share of a column's rows, or of the few that differ from its most frequent value, that were
#: clipped beyond which its slope is about another column.
MOST_CLIPPED = 0.1

# How many squares of its relative error a noisy variance is to be larger, where that is small, for
# normal quantiles to hold LEVEL.
_STUDENT = (QUANTILE**2 + 1.0) / 4.0
_TINY = 1e-300
_NOT_SEEN = 3.0  # sigmas below which a column's own sum of squares is not told apart from noise


@frozen(eq=False)
class Coefficients:
    """A released model in the table's units, with intervals at LEVEL; p features.

    NaN stands for what the noise hides.
    """

    coef: Vector  # 0 for columns left out; of level sets the differences from their mean
    intercept: float
    coef_interval: Matrix  # (p, 2)
    intercept_interval: Vector
    clipped_share: Vector  # (p + 1,): at most this share of the rows was clipped, target last
    level_sets: tuple[tuple[str, ...], ...] = ()


@frozen(eq=False)
class Knowledge:
    """The precision of a model along the eigenvectors of its curvature."""

    frame: NoisyFrame
    combined: CombinedGradients
    hidden: Flags
    sigma: float  # deviation of the noise on the curvature's diagonal
    effect: float  # deviation of what a scale may do along hidden directions
    scores: Noisy  # second moments of the rows' parts of a gradient

    @property
    def seen(self) -> Vector:
        """The curvature along each direction, less what noise makes of it."""
        seen = np.where(self.hidden, self.sigma, self.combined.eigenvalues)
        # Noise of hidden directions pushes an eigenvalue up, by about sigma^2 hidden / 2 lambda.
        pushed = 2.0 * self.sigma**2 * np.count_nonzero(self.hidden)
        return 0.5 * (seen + np.sqrt(np.maximum(seen**2 - pushed, 0.0)))

    def variances(self, moved: Matrix, residuals: float = 0.0) -> Vector:
        """Variance of the errors of contrasts, given as their movement along each direction.

        `residuals` is their variance if they vary alike in all rows: sampling's is no less.
        """
        seen, hidden = self.seen, self.hidden
        effects = self.frame.spread.hidden_variances(self.combined.vectors, self.effect)[hidden]
        gradients = self.combined.variance + 0.5 * self.sigma**2 * effects.sum()
        response = np.where(hidden, 0.0, moved / seen)
        # Where residuals are larger in rows that matter more, sampling varies more than usual.
        ways = response @ self.combined.vectors.T
        known = moved[:, hidden] ** 2 @ effects + gradients * (response**2).sum(axis=1)
        alike = response**2 @ (self.frame.squares * residuals * seen)
        return with_sampling(known, self.scores, ways, alike)

    def margins(
        self, most_hidden: float, widest: float, extra: Vector | float = 0.0, residuals: float = 0.0
    ) -> Vector:
        """Half widths of the intervals of (value at the columns' origin, slopes), standardised.

        NaN where more than a share of a contrast's squared loading is on hidden directions, or
        where the interval says nothing. `extra` is a variance along each direction.
        """
        frame, lines = self.frame, 1 + int(self.frame.kept.sum())
        contrasts = np.eye(lines, len(frame.gram))
        center, scale = frame.scaling.center[:-1], frame.scaling.scale[:-1]
        contrasts[0, 1:lines] = -(center / scale)[frame.kept]
        contrasts[:, :lines] = contrasts[:, :lines] @ turned(frame)
        lengths = (contrasts**2).sum(axis=1)
        along = frame.spread.along(self.combined.vectors)
        ways = np.linalg.qr(along[:, self.hidden])[0]
        centred = frame.spread.centred(contrasts)
        moved = centred @ along
        variance = self.variances(moved, residuals) + moved**2 @ np.broadcast_to(extra, len(along))
        margin: Vector = QUANTILE * np.sqrt(variance)
        margin[((centred @ ways) ** 2).sum(axis=1) > most_hidden * lengths] = np.nan
        origin = QUANTILE**2 * self._far_origin(contrasts[0, 1:lines])
        margin[0] = math.sqrt(margin[0] ** 2 + origin)
        most = widest * np.sqrt(lengths)
        most[1:] /= np.minimum(self._deviations(), 1.0)
        margin[margin > most] = np.nan
        return margin

    def _moments(self) -> tuple[Vector, Vector, Vector]:
        """Return the features' sums, sums of squares, and these' noise, in scales."""
        frame, back = self.frame, self.frame.spread.back
        lines = slice(1, np.count_nonzero(frame.kept) + 1)
        moments, noise = back @ frame.gram @ back.T, frame.gram_sigma * (back**2).sum(axis=1)
        return moments[0, lines], moments.diagonal()[lines], noise[lines]

    def _deviations(self) -> Vector:
        """Return the features' deviations, in scales, but no less than noise lets one see.

        For a column that is mostly one value the scale is several of them.
        """
        rows = max(float(self.frame.gram[0, 0]), 1.0)
        sums, squares, noise = (each / rows for each in self._moments())
        return np.asarray(np.sqrt(np.maximum(squares - sums**2, noise)))

    def _far_origin(self, ways: Vector) -> float:
        """Variance of the value at the origin that columns have whose scale is far too large.

        Their slopes are as much larger. The other slopes do not mind, since such a column hardly
        moves, but the origin may lie far from its centre: by `ways`, in scales.
        """
        _, squares, noise = self._moments()
        sizes = self.frame.scaling.rows.value / np.maximum(squares, noise)
        return float(self.effect**2 * (ways**2 * sizes)[squares < _NOT_SEEN * noise].sum())


def with_sampling(known: Vector, scores: Noisy, ways: Matrix, alike: Vector) -> Vector:
    """Add sampling's variance along some ways to other variances: at least `alike`.

    It is larger by its noise: by one deviation, less where that is a small part of them all.
    """
    found = ((ways @ scores.value) * ways).sum(axis=1)
    error = scores.sigma * (ways**2).sum(axis=1)
    whole = known + np.maximum(found, alike)
    more = np.minimum(_STUDENT * error**2 / np.maximum(whole, _TINY), error)
    return np.asarray(np.maximum(whole, known + found + more))


def coefficients(frame: NoisyFrame, theta: Vector, margin: Vector) -> Coefficients:
    """Return a model of rows in the columns' units.

    `margin` holds half widths of (value at the columns' origin, slopes) in scales, NaN where
    nothing is known; nor is anything of the slope of a column whose rows were clipped too often.
    """
    scaling, columns = frame.scaling.with_target(*frame.units), np.append(True, frame.kept)
    model, half = np.zeros(columns.size), np.full(columns.size, np.nan)
    sets = level_sets(frame) if np.isfinite(margin).any() else []
    theta = turned(frame) @ theta[: margin.size] if sets else theta[: margin.size]
    model[columns], half[columns] = theta, margin
    clipped, errors, rest = clipped_shares(frame.scaling)  # a model may be of a logarithm
    # The slope of a column that was clipped so far is about another column.
    half[1:][np.maximum(clipped - errors, rest)[:-1] > MOST_CLIPPED] = np.nan
    coef, intercept = scaling.original_units(model)
    sides, largest = np.array([-1.0, 1.0]), np.finfo(np.float64).max
    with np.errstate(over="ignore"):
        widths = half[1:] * (scaling.scale[-1] / scaling.scale[:-1])
        slopes = (coef[:, None] + widths[:, None] * sides).clip(-largest, largest)
        constant = (intercept + half[0] * scaling.scale[-1] * sides).clip(-largest, largest)
    names = [scaling.names[place] for place in np.flatnonzero(frame.kept)]
    named = tuple(tuple(names[place] for place in each) for each in sets)
    return Coefficients(coef, intercept, slopes, constant, clipped, named)


def explained(sums: Noisy, widest: float) -> Measure | None:
    """Return 1 less the second of two noisy sums over the first, and its interval.

    None if that is wider than `widest`. The rows are those of the fit: only noise is between the
    release and the truth. The interval is Fieller's, exact for two sums with normal noise.
    """
    (total, rest), noise = sums.value, QUANTILE * sums.sigma
    certain = total**2 - noise**2
    if total <= 0.0 or certain <= 0.0:
        return None
    root = noise * np.sqrt(max(certain + rest**2, 0.0))
    low, high = (1.0 - (total * rest + sign * root) / certain for sign in (1.0, -1.0))
    if high - low > widest:
        return None
    return Measure(*np.minimum([1.0 - rest / total, low, high], 1.0).tolist())


def clipped_shares(scaling: Scaling) -> tuple[Vector, Vector, Vector]:
    """At most which share of each column's rows was clipped, one standard error up; and the error.

    And the share of the few rows that differ from a column's most frequent value. The target is the
    last; all are 0 for columns that were not searched.
    """
    limits = np.full(len(scaling.names), scaling.limit)
    limits[-1] = TARGET_LIMIT
    low, high = scaling.center - limits * scaling.scale, scaling.center + limits * scaling.scale
    shares, errors, rest = np.zeros((3, len(limits)))
    for column, histogram in enumerate(scaling.histograms):
        if histogram is not None:
            within = float(low[column]), float(high[column]), scaling.rows.value
            shares[column], errors[column] = clipped_share(histogram, *within)
            rest[column] = clipped_rest(histogram, *within)
    return shares, errors, rest
