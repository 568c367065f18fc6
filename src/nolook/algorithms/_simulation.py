"""Random numbers for simulations after a release.

These numbers protect nothing: they are drawn from a fixed seed, so that the same release always
leads to the same model and the same intervals. Noise for privacy comes from ``privacy.noise`` only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Generator", "repeats", "sampled_moments", "simulation_generator", "symmetric_noise"]

Generator: TypeAlias = np.random.Generator  # noqa: TID251 -- see above
Matrix = NDArray[np.float64]


def simulation_generator() -> Generator:
    """Return a generator that always starts from the same state."""
    return np.random.Generator(np.random.PCG64(20_240_229))  # noqa: TID251


def repeats(most: int, size: int) -> int:
    """Return how often to simulate: `most`; fewer, but at least 8, beyond a few hundred columns."""
    return max(8, min(most, 2 * 10**9 // size**3))


def symmetric_noise(size: int, sigma: float, generator: Generator) -> Matrix:
    """Draw a moment matrix's noise again: deviation sigma on the diagonal, sigma/sqrt(2) off it."""
    draw = generator.normal(scale=sigma / 2, size=(size, size))
    noise: Matrix = draw + draw.T
    return noise


def sampled_moments(matrix: Matrix, generator: Generator) -> Iterator[Matrix]:
    """Draw moment matrices of further samples of normal rows with the same moments, endlessly.

    `matrix` is the semidefinite sum of ``z z'`` over rows ``z = (1, u)``. The rows' mean is normal
    and their covariance Wishart (by Bartlett's decomposition), so the cost does not grow with the
    number of rows.
    """
    size = len(matrix) - 1
    rows = max(matrix[0, 0], size + 2.0)
    mean = matrix[0, 1:] / rows
    values, vectors = np.linalg.eigh(matrix[1:, 1:] / rows - np.outer(mean, mean))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    freedom = rows - 1 - np.arange(size)
    while True:
        bartlett = np.tril(generator.normal(size=(size, size)), -1)
        np.fill_diagonal(bartlett, np.sqrt(generator.chisquare(freedom)))
        factor = root @ bartlett
        center = mean + root @ generator.normal(size=size) / np.sqrt(rows)
        moments = np.empty_like(matrix)
        moments[0, 0] = rows
        moments[0, 1:] = moments[1:, 0] = rows * center
        moments[1:, 1:] = factor @ factor.T + rows * np.outer(center, center)
        yield moments
