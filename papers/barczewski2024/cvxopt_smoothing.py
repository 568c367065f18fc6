"""Problem (3) given to cvxopt, the solver that the paper used, in its sparsest form.

The unknowns are each node's noise with all above it, so that a row has at most three entries.
"""

from __future__ import annotations

from typing import Any

import cvxopt
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["Problem", "by_cvxopt", "by_cvxopt_l1", "cvxopt_problem"]

Vector = NDArray[np.float64]
#: The nodes' noises of the unknowns, and how much each count falls below the one before.
Problem = tuple[Any, Any]


def cvxopt_problem(size: int) -> Problem:
    """Return what is the same for all counts, as sparse matrices of SciPy."""
    nodes = 2 * size - 1
    child = np.arange(1, nodes)
    parents = sparse.coo_array((np.ones(nodes - 1), (child, (child - 1) // 2)), (nodes, nodes))
    noises = sparse.eye_array(nodes) - parents
    ones = np.ones(size)
    falls = sparse.diags_array([ones, -ones], offsets=[0, -1], shape=(size + 1, size))
    leaves = sparse.coo_array((ones, (np.arange(size), np.arange(size - 1, nodes))), (size, nodes))
    return noises, falls @ leaves


def by_cvxopt(problem: Problem, noisy: Vector, top: float) -> Vector:
    """Return the counts of the quadratic program, p = 2, at cvxopt's own tolerance."""
    noises, falls = problem
    solved = cvxopt.solvers.qp(
        _to_cvxopt(noises.T @ noises),
        cvxopt.matrix(0.0, (noises.shape[0], 1)),
        _to_cvxopt(falls),
        cvxopt.matrix(np.diff(noisy, prepend=0.0, append=top)),
        options={"show_progress": False},
    )
    return _counts(solved, noisy, noises.shape[0])


def by_cvxopt_l1(problem: Problem, noisy: Vector, top: float) -> Vector:
    """Return the counts of the linear program, p = 1: the sizes of the noises are unknowns too."""
    noises, falls = problem
    nodes = noises.shape[0]
    sizes = sparse.eye_array(nodes)
    none = sparse.coo_array((falls.shape[0], nodes))
    held = sparse.vstack(
        [
            sparse.hstack([noises, -sizes]),
            sparse.hstack([-noises, -sizes]),
            sparse.hstack([falls, none]),
        ]
    )
    bounds = np.concatenate([np.zeros(2 * nodes), np.diff(noisy, prepend=0.0, append=top)])
    solved = cvxopt.solvers.lp(
        cvxopt.matrix(np.repeat([0.0, 1.0], nodes)),
        _to_cvxopt(held),
        cvxopt.matrix(bounds),
        options={"show_progress": False},
    )
    return _counts(solved, noisy, nodes)


def _counts(solved: Any, noisy: Vector, nodes: int) -> Vector:  # noqa: ANN401 -- cvxopt's own
    counts: Vector = noisy - np.array(solved["x"]).ravel()[:nodes][-len(noisy) :]
    return counts


def _to_cvxopt(matrix: Any) -> Any:  # noqa: ANN401
    """Return a sparse matrix as cvxopt's."""
    entries = sparse.coo_array(matrix)
    return cvxopt.spmatrix(
        entries.data.tolist(), entries.row.tolist(), entries.col.tolist(), entries.shape
    )
