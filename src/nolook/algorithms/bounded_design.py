"""Common parts of AdaSSP and boosted AdaSSP: bounded rows, noisy second moments, their inverse.

Rows are z = (1, x), x standardised, shrunk as a whole to a norm B_x. The smallest eigenvalue v and
the matrix Z'Z are each released with noise of one standard deviation sigma in units of their
sensitivity B_x^2; the ridge follows from v, sigma and d. The proof is ``bounded_design.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from nolook._arrays import Matrix, Vector
from nolook.algorithms.norm_bound import BoundSearch
from nolook.algorithms.scaling import Scaling
from nolook.kernels.bounded_rows import bounded_rows, bounded_targets
from nolook.kernels.moments import UNIT
from nolook.privacy.guarantee import GaussianEvent
from nolook.privacy.mechanisms.gaussian import gaussian_release, symmetric_gaussian_release
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import OnStep
from nolook.statistics.design_moments import (
    eigenvalue_sensitivity,
    gram_sensitivity,
    smallest_eigenvalue,
)
from nolook.tables import Table
from nolook.tables.folding import Foldable, Mapped
from nolook.tables.table import Weights

__all__ = [
    "BoundedDesign",
    "BoundedModel",
    "DesignSearch",
    "NoisyGram",
    "gram_events",
    "release_gram",
]

# Rows at a time: small parts take little memory beside the rows that are kept.
_PART_ROWS = 4096
# The noisy eigenvalue is lowered by this many of its standard deviations: too low 97.5 % of the
# time.
_CAUTION = 1.96
# Z'Z plus noise plus ridge is kept above this many sigma sqrt(d) B_x^2 in every direction.
_FLOOR = 0.5


@frozen
class BoundedDesign:
    """The scaling that gives a table rows of bounded norm; released before, or public."""

    scaling: Scaling  # of all columns, the target last; features not detected are left out
    squared_radius: int  # bound on a row's squared norm, in squares of 1/unit
    unit: int  # grid units in one scale, a power of two

    @property
    def size(self) -> int:
        """Length of a row: the features in use and a constant."""
        return 1 + int(self.scaling.detected[:-1].sum())

    @property
    def norm(self) -> float:
        """B_x, the bound on a row's norm in standardised units."""
        return math.sqrt(self.squared_radius) / self.unit

    def fold(self, table: Table, statistic: Foldable) -> None:
        """Feed a statistic rows, whole numbers of shape (size, rows), their targets, and weights.

        Targets are standardised.
        """
        kept = self.scaling.detected[:-1]
        turn = partial(self._rows, self.scaling.select(kept))
        table.filled(self.scaling.center).select(kept).fold(Mapped(statistic, turn))

    def _rows(
        self, scaling: Scaling, batch: Matrix, weights: Weights
    ) -> Iterator[tuple[Matrix, Vector, Weights]]:
        center, scale, limit = scaling.center, scaling.scale, scaling.limit
        low, high = (end[:-1] for end in scaling.limits)
        for start in range(0, batch.shape[1], _PART_ROWS):
            place = slice(start, start + _PART_ROWS)
            part, own = batch[:, place], None if weights is None else weights[place]
            rows = bounded_rows(
                part[:-1], center[:-1], scale[:-1], low, high, self.squared_radius, self.unit
            )
            targets = bounded_targets(part[-1], float(center[-1]), float(scale[-1]), limit)
            yield rows, targets, own


@frozen
class DesignSearch(BoundSearch):
    """The search for scales of all columns and a bound on the rows' norm.

    Guarantee: ``sqrt(SHARES["scales"] + SHARES["norms"]) mu``-GDP when a row is added or removed.

    Parameters
    ----------
    mu : float
        GDP parameter of the whole, of which this is a part.
    mu_gram : float
        GDP parameter of the matrix: the smaller it is, the smaller the norm.
    unit : int
        Grid of the rows, a power of two up to UNIT.
    """

    mu_gram: float
    unit: int

    def run(self, table: Table, source: ByteSource, progress: OnStep) -> BoundedDesign:
        """Find the design of a table with a target."""
        scaling, squared = self.find(table, self.mu_gram, source, progress)
        unit = self.unit
        return BoundedDesign(scaling, unit**2 + squared // (UNIT // unit) ** 2, unit)


@frozen
class BoundedModel:
    """A released model in standardised units."""

    theta: Vector  # the constant first, then the features in use
    design: BoundedDesign


@frozen
class NoisyGram:
    """The released Z'Z plus ridge as eigenvalues and vectors, in standardised units, d = size."""

    values: Vector  # of Z'Z + noise + ridge I, kept above a floor of the noise's size
    vectors: Matrix
    ridge: float

    def solve(self, right: Vector) -> Vector:
        """Solve for one right-hand side of shape (d,)."""
        return np.asarray(self.vectors @ ((self.vectors.T @ right) / self.values))


def gram_events(mu: float) -> tuple[GaussianEvent, GaussianEvent]:
    """State what :func:`release_gram` releases, at mu each."""
    return (
        GaussianEvent("smallest eigenvalue of the second moments", mu),
        GaussianEvent("second moments of the features", mu),
    )


def release_gram(
    gram: NDArray[np.object_],
    design: BoundedDesign,
    mu: float,
    ridge_factor: float,
    source: ByteSource,
    whole: int = 1,
) -> NoisyGram:
    """Release the smallest eigenvalue v of Z'Z, then Z'Z; add the ridge the noise asks for.

    Guarantee: each of the two is mu-GDP when a row is added or removed.
    The ridge is ``max(0, ridge_factor sigma B_x^2 - v)``, with sigma = 1 / mu and v
    lowered by 1.96 of its noise's deviations. Rows with weights were summed over `whole`.
    """
    squared_radius, size, unit = design.squared_radius, design.size, design.unit
    lowest = np.array([smallest_eigenvalue(gram, squared_radius)], dtype=object)
    largest = eigenvalue_sensitivity(squared_radius, size, whole)
    eigenvalue = float(gaussian_release(lowest, largest, mu, source)[0])
    cautious = max(0.0, eigenvalue - _CAUTION * largest / mu)
    sensitivity = gram_sensitivity(squared_radius, size, whole)
    noisy = symmetric_gaussian_release(gram, sensitivity, mu, source)
    noise = sensitivity / mu
    ridge = max(0.0, ridge_factor * noise - cautious)
    values, vectors = np.linalg.eigh(noisy.astype(np.float64))
    values = np.maximum(values + ridge, _FLOOR * math.sqrt(size) * noise)
    return NoisyGram(values / unit**2, vectors, ridge / unit**2)
