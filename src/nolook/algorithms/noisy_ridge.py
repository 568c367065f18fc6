"""Ridge regression from a moment matrix that carries known noise.

All of it is post-processing: it sees the released matrix and the noise's standard deviation only.
Least squares on a noisy matrix is unstable where the noise exceeds an eigenvalue; a ridge of the
noise's size is the remedy (AdaSSP, Wang 2018, uses its largest plausible eigenvalue). Here the
ridge is the one that does best when the known noise is drawn again on top of the released matrix.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nolook.algorithms._simulation import repeats, simulation_generator, symmetric_noise

__all__ = ["choose_ridge", "nearest_moments", "ridge_path"]

Matrix = NDArray[np.float64]

_MOST_REPEATS = 30
# In units of the noise's standard deviation. Below 1.5, one run in some hundreds goes astray
# on small tables; large ones, where the noise is small beside the eigenvalues, lose nothing.
_RIDGES = np.geomspace(1.5, 30.0, 12)


def nearest_moments(matrix: Matrix) -> Matrix:
    """Nearest positive semidefinite matrix in the Frobenius norm (negative eigenvalues dropped)."""
    values, vectors = np.linalg.eigh(matrix)
    roots = vectors * np.sqrt(np.maximum(values, 0.0))
    nearest: Matrix = roots @ roots.T
    return nearest


def ridge_path(matrix: Matrix, ridges: NDArray[np.float64]) -> Matrix:
    """Solve ``(A + ridge I) theta = b`` for each of k ridges; `matrix` is ``[[A, b], [b', c]]``."""
    values, vectors = np.linalg.eigh(matrix[:-1, :-1])
    rotated = vectors.T @ matrix[:-1, -1]
    path: Matrix = (rotated / (np.maximum(values, 0.0) + ridges[:, None])) @ vectors.T
    return path


def choose_ridge(matrix: Matrix, sigma: float) -> float:
    """Choose the ridge with the least mean squared error of prediction in a parametric bootstrap.

    `matrix`, its truth, is that of :func:`nearest_moments`; the noise drawn again has the standard
    deviation `sigma` on the diagonal.
    """
    ridges = _RIDGES * sigma
    design, target = matrix[:-1, :-1], matrix[:-1, -1]
    generator = simulation_generator()
    risks = np.zeros_like(ridges)
    for _ in range(repeats(_MOST_REPEATS, len(matrix))):
        noisy = matrix + symmetric_noise(len(matrix), sigma, generator)
        thetas = ridge_path(nearest_moments(noisy), ridges)
        risks += ((thetas @ design - 2 * target) * thetas).sum(axis=1)
    return float(ridges[risks.argmin()])
