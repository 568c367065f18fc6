"""The clip of a row's part of a gradient, and the clipped gradients.

A row's part is ``(u_0 rho, u_x rho)``, its residual rho clipped such that ``|u_x rho| <= K`` and
``|u_0 rho| <= K / 2``. K follows from a noisy histogram of what leaves rows whole.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from nolook._arrays import Vector
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

__all__ = ["CLIPS", "release_clip", "release_clipped_scores", "release_products"]

#: Candidates for K, in units of B: half octaves up to 4.
CLIPS = np.array([2.0 ** (half / 2) for half in range(-9, 5)])
# Rows that may be clipped, in deviations of a count's noise: fewer cannot be told from none.
_SPARED = 3.0


def release_clip(
    blocks: Blocks, model: GridModel, gradients_mu: float, mu: float, source: ByteSource
) -> tuple[int, Vector]:
    """Release how many rows have sizes between the candidates, and choose K by it.

    Guarantee: ``mu``-GDP when a row is added or removed. Returns K, an even number of steps
    ``1 / (unit PRODUCT_UNIT)`` beyond which hardly more rows are than cost as much as the noise of
    gradients of `gradients_mu`; and the noisy counts.
    """
    design, edges = blocks.design, blocks.design.norm * CLIPS
    exact = blocks.fold(ProductSizes(model, edges)).value
    counts = release_bins(exact[np.newaxis], mu, blocks.whole, source)[0]
    few = max(1.5 * math.sqrt(design.size) / gradients_mu, _SPARED / mu)
    rows, usual = design.scaling.rows.value, max(2.0, design.norm)
    likely = likely_counts(counts, edges, 1.0 / mu, rows, usual)
    bound = smallest_bound(likely, edges, min(few, 0.5 * rows))
    return 2 * math.floor(bound * design.unit * PRODUCT_UNIT / 2), counts


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
