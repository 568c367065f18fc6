"""Least-squares models of blocks of rows in their own units, from the rows themselves."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["least_squares_models"]


@njit(nogil=True, cache=True)
def _fit_rows(
    design: NDArray[np.float64],
    targets: NDArray[np.float64],
    starts: NDArray[np.int64],
    models: NDArray[np.float64],
) -> None:
    for block in range(models.shape[0]):
        first, last = starts[block], starts[block + 1]
        models[block] = 0.0
        if last > first:
            # The solver has never failed on finite numbers; an error would depend on the rows.
            try:
                solution, _, _, _ = np.linalg.lstsq(design[first:last], targets[first:last])
                models[block] = solution
            except Exception:  # noqa: BLE001 -- the only kind that compiled code knows
                models[block] = 0.0


def least_squares_models(
    rows: NDArray[np.float64], blocks: NDArray[np.int64], m: int
) -> NDArray[np.float64]:
    """Solve least squares in every block from the rows themselves, by singular values.

    For rows in raw units, whose sums of squares would lose too many digits.

    Parameters
    ----------
    rows : ndarray of shape (columns, n)
        Finite; the target last.
    blocks : ndarray of int64, shape (n,)
    m : int
        Number of blocks.

    Returns
    -------
    ndarray of shape (m, columns)
        Intercept first; the solution of least norm where a block is short of rows, 0 where there
        is none.
    """
    order = np.argsort(blocks, kind="stable")
    starts = np.searchsorted(blocks[order], np.arange(m + 1))
    design = np.empty((rows.shape[1], rows.shape[0]))
    design[:, 0] = 1.0
    design[:, 1:] = rows[:-1, order].T
    models = np.empty((m, rows.shape[0]))
    _fit_rows(design, rows[-1, order], starts, models)
    return models
