"""Counts of a model's errors by size and by side: nothing is cut before rows are counted.

Sizes are counted in nested blocks of cells, as for distributions
(:mod:`nolook.algorithms.node_counts`). What they tell is in
:mod:`nolook.algorithms.glm.error_inference`; the proof is ``linear.md``.
"""

from __future__ import annotations

import numpy as np

from nolook.algorithms.glm.designs import Blocks
from nolook.algorithms.glm.estimate import Noisy
from nolook.algorithms.node_counts import NoisyForest, Weighing, release_cells
from nolook.algorithms.scaling import release_bins
from nolook.privacy.guarantee import GaussianEvent
from nolook.privacy.noise import ByteSource
from nolook.statistics.grid_models import GridModel
from nolook.statistics.histograms import histograms_sensitivity
from nolook.statistics.weighted_rows import ErrorSides, ErrorSizes

__all__ = ["ERROR_EDGES", "release_errors", "release_sides"]


#: Ends of the cells of sizes, in scales of the target: eighths of an octave. Targets are clipped
#: further out, so that no size below the last but one end depends on where.
ERROR_EDGES = np.append(np.exp2(np.arange(-56, 41) / 8), np.inf)


def release_errors(blocks: Blocks, model: GridModel, mu: float, source: ByteSource) -> NoisyForest:
    """Release how many rows have errors of which size by a model, in one pass.

    Guarantee: ``mu``-GDP when a row is added or removed.
    """
    sizes = ErrorSizes(model, ERROR_EDGES[:-1])
    exact, event = blocks.fold(sizes).value, GaussianEvent("errors", mu)
    (found,), _, _ = release_cells([exact], event, "add-remove", source, Weighing(blocks.whole))
    return found


def release_sides(
    blocks: Blocks, model: GridModel, clip: float, mu: float, source: ByteSource
) -> Noisy:
    """Release how many rows are far below what a model predicts, near it, and far above.

    Far is more than half of what a clip of products leaves whole in every row. Guarantee:
    ``mu``-GDP when a row is added or removed.
    """
    far = 0.5 * clip / blocks.design.norm
    exact = blocks.fold(ErrorSides(model, far)).value
    noisy = release_bins(exact[np.newaxis], mu, blocks.whole, source)[0]
    return Noisy(noisy, histograms_sensitivity(1, "add-remove") / mu)
