"""The experiments of Barczewski et al.: parts, what they must show, and a quick run of all."""

from __future__ import annotations

import math

import numpy as np
import pytest

import nolook
from nolook.privacy.noise import SeededSource
from papers.barczewski2024 import experiments, node_variance, tree_counts
from papers.barczewski2024.binary_tree import tree_sensitivity
from papers.barczewski2024.counterexamples import (
    NEIGHBOUR,
    ROWS,
    error_of_a_share,
    group_sums,
    nodes_needed,
    thresholds,
)
from papers.barczewski2024.cvxopt_smoothing import by_cvxopt, by_cvxopt_l1, cvxopt_problem
from papers.barczewski2024.pages import PAPER, PAPER_TABLES
from papers.barczewski2024.scores import scored
from papers.barczewski2024.tree_smoothing import smooth
from papers.command import main
from papers.tables import DATA
from tests.conftest import skip_or_fail

pytestmark = pytest.mark.papers


def test_published_thresholds_reveal_two_rows():
    assert thresholds(ROWS, 5)[-1] == max(ROWS)
    assert thresholds(NEIGHBOUR, 5)[-1] == max(NEIGHBOUR) != max(ROWS)


@pytest.mark.parametrize("levels", [1, 2, 3, 4, 5])
def test_fewer_nodes_hide_a_row_than_the_paper_has(levels):
    for relation in ("replace", "add-remove"):
        needed = nodes_needed(levels, relation)
        assert needed == tree_sensitivity(levels, relation)
        assert needed < levels + 1


def test_the_stated_error_is_that_of_a_count():
    levels, epsilon, rows = 4, 1.0, 500
    stated, of_a_share = error_of_a_share(levels, epsilon, rows)
    cells = np.full(2**levels, rows // 2**levels)
    source = SeededSource(3)
    noise = [tree_counts(cells, epsilon, source) - cells.cumsum() for _ in range(2_000)]
    assert np.mean(np.square(noise)) == pytest.approx(stated, rel=0.1)
    assert np.mean(np.square(noise)) / rows**2 == pytest.approx(of_a_share, rel=0.1)
    assert (levels + 1) * node_variance(levels, epsilon) == pytest.approx(stated, rel=0.01)


@pytest.mark.parametrize("probability", [0.0, 0.3, 1.0])
def test_the_four_sums_of_a_group_move_by_two(probability):
    for positive in (True, False):
        assert sum(map(abs, group_sums(probability, positive=positive))) == pytest.approx(2.0)


def noisy(level, seed):
    cells = experiments.poisson_cells(3.0, seed, level)
    return tree_counts(cells, 0.5, SeededSource(seed)).astype(float), float(cells.sum())


def least_noise(taken):
    """Return the least sum of sizes of nodes' noises that make up what was taken from counts.

    From the leaves up: what a node's noises above should add up to, as an interval.
    """
    low = high = np.asarray(taken, dtype=float)
    total = 0.0
    while len(low) > 1:
        lows, highs = low.reshape(-1, 2), high.reshape(-1, 2)
        total += np.maximum(lows.max(axis=1) - highs.min(axis=1), 0.0).sum()
        both = np.sort(np.hstack([lows, highs]), axis=1)
        low, high = both[:, 1], both[:, 2]
    return total + abs(np.clip(0.0, low[0], high[0]))


@pytest.mark.parametrize("seed", [0, 1])
def test_both_solvers_solve_the_same_problems(seed):
    level = 6
    problem = cvxopt_problem(2**level)
    counts, rows = noisy(level, seed)
    np.testing.assert_allclose(by_cvxopt(problem, counts, rows), smooth(counts, rows), atol=0.1)
    inside, corner = by_cvxopt_l1(problem, counts, rows), smooth(counts, rows, "l1")
    for found in (inside, corner):
        assert np.diff(found, prepend=0.0, append=rows).min() > -1e-3
    assert least_noise(counts - inside) == pytest.approx(least_noise(counts - corner), rel=1e-4)


def mean_of(trial, runs, *names, **settings):
    rows = [trial(DATA, trial=i, **settings) for i in range(runs)]
    return [float(np.mean([row[name] for row in rows])) for name in names]


@pytest.mark.parametrize(("relation", "most"), [("replace", 0.35), ("add-remove", 0.12)])
def test_a_distribution_beats_the_published_release(relation, most):
    settings = {"relation": relation, "rate": 3.0, "epsilon": 0.5, "linear": False}
    as_it_is, smoothed, quantile, ours, our_quantile = mean_of(
        experiments.ecdf_row, 5, "paper, as it is", "paper, p = 2", "paper, p = 2: quantile",
        "nolook, isotonic", "nolook, isotonic: quantile", **settings,
    )  # fmt: skip
    assert smoothed < as_it_is
    assert ours < most * smoothed
    assert our_quantile < quantile


def test_smoothed_and_unsmoothed_errors_are_of_one_release():
    settings = {"rate": 0.1, "epsilon": 0.05, "linear": False, "trial": 0}
    row = experiments.ecdf_row(DATA, relation="add-remove", **settings)
    # Isotonic regression never adds to the squared error of the same counts.
    assert row["paper, isotonic"] <= row["paper, as it is"]


@pytest.mark.parametrize("relation", ["replace", "add-remove"])
def test_curves_are_those_of_the_product(shared_data, relation):
    data = shared_data("framingham.parquet").parent
    table = scored("framingham", data)
    row = experiments.curves_row(data, "framingham", relation, 0.5)
    grids = {"isotonic": nolook.LinearGrid(1 / 256, 1, 1 / 256), "no grid given": None}
    for name, grid in grids.items():
        curve = nolook.ROCCurve(0.5, grid, relation=relation, random_state=2**20)
        curve.fit(table.scores, table.positive)
        np.testing.assert_allclose(row[f"nolook, {name}"], (curve.fpr_, curve.tpr_), atol=1e-5)


def test_quantiles_are_found_by_halves():
    shares = np.array([0.1, 0.1, 0.4, 0.9, 1.0])
    p = np.array([0.05, 0.1, 0.11, 0.4, 0.95, 1.0])
    assert experiments.inverse(shares, p).tolist() == np.searchsorted(shares, p).tolist()


def test_table_1_is_the_papers():
    path = DATA.parent / "papers" / "barczewski2024-dp-ecdf.txt"
    if not path.is_file():
        skip_or_fail("needs the text of the paper in ../shared/papers")
    text = path.read_text(encoding="utf-8")
    for title, rows, share, features in PAPER_TABLES.values():
        assert f"{title} {rows} {share:.3f} {features}\n" in text


def test_a_quick_run_makes_the_figures(shared_data, tmp_path):
    data = shared_data("framingham.parquet").parent
    main(PAPER, ["--quick", "--jobs", "1", "--data", str(data), "--out", str(tmp_path)])
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "Not made yet" not in text
    for number in range(1, 8):
        assert f"figure_{number}.svg" in text
        assert math.log10((tmp_path / f"figure_{number}.svg").stat().st_size) > 3
