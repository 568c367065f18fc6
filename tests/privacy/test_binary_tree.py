from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import linprog

from nolook.errors import ParameterError
from nolook.privacy.mechanisms import binary_tree
from nolook.privacy.mechanisms.binary_tree import (
    gaussian_node_variance,
    laplace_node_variance,
    shared_nodes,
    tree_gaussian,
    tree_gaussian_sensitivity,
    tree_laplace,
    tree_sensitivity,
)
from nolook.privacy.noise import SeededSource, SystemEntropy
from tests.privacy.exact_distributions import chi_square, gaussian_tail, laplace_tail, p_value

RELATIONS = ("add-remove", "replace")
FINE = 2**24
relations = pytest.mark.parametrize("relation", RELATIONS)


def changes(levels, relation):
    """What a row can do to the cumulative counts, as (first, end) of the counts it moves.

    The last count is the number of rows, so replacement leaves it alone.
    """
    size = 2**levels
    if relation == "add-remove":
        return [(a, size) for a in range(size)]
    return [(a, b) for a in range(size) for b in range(a + 1, size)]


def fewest_nodes(levels, first, end):
    """Sum of |v| of the smallest integer node vector v with this effect, by dynamic programming."""

    @cache
    def cost(start, length, above):
        if length == 1:
            return abs((first <= start < end) - above)
        half = length // 2
        return min(
            abs(v) + cost(start, half, above + v) + cost(start + half, half, above + v)
            for v in range(-2, 3)
            if abs(above + v) <= 3
        )

    return cost(0, 2**levels, 0)


def ancestors(levels):
    """Matrix A: count i gets the noise of node k, nodes listed from the root down."""
    size = 2**levels
    rows = [np.kron(np.eye(2**depth), np.ones(size // 2**depth)) for depth in range(levels + 1)]
    return np.vstack(rows).T.astype(np.int64)


def effect(levels, first, end):
    moved = np.zeros(2**levels, dtype=np.int64)
    moved[first:end] = 1
    return moved


@relations
@pytest.mark.parametrize("levels", range(6))
def test_as_many_nodes_as_claimed_explain_every_change_and_no_fewer_do(levels, relation):
    needed = [fewest_nodes(levels, *change) for change in changes(levels, relation)]
    if (levels, relation) == (0, "replace"):
        assert needed == []
    else:
        assert max(needed) == tree_sensitivity(levels, relation)


@pytest.mark.parametrize("levels", range(1, 5))
def test_fractions_of_nodes_do_not_help_with_laplace_noise(levels):
    a = ancestors(levels)
    for relation in RELATIONS:
        worst = 0.0
        for change in changes(levels, relation):
            solved = linprog(
                np.ones(2 * a.shape[1]),
                A_eq=np.hstack([a, -a]),
                b_eq=effect(levels, *change),
                bounds=(0, None),
            )
            worst = max(worst, solved.fun)
        assert worst == pytest.approx(tree_sensitivity(levels, relation), abs=1e-9)


@cache
def pseudo_inverse(levels):
    return np.linalg.pinv(ancestors(levels).astype(float))


def least_squares(levels, change):
    """The real node vector of least length with this effect."""
    return pseudo_inverse(levels) @ effect(levels, *change)


@relations
@pytest.mark.parametrize("levels", range(1, 7))
def test_the_euclidean_sensitivity_holds_and_is_nearly_reached(levels, relation):
    longest = max(np.linalg.norm(least_squares(levels, c)) for c in changes(levels, relation))
    claimed = tree_gaussian_sensitivity(levels, relation)
    assert longest <= claimed <= math.sqrt(tree_sensitivity(levels, relation))
    assert longest > (0.93 if levels >= 3 else 0.8) * claimed


def squared_length(levels, first, end):
    """The same length by the formula of the proof, for any number of levels."""
    size = 2**levels
    total = Fraction((end - first) ** 2, size * (2 * size - 1))
    for j in range(1, levels + 1):
        block = 2**j
        tents = {}
        for boundary, sign in ((first, 1), (end, -1)):
            rest = boundary % block
            tent = sign * min(rest, block - rest)
            tents[boundary // block] = tents.get(boundary // block, 0) + tent
        total += sum(Fraction(t * t, block * (block - 1)) for t in tents.values())
    return total


@pytest.mark.parametrize("levels", [1, 2, 3, 5])
def test_the_formula_of_the_proof_is_the_length(levels):
    for change in changes(levels, "add-remove") + changes(levels, "replace"):
        length = np.linalg.norm(least_squares(levels, change))
        assert float(squared_length(levels, *change)) == pytest.approx(length**2, rel=1e-9)


@relations
@pytest.mark.parametrize("levels", [10, 16, 24, 30])
def test_the_euclidean_sensitivity_holds_for_changes_that_are_hard_to_explain(levels, relation):
    rng = np.random.default_rng(levels)
    size = 2**levels
    hard = {size * k // 12 + shift for k in range(12) for shift in (-1, 0, 1)}
    places = sorted(hard | set(rng.integers(0, size, 20).tolist()))
    places = [place for place in places if 0 <= place < size]
    ends = [size] if relation == "add-remove" else places
    claimed = Fraction(tree_gaussian_sensitivity(levels, relation)) ** 2
    worst = max(squared_length(levels, a, b) for a in places for b in ends if a < b)
    assert 0.93 * claimed < worst < claimed


@relations
@pytest.mark.parametrize("levels", range(6))
def test_node_vectors_of_that_length_exist_on_the_grid_of_the_gaussian_noise(levels, relation):
    a = ancestors(levels)
    inner = 2**levels - 1
    limit = Fraction(tree_gaussian_sensitivity(levels, relation)) ** 2
    for change in changes(levels, relation):
        steps = np.rint(least_squares(levels, change) * FINE).astype(np.int64)
        steps[inner:] = effect(levels, *change) * FINE - a[:, :inner] @ steps[:inner]
        np.testing.assert_array_equal(a @ steps, effect(levels, *change) * FINE)
        assert Fraction(int(steps @ steps), FINE**2) <= limit


def laplace_law(scale, width=60):
    """Probabilities of a node's noise from -width to width."""
    k = np.arange(-width, width + 1)
    r = math.exp(-1.0 / scale)
    return (1 - r) / (1 + r) * r ** np.abs(k)


def joint_law(cells, scale, levels, window=12):
    """Exact probabilities of the outputs from -window to window for one or two cells."""
    width = 60
    node = dict(zip(range(-width, width + 1), laplace_law(scale, width), strict=True))
    outputs = range(-window, window + 1)
    if levels == 0:
        return np.array([node[y - cells[0]] for y in outputs])
    low, high = np.cumsum(cells)
    root = np.arange(-width + 2 * window, width - 2 * window + 1)
    first = np.array([[node[y - low - z] for z in root] for y in outputs])
    second = np.array([[node[y - high - z] for z in root] for y in outputs])
    return (first * np.array([node[z] for z in root])) @ second.T


def worst_loss(levels, relation, scale):
    """The largest log ratio of output probabilities between neighbours."""
    if relation == "add-remove":
        pairs = [((1,), (2,))] if levels == 0 else [((1, 1), (2, 1)), ((1, 1), (1, 2))]
    else:
        pairs = [((1,), (1,))] if levels == 0 else [((1, 1), (2, 0))]
    laws = [(joint_law(a, scale, levels), joint_law(b, scale, levels)) for a, b in pairs]
    return max(np.abs(np.log(first / second)).max() for first, second in laws)


@relations
@pytest.mark.parametrize("levels", [0, 1])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_exact_output_probabilities_of_neighbours_are_within_epsilon(levels, relation, epsilon):
    scale = tree_sensitivity(levels, relation) / epsilon
    # What the window of the root's noise leaves out is below exp(-36 / scale).
    assert worst_loss(levels, relation, scale) <= epsilon * (1 + 1e-6)
    if (levels, relation) != (0, "replace"):
        assert worst_loss(levels, relation, scale) > 0.9 * epsilon
        assert worst_loss(levels, relation, 0.7 * scale) > 1.2 * epsilon


@pytest.mark.parametrize("levels", [0, 1])
def test_outputs_have_these_probabilities_and_a_planted_fault_is_caught(levels):
    cells = np.array([2, 1])[: levels + 1]
    source = SeededSource(40)
    law = joint_law(cells, 1.0, levels).ravel()
    common = law > 1e-3
    expected = np.append(law[common], 1.0 - law[common].sum())

    def chance(epsilon):
        draws = np.array([tree_laplace(cells, epsilon, "add-remove", source) for _ in range(4_000)])
        inside = draws[np.all(np.abs(draws) <= 12, axis=1)] + 12
        shape = (25,) * (levels + 1)
        seen = np.bincount(np.ravel_multi_index(inside.T, shape), minlength=len(law))[common]
        return chi_square(np.append(seen, len(draws) - seen.sum()), expected)

    assert chance(1.0) > 1e-3
    for factor in (0.7, 1.3):
        assert chance(1.0 / factor) < 1e-9


@pytest.mark.parametrize("levels", [0, 1, 2, 5])
def test_each_count_gets_the_noise_of_its_ancestors(levels, monkeypatch):
    size = 2**levels
    nodes = np.arange(2 * size - 1) ** 3 - 17
    asked = []

    def known(scale, draws, source):
        asked.append((scale, draws))
        return nodes.copy()

    monkeypatch.setattr(binary_tree, "discrete_laplace", known)
    monkeypatch.setattr(binary_tree, "rounded_gaussian", lambda *given: known(*given) * FINE)
    cells = np.arange(size) * 10
    expected = np.cumsum(cells) + ancestors(levels) @ nodes
    for relation in RELATIONS:
        released = tree_laplace(cells, 0.5, relation, SystemEntropy())
        np.testing.assert_array_equal(released, expected)
        fine = tree_gaussian(cells, 0.5, relation, SystemEntropy())
        np.testing.assert_array_equal(fine, expected)
    scales = [asked[0], asked[2]]
    for relation, (scale, draws) in zip(RELATIONS, scales, strict=True):
        assert draws == 2 * size - 1
        assert scale == pytest.approx(2.0 * tree_sensitivity(levels, relation), rel=1e-15)
        assert Fraction(scale) >= 2 * tree_sensitivity(levels, relation)
    assert asked[1][0] / FINE >= 2.0 * tree_gaussian_sensitivity(levels, "add-remove")


def repeated(release, levels, runs):
    cells = np.arange(2**levels) * 3
    return np.array([release(cells) for _ in range(runs)]) - np.cumsum(cells)


@relations
def test_noise_of_counts_has_the_covariance_of_shared_nodes(relation):
    levels, runs, source = 3, 3_000, SeededSource(41)
    places = np.arange(2**levels)
    shared = shared_nodes(places[:, None], places, levels)
    np.testing.assert_array_equal(shared, ancestors(levels) @ ancestors(levels).T)
    for release, variance in (
        (
            lambda cells: tree_laplace(cells, 0.4, relation, source),
            laplace_node_variance(levels, 0.4, relation),
        ),
        (
            lambda cells: tree_gaussian(cells, 0.1, relation, source),
            gaussian_node_variance(levels, 0.1, relation),
        ),
    ):
        noise = repeated(release, levels, runs).astype(float)
        whitened = np.linalg.solve(np.linalg.cholesky(shared * variance), noise.T)
        # Node noise may be as peaked as Laplace noise, whose fourth moment is 6 squared variances.
        error = np.abs(whitened @ whitened.T / runs - np.eye(len(places)))
        assert error.max() < 5.0 * math.sqrt(5.0 / runs)


def test_gaussian_noise_of_a_count_is_normal_and_a_planted_fault_is_caught():
    levels, mu, source = 2, 0.2, SeededSource(42)
    sigma = math.sqrt((levels + 1) * gaussian_node_variance(levels, mu, "add-remove"))
    noise = repeated(lambda cells: tree_gaussian(cells, mu, "add-remove", source), levels, 4_000)
    for place in (0, 2, 3):
        assert p_value(noise[:, place], gaussian_tail, sigma) > 1e-3
        for factor in (0.7, 1.3):
            assert p_value(noise[:, place], gaussian_tail, sigma * factor) < 1e-9


def test_a_single_cell_gets_plain_laplace_noise():
    source = SeededSource(43)
    cells = np.array([7])
    draws = np.array([tree_laplace(cells, 0.5, "replace", source)[0] for _ in range(4_000)])
    assert p_value(draws - 7, laplace_tail, 2.0) > 1e-3
    assert p_value(draws - 7, laplace_tail, 1.4) < 1e-9


def test_node_variances_are_those_of_the_noise():
    for epsilon in (0.3, 1.0, 7.0):
        scale = tree_sensitivity(4, "replace") / epsilon
        variance = 2.0 * stats.dlaplace(1.0 / scale).moment(2) / 2.0
        assert laplace_node_variance(4, epsilon, "replace") == pytest.approx(variance, rel=1e-9)
    assert laplace_node_variance(0, 1e6, "add-remove") == 0.0
    deviation = tree_gaussian_sensitivity(4, "replace") / 0.3
    assert gaussian_node_variance(4, 0.3, "replace") == pytest.approx(deviation**2, rel=1e-12)


@relations
@pytest.mark.parametrize("levels", [0, 4])
def test_a_huge_budget_gives_the_counts_themselves(levels, relation):
    cells = np.arange(2**levels)
    for release in (tree_laplace, tree_gaussian):
        released = release(cells, 1e12, relation, SystemEntropy())
        np.testing.assert_array_equal(released, np.cumsum(cells))


@pytest.mark.parametrize(
    ("release", "budget"),
    [(tree_laplace, b) for b in (1e-6, 1e-13, 1e-15, 1e-18)]
    + [(tree_gaussian, b) for b in (1e-3, 1e-7, 1e-10, 1e-12)],
)
def test_wide_noise_keeps_its_width_and_int64(release, budget):
    released = [
        release(np.array([2**61, 5, 0, 1]), budget, "replace", SeededSource(seed))
        for seed in range(40)
    ]
    assert {counts.dtype for counts in released} == {np.dtype(np.int64)}
    values = np.array(released).astype(float)
    noise = values[:, 1:] - values[:, :1] - np.array([5.0, 5.0, 6.0])
    size = np.median(np.abs(noise)) * budget
    assert 0.5 < size < 6.0


@pytest.mark.parametrize(
    ("node", "dtype", "end"),
    [
        (2**62 - 2**59, np.int64, 2**63 - 1),
        (2**62 - 2**59, object, 2**63 - 1),
        (2**90, object, 2**63 - 1),
        (-(2**90), object, -(2**63)),
    ],
)
def test_sums_saturate_instead_of_wrapping(monkeypatch, node, dtype, end):
    nodes = np.full(3, node, dtype=dtype)
    monkeypatch.setattr(binary_tree, "discrete_laplace", lambda *_: nodes.copy())
    cells = np.array([2**61, 0])
    assert tree_laplace(cells, 1.0, "replace", SystemEntropy()).tolist() == [end, end]


@pytest.mark.parametrize("release", [tree_laplace, tree_gaussian])
@pytest.mark.parametrize("cells", [[2**61, 2**61], [2**62, 2**63 - 1], [-1, 5]])
def test_counts_that_could_wrap_are_refused(release, cells):
    with pytest.raises(ParameterError, match="2\\*\\*62"):
        release(np.array(cells), 1.0, "add-remove", SystemEntropy())


@pytest.mark.parametrize("release", [tree_laplace, tree_gaussian])
def test_bad_parameters_are_refused(release):
    source = SystemEntropy()
    for size in (0, 3, 6):
        with pytest.raises(ParameterError, match=f"cells has {size} entries"):
            release(np.zeros(size, dtype=np.int64), 1.0, "replace", source)
    with pytest.raises(ParameterError, match="float64"):
        release(np.zeros(4), 1.0, "replace", source)
    for bad in (0.0, -1.0, math.inf, math.nan, 1e-30, 1e-307, 5e-324):
        with pytest.raises(ParameterError):
            release(np.zeros(4, dtype=np.int64), bad, "replace", source)
    with pytest.raises(ParameterError, match="relation"):
        release(np.zeros(4, dtype=np.int64), 1.0, "both", source)
