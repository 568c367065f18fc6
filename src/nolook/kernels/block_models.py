"""Least-squares models of many blocks of rows at once.

Each block's sums and model follow from that block's rows alone: the sums are exact integers, and
every model is solved from them by the same plain loops. So a row added to one block changes that
block's model and no other, to the last bit, and the order of rows changes none.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["add_block_moments", "block_models"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

# Pivots below this share of the largest are taken for 0: what is left is rounding.
_RANK_TOLERANCE = 1e-11
# Products; fewer take a fraction of a second.
_WORTH_THREADS = 10_000_000


@njit(nogil=True, cache=True)
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


@njit(nogil=True, cache=True)
def _pivoted_factor(matrix: Array, factor: Array) -> int:
    """Factor a semidefinite matrix as L L' with as many columns as its rank; destroys it."""
    size = matrix.shape[0]
    factor[:] = 0.0
    largest = 0.0
    for j in range(size):
        largest = max(largest, matrix[j, j])
    for rank in range(size):
        place, pivot = 0, -1.0
        for j in range(size):
            if matrix[j, j] > pivot:
                place, pivot = j, matrix[j, j]
        # Written so that a pivot that is NaN ends it too.
        if not pivot > _RANK_TOLERANCE * largest:
            return int(rank)
        root = np.sqrt(pivot)
        for j in range(size):
            factor[j, rank] = matrix[j, place] / root
        for j in range(size):
            for k in range(size):
                matrix[j, k] -= factor[j, rank] * factor[k, rank]
        matrix[place, place] = -1.0
    return int(size)


@njit(nogil=True, cache=True)
def _solve_definite(matrix: Array, vector: Array, size: int) -> None:
    """Solve matrix x = vector in place by Cholesky factors; the matrix is destroyed."""
    for j in range(size):
        for k in range(j):
            matrix[j, j] -= matrix[j, k] * matrix[j, k]
        matrix[j, j] = np.sqrt(matrix[j, j])
        for i in range(j + 1, size):
            for k in range(j):
                matrix[i, j] -= matrix[i, k] * matrix[j, k]
            matrix[i, j] /= matrix[j, j]
    for j in range(size):
        for k in range(j):
            vector[j] -= matrix[j, k] * vector[k]
        vector[j] /= matrix[j, j]
    for j in range(size - 1, -1, -1):
        for k in range(j + 1, size):
            vector[j] -= matrix[k, j] * vector[k]
        vector[j] /= matrix[j, j]


@njit(nogil=True, cache=True)
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


@njit(nogil=True, cache=True)
def _least_norm(factor: Array, rank: int, vector: Array, out: Array) -> None:
    """Write L (L'L)^-2 L' b: of all solutions of L L' x = b the one of least norm."""
    thin = factor[:, :rank]
    size = factor.shape[0]
    right = np.zeros(rank)
    for k in range(size):
        for i in range(rank):
            right[i] += thin[k, i] * vector[k]
    for _ in range(2):
        inner = np.zeros((rank, rank))
        for k in range(size):
            for i in range(rank):
                for j in range(rank):
                    inner[i, j] += thin[k, i] * thin[k, j]
        _solve_definite(inner, right, rank)
    for i in range(size):
        for k in range(rank):
            out[i] += thin[i, k] * right[k]


@njit(nogil=True, cache=True)
def _solve(sums: Array, basis: Array, models: Array) -> None:
    size = basis.shape[0]
    matrix = np.empty((size, size))
    vector = np.empty(size)
    factor = np.empty((size, size))
    for block in range(sums.shape[0]):
        _normal_equations(sums[block], basis, matrix, vector)
        rank = _pivoted_factor(matrix.copy(), factor)
        if rank == size:
            _solve_definite(matrix, vector, size)
            models[block] = vector
        else:
            _least_norm(factor, rank, vector, models[block])


def block_models(sums: Array, basis: Array) -> Array:
    """Solve least squares in every block, shape (m, d), in the coordinates of a basis.

    Rows z of the design, d numbers, become ``z' basis``. The sums are the nearest doubles to those
    of :func:`add_block_moments`, the target last. A block short of rows gets the solution of least
    norm; where numbers overflow it is not finite.
    """
    models = np.zeros((len(sums), len(basis)))
    _solve(np.ascontiguousarray(sums), np.ascontiguousarray(basis), models)
    return models
