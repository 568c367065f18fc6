"""Problem (3) given to cvxopt, the solver that the paper used, in its sparsest form.

The unknowns are each node's noise with all above it, so that a row has at most three entries.
"""

from __future__ import annotations

from typing import Any

import cvxopt
import numpy as np
from attrs import frozen
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["Problem", "by_cvxopt", "by_cvxopt_l1", "cvxopt_problem"]

Vector = NDArray[np.float64]


@frozen
class Problem:
    """What is the same for all counts, as matrices of cvxopt.

    Parameters
    ----------
    nodes : int
        How many unknowns.
    quadratic : spmatrix
        The sum of the nodes' noises squared, twice.
    falls : spmatrix
        How much each count falls below the one before.
    sizes : spmatrix
        The same, after the bounds of the noises' sizes, which are unknowns of their own.
    """

    nodes: int
    quadratic: Any
    falls: Any
    sizes: Any


def cvxopt_problem(size: int) -> Problem:
    """Return the problems of so many counts."""
    nodes = 2 * size - 1
    child = np.arange(1, nodes)
    parents = sparse.coo_array((np.ones(nodes - 1), (child, (child - 1) // 2)), (nodes, nodes))
    noises = sparse.eye_array(nodes) - parents
    ones = np.ones(size)
    falls = sparse.diags_array([ones, -ones], offsets=[0, -1], shape=(size + 1, size))
    leaves = sparse.coo_array((ones, (np.arange(size), np.arange(size - 1, nodes))), (size, nodes))
    bounds, none = sparse.eye_array(nodes), sparse.coo_array((size + 1, nodes))
    sizes = sparse.vstack(
        [
            sparse.hstack([noises, -bounds]),
            sparse.hstack([-noises, -bounds]),
            sparse.hstack([falls @ leaves, none]),
        ]
    )
    return Problem(nodes, *map(_to_cvxopt, (noises.T @ noises, falls @ leaves, sizes)))


def by_cvxopt(problem: Problem, noisy: Vector, top: float) -> Vector:
    """Return the counts of the quadratic program, p = 2, at cvxopt's own tolerance."""
    solved = cvxopt.solvers.qp(
        problem.quadratic,
        cvxopt.matrix(0.0, (problem.nodes, 1)),
        problem.falls,
        cvxopt.matrix(np.diff(noisy, prepend=0.0, append=top)),
        options={"show_progress": False},
    )
    return _counts(solved, noisy, problem.nodes)


def by_cvxopt_l1(problem: Problem, noisy: Vector, top: float) -> Vector:
    """Return the counts of the linear program, p = 1: the sizes of the noises are unknowns too."""
    nodes = problem.nodes
    rises = np.diff(noisy, prepend=0.0, append=top)
    unit = float(np.abs(rises).max())  # cvxopt gives up on large numbers
    solved = cvxopt.solvers.lp(
        cvxopt.matrix(np.repeat([0.0, 1.0], nodes)),
        problem.sizes,
        cvxopt.matrix(np.concatenate([np.zeros(2 * nodes), rises / unit])),
        options={"show_progress": False},
    )
    return _counts(solved, noisy, nodes, unit)


def _counts(solved: Any, noisy: Vector, nodes: int, unit: float = 1.0) -> Vector:  # noqa: ANN401
    counts: Vector = noisy - unit * np.array(solved["x"]).ravel()[:nodes][-len(noisy) :]
    return counts


def _to_cvxopt(matrix: Any) -> Any:  # noqa: ANN401
    """Return a sparse matrix as cvxopt's."""
    entries = sparse.coo_array(matrix)
    return cvxopt.spmatrix(
        entries.data.tolist(), entries.row.tolist(), entries.col.tolist(), entries.shape
    )
