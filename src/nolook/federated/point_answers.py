"""What the analyst makes of both servers' answers to a batch of format 2.

Both answers are noisy shares, modulo 2^64, of the counts of blocks; their sum has the noise of both
servers, twice the variance of a central release under replacement. Least squares, a public number
of rows and counts that rise follow as in `nolook.algorithms.node_counts`. All of this is
post-processing. The proof is `point_shares.md`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nolook.algorithms.node_counts import NoisyForest, Smoothing
from nolook.algorithms.roc import class_scores
from nolook.errors import ParameterError
from nolook.estimators.ecdf import ECDF, check_smoothing
from nolook.estimators.roc import ROCCurve
from nolook.federated.answers import Answer, joined
from nolook.federated.plausibility import bound, refuse_outside
from nolook.federated.point_batch import PointBatch
from nolook.federated.point_shares import guarantee
from nolook.kernels.forests import level_starts
from nolook.privacy.guarantee import GaussianEvent
from nolook.privacy.mechanisms.gaussian import gaussian_variance
from nolook.privacy.mechanisms.laplace import laplace_variance
from nolook.statistics.cell_counts import node_counts_l2_sensitivity, node_counts_sensitivity

__all__ = ["block_variance", "distribution"]

# Both servers add all the noise.
_NOISES = 2

Integers = NDArray[np.int64]


def distribution(
    batch: PointBatch, first: Answer, second: Answer, smoothing: Smoothing = "isotonic"
) -> ECDF | ROCCurve:
    """Put answers about a distribution or an ROC curve together.

    Raises a NolookError if the two do not belong together, or cannot be counts of the reports.
    """
    check_smoothing(smoothing)
    if batch.kind == "hosmer-lemeshow":
        raise ParameterError(f"{batch.name} is of kind {batch.kind}; expected an ecdf or a roc")
    n, noisy = joined(batch, first, second, dict.fromkeys(batch.classes, batch.forest.blocks))
    _refuse_impossible(batch, n, noisy)
    variance, points = _NOISES * block_variance(batch), batch.points()
    forests = {
        name: NoisyForest(batch.forest, blocks.astype(np.float64), variance)
        for name, blocks in noisy.items()
    }
    privacy, recipe = guarantee(batch), batch.recipe()
    if batch.kind == "ecdf":
        found = forests["count"].distribution(points, float(n), 0.0, smoothing)
        ecdf = ECDF(batch.epsilon, batch.grid, batch.delta, "replace", smoothing)
        return ecdf.keep_release((found,), privacy=privacy, recipe=recipe)
    curves = class_scores(points, forests["positive"], forests["negative"], float(n), smoothing)
    curve = ROCCurve(batch.epsilon, batch.grid, relation="replace", smoothing=smoothing)
    return curve.keep_release((batch.grid, *curves), privacy=privacy, recipe=recipe)


def block_variance(batch: PointBatch) -> float:
    """Return the variance of one server's noise of one block."""
    event = batch.event()
    changes = node_counts_sensitivity(batch.forest.levels, "replace")
    if isinstance(event, GaussianEvent):
        return gaussian_variance(node_counts_l2_sensitivity(changes), event.mu)
    return laplace_variance(changes, event.epsilon)


def _refuse_impossible(batch: PointBatch, n: int, noisy: dict[str, Integers]) -> None:
    """Refuse counts of blocks that no n reports have, by more than the noise explains."""
    forest, variance = batch.forest, block_variance(batch)
    starts = level_starts(forest.padded, forest.lengths)

    def slack(blocks: int, sums: int) -> float:
        """Bound the noise of sums of so many blocks; a Gaussian number is rounded as well."""
        noises = _NOISES * blocks
        return bound(noises, variance, 2 * sums) + (noises / 2 if batch.delta else 0.0)

    for blocks in noisy.values():
        refuse_outside(blocks, 0.0, float(n), slack(1, len(noisy) * forest.blocks))
        for level in range(forest.levels - 1):
            above = blocks[starts[level] : starts[level + 1]]
            below = blocks[starts[level + 1] : starts[level + 2]]
            children = forest.lengths[level] // forest.lengths[level + 1]
            off = above - below.reshape(-1, children).sum(axis=1)
            refuse_outside(off, 0.0, 0.0, slack(1 + children, len(noisy) * forest.blocks))
    longest = [blocks[: starts[1]] for blocks in noisy.values()]
    total = np.concatenate(longest).sum(keepdims=True)
    refuse_outside(total, float(n), float(n), slack(len(noisy) * starts[1], 1))
