from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import linprog

from nolook.audit import exact_laws as audit_laws
from nolook.errors import ParameterError
from nolook.privacy.noise import SeededSource, SystemEntropy
from papers.barczewski2024 import binary_tree
from papers.barczewski2024.binary_tree import (
    laplace_node_variance,
    shared_nodes,
    tree_laplace,
    tree_sensitivity,
)
from tests.privacy.exact_distributions import chi_square, laplace_tail, p_value

pytestmark = pytest.mark.papers

RELATIONS = ("add-remove", "replace")
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


# A value in the second of four cells, or moved from there to the last: two nodes move.
OF_FOUR = {
    "add-remove": ((0, 1, 0, 0), (0, 0, 0, 0)),
    "replace": ((0, 1, 0, 0), (0, 0, 0, 1)),
}


def clipped_law(scale, center, limit):
    """Return the law of a count plus a node's noise, clipped to -limit..limit."""
    far = limit + abs(center)
    whole, cut = audit_laws.laplace_law(scale, center, far), far - limit
    law = whole[cut : len(whole) - cut].copy()
    law[0] += whole[:cut].sum()
    law[-1] += whole[len(whole) - cut :].sum()
    return law


@cache
def tree_law(counts, scale, limit):
    """Return the law of a subtree's noisy counts, clipped, without the noise of nodes above it."""
    if len(counts) == 1:
        return clipped_law(scale, counts[0], limit)
    half, reach = len(counts) // 2, math.ceil(40 * scale)
    law = np.zeros((2 * limit + 1) ** len(counts))
    root_law = audit_laws.laplace_law(scale, 0, reach)
    for root, chance in zip(range(-reach, reach + 1), root_law, strict=True):
        moved = tuple(count + root for count in counts)
        left, right = (tree_law(part, scale, limit) for part in (moved[:half], moved[half:]))
        law += chance * np.outer(left, right).ravel()
    return law


def law_of_four(cells, scale, limit=6):
    return tree_law(tuple(np.cumsum(cells).tolist()), scale, limit)


@relations
def test_counts_of_four_cells_keep_epsilon_and_with_half_the_nodes_they_do_not(relation):
    nodes, tables = tree_sensitivity(2, relation), OF_FOUR[relation]
    first, second = (law_of_four(cells, nodes) for cells in tables)
    assert first.sum() == pytest.approx(1.0, abs=1e-9)
    assert 0.8 <= audit_laws.exact_epsilon(first, second) <= 1.0 + 1e-9
    halved = [law_of_four(cells, nodes / 2) for cells in tables]
    assert audit_laws.exact_epsilon(*halved) > 1.6


@relations
def test_counts_of_four_cells_have_their_exact_law(relation):
    cells, source = OF_FOUR[relation][0], SeededSource(42)

    def fit(epsilon):
        noisy = np.array(
            [tree_laplace(np.array(cells), epsilon, relation, source) for _ in range(10_000)]
        )
        places = (noisy.clip(-6, 6) + 6) @ 13 ** np.arange(4)[::-1]
        return audit_laws.fit_chance(places, law_of_four(cells, tree_sensitivity(2, relation)))

    assert fit(1.0) > 1e-6
    assert fit(2.0) < 1e-12  # as if the sensitivity were halved


@pytest.mark.parametrize("levels", [0, 1, 2, 5])
def test_each_count_gets_the_noise_of_its_ancestors(levels, monkeypatch):
    size = 2**levels
    nodes = np.arange(2 * size - 1) ** 3 - 17
    asked = []

    def known(scale, draws, source):
        asked.append((scale, draws))
        return nodes.copy()

    monkeypatch.setattr(binary_tree, "discrete_laplace", known)
    cells = np.arange(size) * 10
    expected = np.cumsum(cells) + ancestors(levels) @ nodes
    for relation in RELATIONS:
        released = tree_laplace(cells, 0.5, relation, SystemEntropy())
        np.testing.assert_array_equal(released, expected)
    for relation, (scale, draws) in zip(RELATIONS, asked, strict=True):
        assert draws == 2 * size - 1
        assert scale == pytest.approx(2.0 * tree_sensitivity(levels, relation), rel=1e-15)
        assert Fraction(scale) >= 2 * tree_sensitivity(levels, relation)


def repeated(release, levels, runs):
    cells = np.arange(2**levels) * 3
    return np.array([release(cells) for _ in range(runs)]) - np.cumsum(cells)


@relations
def test_noise_of_counts_has_the_covariance_of_shared_nodes(relation):
    levels, runs, source = 3, 3_000, SeededSource(41)
    places = np.arange(2**levels)
    shared = shared_nodes(places[:, None], places, levels)
    np.testing.assert_array_equal(shared, ancestors(levels) @ ancestors(levels).T)
    noise = repeated(lambda cells: tree_laplace(cells, 0.4, relation, source), levels, runs)
    variance = laplace_node_variance(levels, 0.4, relation)
    whitened = np.linalg.solve(np.linalg.cholesky(shared * variance), noise.T.astype(float))
    # The fourth moment of Laplace noise is 6 squared variances.
    error = np.abs(whitened @ whitened.T / runs - np.eye(len(places)))
    assert error.max() < 5.0 * math.sqrt(5.0 / runs)


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


@relations
@pytest.mark.parametrize("levels", [0, 4])
def test_a_huge_budget_gives_the_counts_themselves(levels, relation):
    cells = np.arange(2**levels)
    released = tree_laplace(cells, 1e12, relation, SystemEntropy())
    np.testing.assert_array_equal(released, np.cumsum(cells))


@pytest.mark.parametrize("budget", [1e-6, 1e-13, 1e-15, 1e-18])
def test_wide_noise_keeps_its_width_and_int64(budget):
    released = [
        tree_laplace(np.array([2**61, 5, 0, 1]), budget, "replace", SeededSource(seed))
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


@pytest.mark.parametrize("cells", [[2**61, 2**61], [2**62, 2**63 - 1], [-1, 5]])
def test_counts_that_could_wrap_are_refused(cells):
    with pytest.raises(ParameterError, match="2\\*\\*62"):
        tree_laplace(np.array(cells), 1.0, "add-remove", SystemEntropy())


def test_bad_parameters_are_refused():
    source = SystemEntropy()
    for size in (0, 3, 6):
        with pytest.raises(ParameterError, match=f"cells has {size} entries"):
            tree_laplace(np.zeros(size, dtype=np.int64), 1.0, "replace", source)
    with pytest.raises(ParameterError, match="float64"):
        tree_laplace(np.zeros(4), 1.0, "replace", source)
    for bad in (0.0, -1.0, math.inf, math.nan, 1e-30, 1e-307, 5e-324):
        with pytest.raises(ParameterError):
            tree_laplace(np.zeros(4, dtype=np.int64), bad, "replace", source)
    with pytest.raises(ParameterError, match="relation"):
        tree_laplace(np.zeros(4, dtype=np.int64), 1.0, "both", source)
