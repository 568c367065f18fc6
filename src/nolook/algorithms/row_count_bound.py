"""The private number of rows, and a lower bound on it (Dick et al. 2023, section 4).

Once that is paid for, decisions may rest on this bound, and never on the exact number. The proof
is ``row_count_bound.md``.
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

__all__ = ["count_rows", "row_count_bound", "rows_margin"]

_FAILURE = 1e-4  # probability that the bound is too high


def rows_margin(epsilon: float) -> int:
    """Return the bound that the noise of the row count exceeds with probability at most 1e-4."""
    return math.ceil(math.log(1 / (2 * _FAILURE)) / epsilon) + 1


def count_rows(
    table: Table, epsilon: float, source: ByteSource, progress: Callable[[str], None]
) -> NoisyCount:
    """Release the numbers of rows in use and left out, or of units where rows have weights.

    Guarantee: pure epsilon when a row, or a unit with weights, is added or removed.
    """
    progress("rows")
    whole = table.unit.weight_scale
    used = table.fold(Histograms(row_counts)).value(1)[0]
    parts = np.append(used, whole * table.left_out())
    rows, left_out = (laplace_release(parts, whole, epsilon, source) / whole).tolist()
    error = math.sqrt(laplace_variance(whole, epsilon)) / whole
    return NoisyCount(max(1.0, rows), error, left_out, lost_error=error)


def row_count_bound(counted: NoisyCount, epsilon: float) -> int:
    """Return a number that exceeds the rows in use with probability at most 1e-4.

    `epsilon` is what they were counted at. It may be below 0.
    """
    return math.floor(counted.value) - rows_margin(epsilon)
