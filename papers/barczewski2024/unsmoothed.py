"""The product's least-squares counts before they are made to rise, as the paper compares them."""

from __future__ import annotations

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from nolook.algorithms.cumulative_noise import settled
from nolook.algorithms.ecdf import EcdfRelease
from nolook.algorithms.forest import best_forest
from nolook.algorithms.node_counts import noise_kind, release_forests
from nolook.algorithms.roc_curve import RocCurve
from nolook.privacy.noise import ByteSource
from nolook.statistics.cell_counts import node_counts_sensitivity

__all__ = ["unsmoothed_counts", "unsmoothed_curve"]

Vector = NDArray[np.float64]


def unsmoothed_counts(cells: NDArray[np.int64], plan: EcdfRelease, source: ByteSource) -> Vector:
    """Return one column's counts, with the noise that `release_counts` draws from this source.

    Guarantee: costs the plan's event under its relation.
    """
    levels = best_forest(len(cells), noise_kind(plan.event)).levels
    sensitivity = node_counts_sensitivity(levels, plan.relation)
    (found,) = release_forests([cells], plan.event, sensitivity, source)
    rows = float(cells.sum()) if plan.relation == "replace" else found.rows
    counts = settled(found.cells, found.forest, rows)
    counts[-1] = max(1.0, rows)
    return counts


def unsmoothed_curve(found: RocCurve) -> RocCurve:
    """Return the curve by the counts of both classes before they were made to rise."""
    both = found.positive, found.negative
    counts = [np.append(each.noisy[:-1], max(1.0, each.noisy[-1])) for each in both]
    first, second = (
        evolve(each, counts=own, rows=float(own[-1]))
        for each, own in zip(both, counts, strict=True)
    )
    return evolve(found, positive=first, negative=second)
