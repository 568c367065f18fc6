"""How good a selection of k is, by the true scores: TOP, GREAT and GOOD (Swope et al. 2024).

All three ask that a selection holds the best few and nothing that is far from the best k. Equal
scores count in whichever order is best for the selection. Nothing here is private.

=========  ============================  =========================
name       must hold all of the best     must lie among the best
=========  ============================  =========================
TOP        k                             k
GREAT      k / 10                        11 k / 10
GOOD       k / 100                       3 k / 2
=========  ============================  =========================
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["is_good", "is_great", "is_top"]


def is_top(scores: NDArray[Any], selected: NDArray[np.int64]) -> bool:
    """Return whether a selection of k distinct indices is the best k."""
    k = len(selected)
    return _holds(scores, selected, k, k)


def is_great(scores: NDArray[Any], selected: NDArray[np.int64]) -> bool:
    """Return whether it holds the best k/10 and lies among the best 11k/10, both rounded down."""
    k = len(selected)
    return _holds(scores, selected, k // 10, 11 * k // 10)


def is_good(scores: NDArray[Any], selected: NDArray[np.int64]) -> bool:
    """Return whether it holds the best k/100 and lies among the best 3k/2, both rounded down."""
    k = len(selected)
    return _holds(scores, selected, k // 100, 3 * k // 2)


def _holds(scores: NDArray[Any], selected: NDArray[np.int64], inner: int, outer: int) -> bool:
    """Return whether the best `inner` are selected, and only some of the best `outer`."""
    chosen = np.zeros(len(scores), dtype=np.bool_)
    chosen[selected] = True
    # Increasing scores, and of equal ones those selected last: from the end, the ranks.
    places = np.flatnonzero(chosen[np.lexsort((chosen, scores))][::-1])
    return bool(places[-1] < outer and np.array_equal(places[:inner], np.arange(inner)))
