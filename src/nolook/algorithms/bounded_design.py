"""What AdaSSP and boosted AdaSSP share: bounded rows, a noisy second-moment matrix, its inverse.

Rows are z = (1, x), x standardised, shrunk as a whole to a norm B_x. From them come the smallest
eigenvalue v and the matrix Z'Z, each released with noise of one standard deviation sigma in
units of its sensitivity B_x^2; the ridge follows from v, sigma and d. The proof is
``bounded_design.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nolook.algorithms.norm_bound import choose_squared_radius, norm_counts
from nolook.algorithms.scaling import ScaleSearch, Scaling
from nolook.kernels.bounded_rows import bounded_rows, bounded_targets
from nolook.kernels.moments import UNIT
from nolook.privacy.guarantee import GaussianEvent
from nolook.privacy.mechanisms.gaussian import gaussian_release, symmetric_gaussian_release
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import Step
from nolook.statistics.design_moments import (
    eigenvalue_sensitivity,
    gram_sensitivity,
    smallest_eigenvalue,
)
from nolook.tables import Table

__all__ = [
    "BoundedDesign",
    "BoundedModel",
    "DesignSearch",
    "NoisyGram",
    "PublicDesign",
    "release_gram",
]

#: Shares of mu^2 where the scaling is private; the mechanism itself has the rest.
SHARES = {"scales": 0.35, "norms": 0.04, "mechanism": 0.61}

# Rows at a time: smaller parts need less memory beside the rows that are kept.
_PART_ROWS = 4096
# The noisy eigenvalue is lowered by so many of its standard deviations: too low in 97.5 of 100.
_CAUTION = 1.96
# Z'Z plus noise plus ridge is kept above so many sigma sqrt(d) B_x^2 in every direction.
_FLOOR = 0.5

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BoundedDesign:
    """How a table becomes rows of bounded norm; public, or released before.

    Parameters
    ----------
    scaling : Scaling
        Of all columns, the label last.
    squared_radius : int
        Bound on a row's squared norm, in squared steps of 1/unit.
    unit : int
        Steps of the grid in one scale, a power of two.
    """

    scaling: Scaling
    squared_radius: int
    unit: int

    @property
    def size(self) -> int:
        """Length of a row: the features and a constant."""
        return len(self.scaling.names)

    @property
    def norm(self) -> float:
        """B_x, the bound on a row's norm in standardised units."""
        return math.sqrt(self.squared_radius) / self.unit

    def batches(self, table: Table) -> Iterator[tuple[Matrix, Vector]]:
        """Yield a table's rows, whole numbers of shape (size, rows), and standardised labels."""
        center, scale, limit = self.scaling.center, self.scaling.scale, self.scaling.limit
        for batch in table.batches():
            for start in range(0, batch.shape[1], _PART_ROWS):
                part = batch[:, start : start + _PART_ROWS]
                rows = bounded_rows(
                    part[:-1], center[:-1], scale[:-1], limit, self.squared_radius, self.unit
                )
                yield rows, bounded_targets(part[-1], float(center[-1]), float(scale[-1]), limit)


@dataclass(frozen=True, slots=True)
class PublicDesign:
    """A design of public scales and a public norm: nothing is released.

    Parameters
    ----------
    scale_x, scale_y : float
        Of every feature, and of the label.
    norm : float
        B_x, at least 1.
    unit : int
        Grid of the rows, a power of two up to UNIT.
    """

    scale_x: float
    scale_y: float
    norm: float
    unit: int

    @property
    def steps(self) -> int:
        """None: the table is not read."""
        return 0

    def events(self) -> tuple[GaussianEvent, ...]:
        """Nothing is released."""
        return ()

    def run(self, table: Table, source: ByteSource, step: Step) -> BoundedDesign:  # noqa: ARG002
        """Return the design for the columns of a table."""
        scale = np.full(table.n_columns, self.scale_x)
        scale[-1] = self.scale_y
        scaling = Scaling.public(table.column_names, scale, math.inf)
        return BoundedDesign(scaling, math.floor((self.norm * self.unit) ** 2), self.unit)


@dataclass(frozen=True, slots=True)
class DesignSearch:
    """The search for scales of all columns and a bound on the rows' norm.

    Guarantee: ``sqrt(SHARES["scales"] + SHARES["norms"]) mu``-GDP under add-remove.

    Parameters
    ----------
    mu : float
        GDP parameter of the whole, of which this is a part.
    mu_gram : float
        What the norm is weighed against: the less is left for the matrix, the smaller the norm.
    unit : int
        Grid of the rows, a power of two up to UNIT.
    """

    mu: float
    mu_gram: float
    unit: int

    @property
    def steps(self) -> int:
        """How often the table is read."""
        return self._scales().steps + 1

    def events(self) -> tuple[GaussianEvent, ...]:
        """State everything that will be released."""
        return (*self._scales().events(), self._norms())

    def _scales(self) -> ScaleSearch:
        return ScaleSearch(self.mu * math.sqrt(SHARES["scales"]))

    def _norms(self) -> GaussianEvent:
        return GaussianEvent("histogram of the rows' norms", self.mu * math.sqrt(SHARES["norms"]))

    def run(self, table: Table, source: ByteSource, step: Step) -> BoundedDesign:
        """Find the design of a table with a target."""
        scaling, rows = self._scales().run(table, source, step)
        step("norms")
        features = table.n_columns - 1
        counts, squares = norm_counts(table, scaling, features, self._norms().mu, source)
        squared = choose_squared_radius(counts, squares, rows, features + 1, self.mu_gram)
        unit = self.unit
        return BoundedDesign(scaling, unit**2 + squared // (UNIT // unit) ** 2, unit)


@dataclass(frozen=True, slots=True)
class BoundedModel:
    """A released model in standardised units.

    Parameters
    ----------
    theta : ndarray of shape (features + 1,)
        The constant first.
    design : BoundedDesign
        How rows are scaled and shrunk.
    """

    theta: Vector
    design: BoundedDesign


@dataclass(frozen=True, slots=True)
class NoisyGram:
    """The released Z'Z with its ridge, ready to be solved; in standardised units, d = size.

    Parameters
    ----------
    values : ndarray of shape (d,)
        Eigenvalues of Z'Z + noise + ridge I, kept above a floor of the noise's size.
    vectors : ndarray of shape (d, d)
    ridge : float
    """

    values: Vector
    vectors: Matrix
    ridge: float

    def solve(self, right: Vector) -> Vector:
        """Solve for one right-hand side of shape (d,)."""
        solution: Vector = self.vectors @ ((self.vectors.T @ right) / self.values)
        return solution


def release_gram(
    gram: NDArray[np.object_],
    design: BoundedDesign,
    events: tuple[GaussianEvent, GaussianEvent],
    ridge_factor: float,
    source: ByteSource,
) -> NoisyGram:
    """Release the smallest eigenvalue of Z'Z and Z'Z itself; add the ridge the noise asks for.

    Guarantee: each of the two costs its event under add-remove, for up to 2^34 rows.

    Parameters
    ----------
    gram : ndarray of Python ints, shape (d, d)
    design : BoundedDesign
    events : pair of GaussianEvent
        The eigenvalue and the matrix; sigma is 1 / mu of the latter.
    ridge_factor : float
        The ridge is ``max(0, ridge_factor sigma B_x^2 - v)`` for the noisy eigenvalue v.
    source : ByteSource

    Returns
    -------
    NoisyGram
    """
    squared_radius, size, unit = design.squared_radius, design.size, design.unit
    lowest = np.array([smallest_eigenvalue(gram)], dtype=object)
    largest = eigenvalue_sensitivity(squared_radius, size)
    first, second = (event.mu for event in events)
    eigenvalue = float(gaussian_release(lowest, largest, first, source)[0])
    cautious = max(0.0, eigenvalue - _CAUTION * largest / first)
    noisy = symmetric_gaussian_release(gram, gram_sensitivity(squared_radius), second, source)
    noise = squared_radius / second
    ridge = max(0.0, ridge_factor * noise - cautious)
    values, vectors = np.linalg.eigh(noisy.astype(np.float64))
    values = np.maximum(values + ridge, _FLOOR * math.sqrt(size) * noise)
    return NoisyGram(values / unit**2, vectors, ridge / unit**2)
