"""A private lower bound on the number of rows (Dick et al. 2023, section 4).

Once it is paid for, decisions may rest on this bound, and never on the number itself. The proof is
``row_count_bound.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from nolook.algorithms.scaling import NoisyCount
from nolook.kernels.histogram import row_counts
from nolook.privacy.mechanisms.laplace import laplace_release, laplace_variance
from nolook.privacy.noise import ByteSource
from nolook.statistics.histograms import Histograms
from nolook.tables import Table

__all__ = ["noisy_rows", "rows_bound", "rows_margin"]

_FAILURE = 1e-4  # probability that the bound is too high


def rows_margin(epsilon: float) -> int:
    """Return the bound that the noise of the row count exceeds with probability at most 1e-4."""
    return math.ceil(math.log(1 / (2 * _FAILURE)) / epsilon) + 1


def rows_bound(
    table: Table, epsilon: float, source: ByteSource, progress: Callable[[str], None]
) -> int:
    """Release a lower bound on the number of rows, or of units where their rows have weights.

    Guarantee: pure epsilon when a row, or a unit with weights, is added or removed. It exceeds the
    number with probability at most 1e-4, and may be below 0.
    """
    progress("rows")
    if table.unit.weight_scale > 1:
        count = np.array([table.count_units()])
    else:
        count = table.fold(Histograms(row_counts)).value(1)[0]
    return int(laplace_release(count, 1, epsilon, source)[0]) - rows_margin(epsilon)


def noisy_rows(bound: int, epsilon: float) -> NoisyCount:
    """Return the noisy number of rows that a bound was made from."""
    error = math.sqrt(laplace_variance(1, epsilon))
    return NoisyCount(max(1.0, float(bound + rows_margin(epsilon))), error)
