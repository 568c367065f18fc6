"""Smoothing of noisy cumulative counts (Barczewski, Mawass and Ramon 2024, problem (3)).

A noisy count holds the noises of all tree nodes above its leaf. Smoothing takes away the least
noise that leaves a possible sequence: from 0 up to the number of rows, never falling. It sees the
noisy counts only, so it costs no privacy. `tree_smoothing.md` has the methods and their proofs.

=============  ==========================================
name           in the paper
=============  ==========================================
noisy          the private counts, n times F-hat
top            n: the paper's limit 1, in counts
norm           p: 2 for "l2", 1 for "l1"
return value   n times F-acute
=============  ==========================================
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from papers.barczewski2024.tree_projection import tree_projection

__all__ = ["Smoothing", "smooth"]

#: What is made as small as possible, see :func:`smooth`; None leaves the counts as they are.
Smoothing: TypeAlias = Literal["l2", "l1", "isotonic"] | None


def smooth(
    noisy: NDArray[np.float64], top: float, norm: Literal["l1", "l2", "isotonic"] = "l2"
) -> NDArray[np.float64]:
    """Return possible counts, never falling and within [0, top], with the least noise taken away.

    `noisy` holds a power of 2 of cumulative counts, finite, under the complete binary tree; `top`
    is the number of rows or a private count of them, at least 0. The least is that of the nodes'
    noises squared ("l2"), of their sizes ("l1"), or of the counts' changes squared ("isotonic").
    The first does best where counts rise all along. The last is not in the paper; unlike the
    others, it never adds to the squared error of counts within [0, top], and does best on long
    level parts. For "l1" there may be several such sequences.
    """
    size = len(noisy)
    if size.bit_count() != 1 or not top >= 0:
        raise ValueError("noisy must have a power of 2 of counts, and top must be at least 0")
    if norm == "l2":
        return tree_projection(np.ascontiguousarray(noisy, dtype=np.float64), float(top))
    if norm == "l1":
        return _least_absolute_noise(noisy, top)
    from scipy.optimize import isotonic_regression

    fitted: NDArray[np.float64] = isotonic_regression(noisy).x
    return np.clip(fitted, 0.0, top)


def _least_absolute_noise(noisy: NDArray[np.float64], top: float) -> NDArray[np.float64]:
    """Solve the dual linear program; its reduced costs are the increments of the counts."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, vstack

    size = len(noisy)
    lengths = [1 << level for level in range(size.bit_length())]
    starts = np.concatenate([np.arange(0, size, length) for length in lengths])
    ends = np.concatenate([np.arange(length, size + 1, length) for length in lengths])
    nodes = np.arange(len(starts))
    entries = np.repeat([1.0, -1.0], len(nodes))
    places = np.tile(nodes, 2), np.concatenate([ends, starts])
    noises = csr_array((entries, places), shape=(len(nodes), size + 1))
    solved = linprog(
        np.diff(noisy, prepend=0.0, append=top),
        A_ub=vstack([noises, -noises]),
        b_ub=np.ones(2 * len(nodes)),
        # Some solution is far below the upper bound, which only holds off rounding when top is 0.
        bounds=(0, 2 * len(lengths)),
        method="highs-ds",
    )
    if not solved.success:
        raise ArithmeticError(f"smoothing by a linear program failed: {solved.message}")
    increments: NDArray[np.float64] = np.maximum(solved.lower.marginals, 0.0)
    return np.minimum(np.cumsum(increments)[:size], top)
