"""The clip of a row's part of a gradient, and the clipped gradients.

A row's part is ``(u_0 rho, u_x rho)``, its residual rho clipped such that ``|u_x rho| <= K`` and
``|u_0 rho| <= K / 2``. K follows from a noisy histogram of what leaves rows whole.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from attrs import frozen

from nolook._arrays import Matrix, Vector
from nolook.algorithms.glm.designs import Blocks, release_score_moments
from nolook.algorithms.glm.estimate import Noisy
from nolook.algorithms.norm_bound import likely_counts, smallest_bound
from nolook.algorithms.scaling import release_bins
from nolook.privacy.noise import ByteSource
from nolook.statistics.grid_models import GridModel
from nolook.statistics.weighted_rows import (
    PRODUCT_UNIT,
    SCORE_RADIUS,
    SCORE_UNIT,
    ClippedProducts,
    ProductSizes,
    clipped_products_sensitivity,
    clipped_scores,
)

__all__ = ["CLIPS", "Clip", "release_clip", "release_clipped_scores", "release_products"]

#: Candidates for K, in units of B: half octaves up to 4.
CLIPS = np.array([2.0 ** (half / 2) for half in range(-9, 5)])
# Rows that may be clipped, in deviations of a count's noise: fewer cannot be told from none.
_SPARED = 3.0


@frozen(eq=False)
class Clip:
    """A clip of gradients, and the histogram of sizes that it was chosen by, standardised."""

    most: int  # K, in steps of a gradient's grid
    bound: float  # K
    edges: Vector  # half octaves of max(|u_x|, 2 u_0) |rho|
    counts: Vector  # noisy counts between them, one more than edges
    sigma: float  # of the counts' noise

    def residuals(self, gram: Matrix, gram_sigma: float) -> float:
        """Return the mean of m^2 rho^2 over that of m^2, m = max(|u_x|, 2 u_0), or a little more.

        One standard deviation up, from the bins below the clip: those above hold few rows and much
        noise.
        """
        low = np.append(0.0, self.edges)
        high = np.append(low[1:], 2.0 * low[-1])
        squares = (low**2 + low * high + high**2) / 3.0
        squares[low > 0.99 * self.bound] = 0.0
        total = max(float(squares @ self.counts), 0.0)
        total += self.sigma * float(np.sqrt(squares @ squares))
        moments = max(float(gram.trace() - gram[0, 0]), 4.0 * float(gram[0, 0]))
        return total / max(moments, gram_sigma)


def release_clip(
    blocks: Blocks, model: GridModel, gradients_mu: float, mu: float, source: ByteSource
) -> Clip:
    """Release how many rows have sizes between the candidates, and choose K by it.

    Guarantee: ``mu``-GDP when a row is added or removed. K is an even number of steps
    ``1 / (unit PRODUCT_UNIT)``, beyond which hardly more rows are than cost as much as the noise of
    gradients of `gradients_mu`.
    """
    design, edges = blocks.design, blocks.design.norm * CLIPS
    exact = blocks.fold(ProductSizes(model, edges)).value
    counts = release_bins(exact[np.newaxis], mu, blocks.whole, source)[0]
    few = max(1.5 * math.sqrt(design.size) / gradients_mu, _SPARED / mu)
    rows, usual = design.scaling.rows.value, max(2.0, design.norm)
    likely = likely_counts(counts, edges, 1.0 / mu, rows, usual)
    bound, unit = smallest_bound(likely, edges, min(few, 0.5 * rows)), design.unit * PRODUCT_UNIT
    most = 2 * math.floor(bound * unit / 2)
    return Clip(most, most / unit, edges, counts, 1.0 / mu)


def release_products(
    blocks: Blocks, model: GridModel, most: int, mu: float, source: ByteSource
) -> Noisy:
    """Release the clipped gradient at a model, in standardised units.

    Guarantee: ``mu``-GDP when a row is added or removed.
    """
    sensitivity = clipped_products_sensitivity(most, blocks.design.size, blocks.whole)
    total, unit = ClippedProducts(model, most, blocks.whole), blocks.design.unit * PRODUCT_UNIT
    return blocks.release(total, sensitivity, unit, mu, source)


def release_clipped_scores(
    blocks: Blocks, model: GridModel, clip: float, mu: float, source: ByteSource
) -> Noisy:
    """Release the second moments of the rows' clipped parts of a gradient.

    As :func:`release_score_moments`.
    """
    scored, unit = partial(clipped_scores, model, clip), clip / SCORE_UNIT
    return release_score_moments(blocks, scored, SCORE_RADIUS, unit, mu, source)
