from __future__ import annotations

import cvxopt
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from papers.barczewski2024.tree_smoothing import smooth

pytestmark = pytest.mark.papers

ROWS = 5000
LEVELS = [0, 1, 2, 3, 6, 8, 10]
SHAPES = ["poisson", "uniform", "two humps", "few values", "one step", "at the end", "nothing"]


def ancestors(size):
    """Return the matrix that adds the noises of the tree's nodes up above each leaf."""
    columns = [
        sparse.kron(sparse.eye_array(size >> level), np.ones((1 << level, 1)))
        for level in range(size.bit_length())
    ]
    return sparse.csr_array(sparse.hstack(columns))


def places(shape, size, rng):
    """Return the leaves of the rows."""
    match shape:
        case "poisson":
            chosen = np.repeat(np.arange(size), rng.poisson(3, size))
        case "uniform":
            chosen = rng.integers(0, size, ROWS)
        case "two humps":
            chosen = size * rng.normal(rng.choice([0.25, 0.7], ROWS), 0.05)
        case "few values":
            chosen = rng.poisson(3, ROWS) * size // 32
        case "one step":
            chosen = np.full(ROWS, size // 3)
        case "at the end":
            chosen = np.full(ROWS, size - 1)
        case "nothing":
            chosen = np.zeros(0)
    return np.clip(chosen, 0, size - 1).astype(int)


def noisy_counts(shape, level, scale, seed):
    """Return cumulative counts with tree noise, and a noisy number of rows."""
    rng = np.random.default_rng(seed)
    size = 1 << level
    chosen = places(shape, size, rng)
    counts = np.cumsum(np.bincount(chosen, minlength=size))
    noise = ancestors(size) @ rng.laplace(scale=scale, size=2 * size - 1)
    return counts + noise, max(len(chosen) + rng.laplace(scale=scale), 0.0)


def falls(size):
    """Return the matrix from counts to how far they fall, from the limits too."""
    ones = np.ones(size)
    return sparse.diags_array([ones, -ones], offsets=[0, -1], shape=(size + 1, size)).tocsr()


def least_squares_noise(noisy, top):
    """Solve problem (3) as it stands, p = 2, with a general solver: return nodes' noises."""
    nodes = ancestors(noisy.size)
    falling = sparse.coo_array(falls(noisy.size) @ nodes)
    unknown = nodes.shape[1]
    solved = cvxopt.solvers.qp(
        cvxopt.spmatrix(1.0, range(unknown), range(unknown)),
        cvxopt.matrix(0.0, (unknown, 1)),
        cvxopt.spmatrix(
            falling.data.tolist(), falling.row.tolist(), falling.col.tolist(), falling.shape
        ),
        cvxopt.matrix(np.diff(noisy, prepend=0.0, append=top)),
        options={"show_progress": False, "abstol": 1e-10, "reltol": 1e-10, "feastol": 1e-10},
    )
    return np.array(solved["x"]).ravel()


def least_noise(residual, norm):
    """Return the least sum of squares, or of sizes, of nodes' noises that add up to residuals."""
    nodes = ancestors(residual.size)
    if norm == "l2":
        covariance = (nodes @ nodes.T).toarray()
        return residual @ np.linalg.solve(covariance, residual)
    solved = linprog(
        np.ones(2 * nodes.shape[1]), A_eq=sparse.hstack([nodes, -nodes]), b_eq=residual
    )
    return solved.fun


def assert_possible(values, top):
    assert np.all(np.diff(values, prepend=0.0, append=top) >= 0)


@pytest.mark.parametrize("scale", [1.0, 30.0, 3000.0])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("level", LEVELS)
def test_a_general_solver_of_quadratic_programs_finds_no_better(level, shape, scale):
    noisy, top = noisy_counts(shape, level, scale, seed=level)
    values = smooth(noisy, top)
    assert_possible(values, top)
    if top == 0:
        assert not values.any()
        return
    noises = least_squares_noise(noisy, top)
    own = least_noise(noisy - values, "l2")
    assert own == pytest.approx(noises @ noises, rel=1e-6, abs=1e-6)
    np.testing.assert_allclose(
        values, noisy - ancestors(noisy.size) @ noises, atol=1e-4 * (scale + 1)
    )


@pytest.mark.parametrize("scale", [1.0, 30.0, 3000.0])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("level", [0, 1, 2, 3, 6, 8])
def test_the_linear_program_as_it_stands_finds_no_better(level, shape, scale):
    noisy, top = noisy_counts(shape, level, scale, seed=level)
    values = smooth(noisy, top, "l1")
    assert_possible(values, top)
    nodes = ancestors(noisy.size)
    falling = falls(noisy.size) @ nodes
    solved = linprog(
        np.ones(2 * nodes.shape[1]),
        A_ub=sparse.hstack([falling, -falling]),
        b_ub=np.diff(noisy, prepend=0.0, append=top),
    )
    assert least_noise(noisy - values, "l1") == pytest.approx(solved.fun, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("norm", ["l1", "l2", "isotonic"])
@pytest.mark.parametrize("scale", [1.0, 1e6])
@pytest.mark.parametrize("level", LEVELS)
def test_no_rows_give_zeros(level, scale, norm):
    noisy, _ = noisy_counts("nothing", level, scale, seed=1)
    assert not smooth(noisy, 0.0, norm).any()


@pytest.mark.parametrize("norm", ["l1", "l2", "isotonic"])
@pytest.mark.parametrize("shape", SHAPES)
def test_counts_without_noise_stay(shape, norm):
    counts, _ = noisy_counts(shape, 8, 1e-300, seed=0)
    np.testing.assert_allclose(smooth(counts, counts[-1], norm), counts, atol=1e-9)


def errors(shape, norm, seed):
    """Return the errors of noisy and of smoothed counts."""
    noisy, _ = noisy_counts(shape, 10, 40.0, seed)
    truth = np.round(noisy_counts(shape, 10, 1e-300, seed)[0])
    return noisy - truth, smooth(noisy, truth[-1], norm) - truth


@pytest.mark.parametrize("shape", SHAPES)
def test_a_projection_is_nearer_to_the_truth_in_its_metric(shape):
    for seed in range(3):
        before, after = errors(shape, "l2", seed)
        assert least_noise(after, "l2") < least_noise(before, "l2")
        before, after = errors(shape, "isotonic", seed)
        assert after @ after < before @ before


def test_each_norm_has_its_use():
    def error(shape, norm):
        return np.mean([np.mean(errors(shape, norm, seed)[1] ** 2) for seed in range(20)])

    assert error("poisson", "l2") < 0.7 * error("poisson", "isotonic")
    assert error("few values", "isotonic") < 0.5 * error("few values", "l2")


def test_a_wrong_size_and_a_wrong_top_are_refused():
    for noisy, top in [(np.zeros(3), 1.0), (np.zeros(0), 1.0), (np.zeros(4), -1.0)]:
        with pytest.raises(ValueError, match="power of 2"):
            smooth(noisy, top)
