"""AdaSSP: ridge regression from noisy sufficient statistics (Wang, UAI 2018), boosted or not.

Boosted AdaSSP (Tang et al. 2023) takes gradient steps preconditioned by one noisy matrix. All
``rounds + 2`` Gaussian releases share one sigma: the second moments of the rows, their smallest
eigenvalue, and one gradient of clipped residuals a round, which is one pass over a compact copy of
the rows in memory. The ridge grows with the noise and shrinks with the eigenvalue. AdaSSP is the
first round: the gradient at 0 is the products with the target. Rows are those of
:mod:`nolook.algorithms.glm.frame`, standardised but not whitened. The proofs are ``adassp.md`` and
``boosted_adassp.md``.

==============  =========================================================================
name here       meaning
==============  =========================================================================
``mu``          mu-GDP parameter of the whole
``sigma``       noise of each release in units of its sensitivity
``rounds``      T
``norm``        B, bound on the norm of a row u = f (1, x)
``LARGEST``     bound on a residual in scales of the target
``size``        d, the number of features plus one
==============  =========================================================================
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from attrs import field, frozen

from nolook._arrays import Matrix, Vector
from nolook.algorithms.glm.designs import Blocks, exact_gram
from nolook.algorithms.glm.frame import Frame
from nolook.algorithms.scaling import Scaling
from nolook.privacy.mechanisms.gaussian import gaussian_release, symmetric_gaussian_release
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import OnStep
from nolook.statistics.design_moments import (
    eigenvalue_sensitivity,
    gram_sensitivity,
    product_sensitivity,
    smallest_eigenvalue,
)
from nolook.statistics.grid_models import ShortenedModel
from nolook.statistics.weighted_rows import RESIDUAL_UNIT, UnitProducts
from nolook.tables import Table

__all__ = ["AdaSSP", "BoostedAdaSSP", "BoundedModel", "release_ridge"]

# Allowed probability that AdaSSP's bound on the noise fails.
_FAILURE = 0.05
# The noisy eigenvalue is lowered by this many of its standard deviations: too low 97.5 % of the
# time. So many times sqrt(d) is the ridge of boosting, before what the eigenvalue takes off.
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
class BoostedAdaSSP(Frame):
    """Rounds of noisy, preconditioned gradients of clipped residuals, on rows of bounded norm.

    Guarantee: ``mu``-GDP when a row is added or removed, for up to 2^34 rows. No table raises.
    Keeps the rows in memory, two bytes a feature and 28 more a row.

    Parameters
    ----------
    mu : float
    rounds : int
    """

    rounds: int

    COMMON: ClassVar = {"scales": 0.35}
    #: The last three share what is stated of the last: each draw of theirs alike.
    OWN: ClassVar = {
        "norms": (0.04, "histogram of the rows' norms"),
        "gram": (0.0, "second moments of the features"),
        "eigenvalue": (0.0, "smallest eigenvalue of the second moments"),
        "products": (0.61, "gradients of all rounds"),
    }
    # Shortened rows bias the model.
    MOST_BEYOND: ClassVar = 0.25
    OWN_STEPS: ClassVar = 2

    LARGEST: ClassVar[int] = 2
    #: The model is the mean over the last rounds, this share of them.
    AVERAGED: ClassVar[float] = 0.25

    for_weights = None  # type: ignore[assignment]  # survey weights have better methods

    @property
    def progress_steps(self) -> int:
        """Number of progress steps of `run`."""
        return super().progress_steps + self.rounds

    def shares(self) -> dict[str, float]:
        """Return the shares of mu^2: the T + 2 draws share alike."""
        each = self.OWN["products"][0] / (self.rounds + 2)
        return super().shares() | {"gram": each, "eigenvalue": each, "products": self.rounds * each}

    def ridge_factor(self, size: int) -> float:
        """Return the ridge in deviations of the noise, before what the eigenvalue takes off."""
        return _CAUTION * math.sqrt(size)

    def run(self, table: Table, source: ByteSource, progress: OnStep) -> BoundedModel:
        """Fit a table with a target."""
        scaling, kept, blocks = self._designed(table, source, progress)
        progress("moments")
        design, whole, largest = blocks.design, blocks.whole, self.LARGEST * RESIDUAL_UNIT
        if self.rounds > 1:
            blocks.room = math.inf  # for any number of rounds
        factor = self.ridge_factor(design.size)
        inverse = release_ridge(blocks, self._mu("gram"), factor, source)
        sensitivity = product_sensitivity(design.squared_radius, largest, design.size, whole)
        mu, unit = self._mu("products", self.rounds), design.unit * RESIDUAL_UNIT
        theta, thetas = np.zeros(design.size), []
        for number in range(1, self.rounds + 1):
            progress(f"round {number}")
            # The residuals are those of the model on the grid, so the next step starts from it.
            model = ShortenedModel(*design.on_grid(theta))
            products = UnitProducts(model, whole, largest)
            gradient = blocks.release(products, sensitivity, unit, mu, source)
            theta = model.spacing * model.whole + inverse @ gradient.value
            thetas.append(theta)
        last = max(1, round(self.AVERAGED * self.rounds))
        theta = scaling.all_features(np.mean(thetas[-last:], axis=0), kept)
        return BoundedModel(scaling, theta, design.norm)


@frozen
class AdaSSP(BoostedAdaSSP):
    """AdaSSP: a single round, and Wang's ridge.

    Guarantee: that of :class:`BoostedAdaSSP`. Keeps the rows in memory if they surely take no more
    than :data:`nolook.algorithms.glm.designs.COPY_BYTES`; else it reads them twice.

    Parameters
    ----------
    mu : float
    """

    rounds: int = field(default=1, init=False)

    OWN: ClassVar = {**BoostedAdaSSP.OWN, "products": (0.61, "products of features and target")}
    # The ridge costs more than the noise alone, so a smaller norm is worth more rows beyond it.
    BEYOND: ClassVar = 3.0
    LARGEST: ClassVar = 3

    def ridge_factor(self, size: int) -> float:
        """Return the ridge that exceeds the noise's operator norm with probability 0.95."""
        return math.sqrt(size * math.log(2 * size**2 / _FAILURE))


def release_ridge(blocks: Blocks, mu: float, factor: float, source: ByteSource) -> Matrix:
    """Release the smallest eigenvalue v of rows' second moments, then these; invert with a ridge.

    Guarantee: each of the two is mu-GDP when a row is added or removed.
    The ridge is ``max(0, factor sigma B^2 - v)``, with sigma = 1 / mu and v lowered by 1.96 of its
    noise's deviations. Returns the inverse of the matrix plus ridge in standardised units.
    """
    design, whole, gram = blocks.design, blocks.whole, exact_gram(blocks)
    squared_radius, size = design.squared_radius, design.size
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
    return np.asarray((vectors * (design.unit**2 / values)) @ vectors.T)
