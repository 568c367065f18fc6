"""Least-squares models of many blocks of rows at once.

Each block's sums and model follow from that block's rows alone: the sums are exact integers, and
every model is solved from them by the same plain loops. So a row added to one block changes that
block's model and no other, to the last bit, and the order of rows changes none.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from numpy.typing import NDArray

from nolook._arrays import Array, Integers
from nolook._compiled import compiled

__all__ = ["add_block_moments", "block_models"]


# Ridge penalty, in rows. Where columns nearly follow from each other a block's least squares has
# coefficients of thousands of scales, whose sum alone means something: a point between those of
# many blocks, taken coordinate by coordinate, then predicts nothing.
_RIDGE = 0.01
# Products; fewer take a fraction of a second.
_WORTH_THREADS = 10_000_000


@compiled
def _add(
    sums: Integers, rows: NDArray[np.int32], blocks: Integers, times: Integers, own_half: int
) -> None:
    """Add the rows of even or of odd blocks."""
    size = rows.shape[1]
    for i in range(rows.shape[0]):
        if blocks[i] & 1 != own_half:
            continue
        own = sums[blocks[i]]
        for j in range(size):
            value = times[i] * rows[i, j]
            for k in range(j + 1):
                own[j, k] += value * rows[i, k]


def add_block_moments(sums: Integers, rows: Array, blocks: Integers, times: Integers) -> None:
    """Add ``z z'`` of each row ``z = (1, u)``, whole numbers below 2^31, to its block's sums.

    It is added as often as `times`, shape (n,), says. Rows have shape (columns, n), sums (m,
    columns + 1, columns + 1) with room for the rows' products; only their lower triangles are used.
    """
    whole = np.empty((rows.shape[1], rows.shape[0] + 1), dtype=np.int32)
    whole[:, 0] = 1
    whole[:, 1:] = rows.T
    if blocks.size * len(rows) ** 2 < _WORTH_THREADS:
        _add(sums, whole, blocks, times, 0)
        _add(sums, whole, blocks, times, 1)
        return
    # A block belongs to one thread, so no two add to one sum at once.
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda half: _add(sums, whole, blocks, times, half), (0, 1)))


@partial(compiled, error_model="numpy")
def _factor(matrix: Array) -> None:
    """Write the Cholesky factor of a definite matrix to its lower triangle."""
    size = matrix.shape[0]
    for j in range(size):
        for k in range(j):
            matrix[j, j] -= matrix[j, k] * matrix[j, k]
        matrix[j, j] = np.sqrt(matrix[j, j])
        for i in range(j + 1, size):
            for k in range(j):
                matrix[i, j] -= matrix[i, k] * matrix[j, k]
            matrix[i, j] /= matrix[j, j]


@partial(compiled, error_model="numpy")
def _substitute(matrix: Array, vector: Array) -> None:
    """Solve L L' x = vector in place, L the lower triangle."""
    size = matrix.shape[0]
    for j in range(size):
        for k in range(j):
            vector[j] -= matrix[j, k] * vector[k]
        vector[j] /= matrix[j, j]
    for j in range(size - 1, -1, -1):
        for k in range(j + 1, size):
            vector[j] -= matrix[k, j] * vector[k]
        vector[j] /= matrix[j, j]


@compiled
def _normal_equations(own: Array, basis: Array, matrix: Array, vector: Array) -> None:
    """Write basis' A basis and basis' b for the sums A, b of one block."""
    size = basis.shape[0]
    half = np.zeros((size, size))
    for i in range(size):
        for k in range(size):
            value = own[i, k] if k <= i else own[k, i]
            for j in range(size):
                half[i, j] += value * basis[k, j]
    vector[:] = 0.0
    matrix[:] = 0.0
    for k in range(size):
        for i in range(size):
            vector[i] += basis[k, i] * own[size, k]
            for j in range(size):
                matrix[i, j] += basis[k, i] * half[k, j]


@compiled
def _solve(sums: Array, basis: Array, penalties: Array, models: Array) -> None:
    size = basis.shape[0]
    matrix = np.empty((size, size))
    for block in range(sums.shape[0]):
        _normal_equations(sums[block], basis, matrix, models[block])
        for j in range(size):
            matrix[j, j] += penalties[block]
        _factor(matrix)
        _substitute(matrix, models[block])
        # The penalty leaves a residual of itself times the solution: solve for that, too, so that
        # coordinates that have rows are shrunk by the square of its share.
        rest = penalties[block] * models[block]
        _substitute(matrix, rest)
        models[block] += rest


def block_models(sums: Array, basis: Array) -> Array:
    """Solve ridge regression, iterated twice, in every block, shape (m, d), in a basis.

    Rows z of the design, d numbers, become ``z' basis``, whose coordinates have mean square 1 or
    less; the penalty is `_RIDGE` of the block's rows. The sums are the nearest doubles to those of
    :func:`add_block_moments`, the target last. An empty block gets 0; where numbers overflow the
    solution is not finite.
    """
    models = np.zeros((len(sums), len(basis)))
    penalties = _RIDGE * np.maximum(sums[:, 0, 0], 1.0)
    _solve(np.ascontiguousarray(sums), np.ascontiguousarray(basis), penalties, models)
    return models
