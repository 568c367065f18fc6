"""AdaSSP: ridge regression from noisy sufficient statistics (Wang, UAI 2018).

Three Gaussian releases share one sigma: the second moments of the rows, their smallest eigenvalue,
and the products with the target. The ridge grows with the noise and shrinks with the eigenvalue.
Rows are those of :mod:`nolook.algorithms.glm.frame`, standardised but not whitened. The proof is
``adassp.md``.

==============  =========================================================================
name here       meaning
==============  =========================================================================
``mu``          mu-GDP parameter of the whole
``sigma``       noise of each release in units of its sensitivity
``norm``        B, bound on the norm of a row u = f (1, x)
``LARGEST``     bound on a target in scales
``size``        d, the number of features plus one
==============  =========================================================================
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from nolook._arrays import Matrix, Vector
from nolook.algorithms.glm.designs import WeightedDesign
from nolook.algorithms.glm.frame import Frame
from nolook.algorithms.scaling import Scaling
from nolook.kernels.moments import UNIT
from nolook.privacy.mechanisms.gaussian import gaussian_release, symmetric_gaussian_release
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import OnStep
from nolook.statistics.design_moments import (
    DesignMoments,
    eigenvalue_sensitivity,
    gram_sensitivity,
    product_sensitivity,
    smallest_eigenvalue,
)
from nolook.statistics.grid_models import RowBlock
from nolook.tables import Table
from nolook.tables.folding import Mapped
from nolook.tables.table import Weights

__all__ = ["AdaSSP", "BoundedModel", "NoisyGram", "release_ridge", "whole_targets"]

# Allowed probability that the ridge's bound on the noise fails.
_FAILURE = 0.05
# The noisy eigenvalue is lowered by this many of its standard deviations: too low 97.5 % of the
# time.
_CAUTION = 1.96
# The matrix plus noise plus ridge is kept above this many sigma sqrt(d) B^2 in every direction.
_FLOOR = 0.5


@frozen
class BoundedModel:
    """A released model in standardised units."""

    scaling: Scaling  # of all columns, the target last
    theta: Vector  # the constant first, then all features
    norm: float  # B; longer rows (1, x) are shortened to it, in predictions, too


@frozen
class NoisyGram:
    """The released second moments plus ridge as eigenvalues and vectors, in standardised units."""

    values: Vector  # of the matrix + noise + ridge I, kept above a floor of the noise's size
    vectors: Matrix
    ridge: float

    def solve(self, right: Vector) -> Vector:
        """Solve for one right-hand side of shape (d,)."""
        return np.asarray(self.vectors @ ((self.vectors.T @ right) / self.values))


@frozen
class AdaSSP(Frame):
    """AdaSSP on rows of bounded norm.

    Guarantee: ``mu``-GDP when a row is added or removed, for up to 2^34 rows. No table raises.

    Parameters
    ----------
    mu : float
    """

    COMMON: ClassVar = {"scales": 0.35}
    OWN: ClassVar = {
        "norms": (0.04, "histogram of the rows' norms"),
        "gram": (0.61 / 3, "second moments of the features"),
        "eigenvalue": (0.61 / 3, "smallest eigenvalue of the second moments"),
        "products": (0.61 / 3, "products of features and target"),
    }
    # The ridge costs more than the noise alone, so a smaller norm is worth more rows beyond it.
    BEYOND: ClassVar = 3.0
    # Shortened rows bias the model.
    MOST_BEYOND: ClassVar = 0.25
    OWN_STEPS: ClassVar = 2

    #: Targets are clipped to this many scales.
    LARGEST: ClassVar[int] = 3

    for_weights = None  # type: ignore[assignment]  # survey weights have better methods

    def run(self, table: Table, source: ByteSource, progress: OnStep) -> BoundedModel:
        """Fit a table with a target."""
        scaling, kept, blocks = self._designed(table, source, progress)
        progress("moments")
        design, whole, largest = blocks.design, blocks.whole, self.LARGEST * UNIT
        moments = DesignMoments(design.size, design.squared_radius, largest, whole)
        blocks.fold(Mapped(moments, partial(whole_targets, self.LARGEST)))
        factor = math.sqrt(design.size * math.log(2 * design.size**2 / _FAILURE))
        gram = release_ridge(moments.gram, design, self._mu("gram"), factor, source, whole)
        sensitivity = product_sensitivity(design.squared_radius, largest, design.size, whole)
        right = gaussian_release(moments.products, sensitivity, self._mu("products"), source)
        theta = gram.solve(right.astype(np.float64) / (design.unit * UNIT))
        return BoundedModel(scaling, scaling.all_features(theta, kept), design.norm)


def release_ridge(
    gram: NDArray[np.object_],
    design: WeightedDesign,
    mu: float,
    factor: float,
    source: ByteSource,
    whole: int = 1,
) -> NoisyGram:
    """Release the smallest eigenvalue v of rows' second moments, then these; add a ridge.

    Guarantee: each of the two is mu-GDP when a row is added or removed.
    The ridge is ``max(0, factor sigma B^2 - v)``, with sigma = 1 / mu and v lowered by 1.96 of its
    noise's deviations. Rows with weights were summed over `whole`.
    """
    squared_radius, size, unit = design.squared_radius, design.size, design.unit
    lowest = np.array([smallest_eigenvalue(gram, squared_radius)], dtype=object)
    largest = eigenvalue_sensitivity(squared_radius, size, whole)
    eigenvalue = float(gaussian_release(lowest, largest, mu, source)[0])
    cautious = max(0.0, eigenvalue - _CAUTION * largest / mu)
    sensitivity = gram_sensitivity(squared_radius, size, whole)
    noisy = symmetric_gaussian_release(gram, sensitivity, mu, source)
    noise = sensitivity / mu
    ridge = max(0.0, factor * noise - cautious)
    values, vectors = np.linalg.eigh(noisy.astype(np.float64))
    values = np.maximum(values + ridge, _FLOOR * math.sqrt(size) * noise)
    return NoisyGram(values / unit**2, vectors, ridge / unit**2)


def whole_targets(
    largest: int,
    *block: Any,  # noqa: ANN401
) -> Iterator[tuple[NDArray[np.int16], Vector, Weights]]:
    """Yield rows u and their targets, clipped to `largest` scales, in whole units of 1/UNIT."""
    own = RowBlock(*block)
    yield own.rows, np.trunc(own.targets.clip(-largest, largest) * UNIT), own.weights
