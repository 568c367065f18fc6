"""The range most values of one column lie in, found privately and without bounds.

Two histograms are released with Laplace noise on every bin: by sign and power of two over the
whole range of doubles, then in equal bins over what the first one found. They are read by the rules
of ``scaling.py``, which are stated for normal noise; below is what stands for its standard
deviation. The proof is ``range_search.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from nolook.algorithms.scaling import occupied_range, trimmed_range
from nolook.kernels.histogram import linear_counts, magnitude_counts
from nolook.privacy.guarantee import PureEvent, Relation
from nolook.privacy.mechanisms.laplace import laplace_release
from nolook.privacy.noise import ByteSource
from nolook.statistics import fold
from nolook.statistics.cell_counts import cell_counts_sensitivity
from nolook.statistics.histograms import Histograms

__all__ = ["find_range", "range_events"]

_BINS = 48
# With this many Laplace scales for a standard deviation, all empty bins together pass the
# thresholds for an occupied bin no more often than with normal noise.
_TAIL = 2.85
# A Laplace number's standard deviation, which is what matters in a sum of many.
_DEVIATION = math.sqrt(2.0)

Vector = NDArray[np.float64]


def range_events(epsilon: float) -> tuple[PureEvent, PureEvent]:
    """State what :func:`find_range` releases with `epsilon`, before any data are read."""
    return (
        PureEvent("values by magnitude", epsilon / 2),
        PureEvent("values over the range found", epsilon / 2),
    )


def find_range(
    batches: Callable[[], Iterable[Vector]],
    events: tuple[PureEvent, PureEvent],
    relation: Relation,
    source: ByteSource,
    announce: Callable[[str], None],
) -> tuple[float, float]:
    """Find the range (low, high) of a column without its outermost values.

    Guarantee: the two releases cost their events, of :func:`range_events`, under `relation`. No
    column raises; one without rows gets a range from the noise alone. ``high - low`` is above a
    128th of the larger of ``|low|`` and ``|high|``. `batches` gives the column's values, any
    doubles, as often as called.
    """
    magnitudes, places = events
    sensitivity = cell_counts_sensitivity(relation)

    def release(count: Callable[[Vector], NDArray[np.int64]], epsilon: float) -> Vector:
        exact = fold(Histograms(count), (batch[np.newaxis] for batch in batches())).value(1)
        return laplace_release(exact, sensitivity, epsilon, source).astype(np.float64)

    announce("magnitudes")
    scale = sensitivity / magnitudes.epsilon
    low, high, _ = occupied_range(release(magnitude_counts, magnitudes.epsilon), _TAIL * scale)
    announce("range")
    # One of the bins is left free at either end.
    width = (high - low) / (_BINS - 2)
    low = low - width
    count = partial(linear_counts, low=low, width=width, bins=_BINS)
    scale = sensitivity / places.epsilon
    low, high = trimmed_range(release(count, places.epsilon), _DEVIATION * scale, low, width)
    return float(low[0]), float(high[0])
