"""How many values fall into each cell of a public grid, and what one record can change in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nolook.kernels.cells import count_into, index_cells

__all__ = ["cell_counts", "cell_counts_sensitivity"]


def cell_counts_sensitivity(relation: Literal["add-remove", "replace"]) -> int:
    """L1 sensitivity of the counts: a record is in one cell, and moves from one to another.

    Parameters
    ----------
    relation : {"add-remove", "replace"}
        Which tables are neighbours.

    Returns
    -------
    int
    """
    return 1 if relation == "add-remove" else 2


def cell_counts(
    batches: Iterable[NDArray[np.float64]], edges: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Count values between public edges; cumulative sums are the numbers of values up to an edge.

    Parameters
    ----------
    batches : iterable of ndarray of float64, shape (rows,)
        Any doubles. NaN counts in the last cell.
    edges : ndarray of float64, shape (N,)
        Increasing, N >= 1. The last stands for plus infinity, whatever it is.

    Returns
    -------
    ndarray of int64, shape (N,)
        Cell i holds the values above ``edges[i-1]`` and up to ``edges[i]``; the first one all up
        to ``edges[0]``, the last one all above ``edges[N-2]``.
    """
    cells = index_cells(edges[:-1])
    counts = np.zeros(len(edges), dtype=np.int64)
    for batch in batches:
        count_into(counts, batch, cells)
    return counts
