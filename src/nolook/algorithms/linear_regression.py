"""Linear regression from private scales, one small Gram matrix and a few residual gradients."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from nolook.algorithms.scaling import Scaling

__all__ = ["NoisyRegression"]

Vector: TypeAlias = NDArray[np.float64]
Matrix: TypeAlias = NDArray[np.float64]


@frozen(eq=False, kw_only=True)
class NoisyRegression:
    """All that is released of a table, besides its scales in standardised units; d = 1 + kept."""

    scaling: Scaling
    kept: NDArray[np.bool_]  # of the features, those in the design
    norm: float  # rows (1, x) are shrunk to it, their targets with them
    gram: Matrix  # sum of u u' over the shrunk rows, plus noise
    gram_sigma: float  # on the diagonal; / sqrt 2 off it
    thetas: Matrix  # (steps, d), where the gradients were taken
    gradients: Matrix  # (steps, d)
    gradient_sigmas: Vector
    clips: Vector  # of |u_x| |residual|, for each gradient
    clip_edges: Vector  # half octaves of |u_x| |residual|
    clip_counts: Matrix  # (2, edges + 1): between them, before the gradients 1 and 3
    clip_sigma: float
    fit: Vector  # sums of squared errors, cut off at 4 scales, of the mean and of the model
    fit_sigma: float
