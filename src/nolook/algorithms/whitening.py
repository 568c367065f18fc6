"""Rows in units of their own spread: private moments turned into a map that evens them out.

Noise is as large in every direction. Where columns go together some directions hardly vary, so that
one person's row can say as much there as all the others; and noise that hides that person hides
them all. Rows are therefore stretched until they vary alike in all directions that stand out from
the moments' noise (:class:`nolook.kernels.weighted_rows.Whitening`). All of it is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from attrs import frozen

from nolook._arrays import Flags, Matrix, Vector
from nolook.kernels.moments import UNIT
from nolook.kernels.weighted_rows import LARGEST_ROW, Whitening

__all__ = ["Spread", "spread_of"]

# Variances below this, in squared scales, are not told from 0: hardly more than rounding.
_LEAST_VARIANCE = 1e-6
# Squared norms stay below 2^52, in squares of 1/UNIT.
_LARGEST_NORM = 2.0**26
# Largest share of a column's variance that others leave if it follows from them. Noise may hide 1.5
# times the variance that a hidden direction is given: its norm stays below half of `hidden`.
_FOLLOWS, _HIDES = 0.05, 1.5
# By so little does the model in scales move at least along a direction.
_LEAST_WAY = 1e-6


@frozen(eq=False)
class Spread:
    """Where rows lie and how they vary, in scales: x becomes ``map (x - center)``."""

    center: Vector  # (p,)
    map: Matrix  # (p, p), symmetric

    @classmethod
    def standard(cls, size: int) -> Spread:
        """Leave rows of this size as they are."""
        return cls(np.zeros(size), np.eye(size))

    def widened(self, size: int) -> Spread:
        """Return the same for rows with further entries, which stay as they are."""
        old = len(self.center)
        center, whole = np.zeros(size), np.eye(size)
        center[:old], whole[:old, :old] = self.center, self.map
        return Spread(center, whole)

    def among(self, kept: Flags) -> Spread:
        """Return the same for rows of more columns, of which those not kept count for nothing."""
        center, whole = np.zeros(kept.size), np.zeros((kept.size, kept.size))
        center[kept], whole[np.ix_(kept, kept)] = self.center, self.map
        return Spread(center, whole)

    def model(self, theta: Vector) -> Vector:
        """Return the model of (1, x) that is `theta` of whitened rows, the constant first."""
        slopes = self.map @ theta[1:]
        return np.append(theta[0] - self.center @ slopes, slopes)

    def along(self, vectors: Matrix) -> Matrix:
        """Return the movement of a model of (1, x - center) for each column's move of `theta`."""
        return np.vstack([vectors[:1], self.map @ vectors[1:]])

    def hidden_variances(self, vectors: Matrix, effect: float) -> Vector:
        """Return the variance that theta is allowed along directions, were noise to hide them.

        `effect` is the deviation of what a scale does, or of what a whitened unit does: between the
        two, since a direction in which rows hardly vary may be long in scales.
        """
        lengths = np.linalg.norm(self.along(vectors), axis=0)
        return np.asarray(effect**2 / np.maximum(lengths, _LEAST_WAY))

    @property
    def back(self) -> Matrix:
        """The matrix that turns a whitened row (1, x) back into (1, x), shape (p + 1, p + 1)."""
        back = np.eye(len(self.center) + 1)
        back[1:, 0], back[1:, 1:] = self.center, np.linalg.inv(self.map)
        return back

    def centred(self, contrasts: Matrix) -> Matrix:
        """Return contrasts of a model of (1, x - center) that are these of one of (1, x)."""
        return np.hstack([contrasts[:, :1], contrasts[:, 1:] - contrasts[:, :1] * self.center])

    def followers(self) -> Iterator[tuple[int, int | None, float, float]]:
        """Yield columns that earlier ones explain: place, other, slope in scales, share.

        At least `share` of the column's variance is explained: directions that noise hides count as
        if they had as much as it could hide (:func:`spread_of`). If one earlier column suffices,
        `other` is its place and `slope` its coefficient; otherwise `other` is None.
        """
        used = np.flatnonzero(np.diag(self.map))
        back = np.linalg.pinv(self.map[np.ix_(used, used)])
        covariance, root = back @ back, np.linalg.qr(back, mode="r")
        variances = np.diag(covariance)
        left = np.diag(root) ** 2 / variances
        for place in np.flatnonzero(_HIDES * left <= _FOLLOWS):
            shared = covariance[place, :place]
            best = int(np.argmax(shared**2 / variances[:place]))
            alone = 1.0 - shared[best] ** 2 / (variances[best] * variances[place])
            if _HIDES * alone <= _FOLLOWS:
                slope = float(shared[best] / variances[best])
                yield int(used[place]), int(used[best]), slope, float(1.0 - _HIDES * alone)
            else:
                yield int(used[place]), None, 0.0, float(1.0 - _HIDES * left[place])

    @property
    def whitening(self) -> Whitening:
        """The same map in whole numbers."""
        size = len(self.center)
        largest = max(float(np.abs(self.map).sum(axis=1).max(initial=0.0)), 1e-300)
        spacing = 2.0 ** math.ceil(math.log2((largest + 1e-9) / (LARGEST_ROW - size)))
        most = math.floor(_LARGEST_NORM / math.sqrt(max(size, 1)))
        return Whitening(np.rint(self.center * UNIT), np.rint(self.map / spacing), spacing, most)


def spread_of(gram: Matrix, sigma: float, rows: float, limits: tuple[Vector, Vector]) -> Spread:
    """Return the matrix that whitens rows (1, x) of these noisy moments, of `rows` rows.

    Directions whose variance noise hides are stretched as if they had as much as noise could hide.
    The less noise hides, the nearer to their mean is the centre: that of a column whose scale is
    wrong may be far away, and its noise moves every row.

    Parameters
    ----------
    gram, sigma : ndarray of shape (p + 1, p + 1), and float
        Sum of (1, x)(1, x)', and the deviation of the noise on its diagonal.
    rows : float
        At least 1.
    limits : pair of ndarray of shape (p,)
        Between which x lies.
    """
    mean, noise = (gram[0, 1:] / rows).clip(*limits), sigma / rows
    hidden = min(3.0 * noise * math.sqrt(len(gram)), 1.0)
    # The moments about the centre, (1 - hidden) mean; those of the rows are about 0.
    covariance = gram[1:, 1:] / rows - (1.0 - hidden**2) * np.outer(mean, mean)
    # Columns are in scales: where noise is all that is seen they stay as they are.
    size, same = len(mean), np.eye(len(mean))
    far = float(((covariance - same) ** 2).sum())
    share = max(0.0, 1.0 - 0.5 * size * (size + 1) * noise**2 / max(far, noise**2))
    values, vectors = np.linalg.eigh(share * covariance + (1.0 - share) * same)
    evened = (vectors / np.sqrt(np.maximum(values, max(hidden, _LEAST_VARIANCE)))) @ vectors.T
    return Spread((1.0 - hidden) * mean, 0.5 * (evened + evened.T))
