"""Fit of a linear model to the rows whose noisy moments were released.

All of it is post-processing: it sees the released matrix and its known noise only.
"""

from __future__ import annotations

import numpy as np

from nolook._arrays import Vector
from nolook._defaults import QUANTILE
from nolook.algorithms.moment_regression import NoisyMoments
from nolook.algorithms.moment_selection import nearest_moments

__all__ = ["r2_estimate"]


def r2_estimate(moments: NoisyMoments, theta: Vector) -> tuple[float, Vector] | None:
    """Return R2 of a standardised model found elsewhere, of the rows as clipped, and an interval.

    The interval covers the noise alone: the sum of squared residuals is the quadratic form of
    (theta, -1) in the moments, on which the noise has the standard deviation sigma times that
    vector's squared length. None where noise could make up most of the target's variation.
    """
    matrix = nearest_moments(moments.matrix)
    design, target = matrix[:-1, :-1], matrix[:-1, -1]
    residual = max(0.0, float(matrix[-1, -1] + theta @ (design @ theta - 2 * target)))
    rows = max(float(matrix[0, 0]), 1.0)
    total = max(float(matrix[-1, -1] - matrix[0, -1] ** 2 / rows), 1e-6 * rows)
    length = float(theta @ theta + 1.0)
    r2, margin = 1.0 - residual / total, QUANTILE * moments.sigma * length / total
    # Noise is at most its largest eigenvalue, about sigma sqrt(2 p), times that length. Beyond two
    # thirds of the target's sum of squares intervals of R2 were seen to fail.
    largest = moments.sigma * np.sqrt(2 * len(matrix)) * length
    if not moments.scaling.detected[-1] or largest >= 2 / 3 * total:
        return None
    ends = np.array([r2 - margin, r2 + margin]).clip(-1.0, 1.0)
    return max(-1.0, min(r2, 1.0)), ends
