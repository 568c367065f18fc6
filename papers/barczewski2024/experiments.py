"""The trials behind the paper's figures: settings in, one row out.

Every release is made under both relations. The paper's noise, of scale (L + 1)/epsilon, is enough
for either; it divides by the number of rows where that is public, and by its own noisy count
otherwise, as its ROC curves do. Errors are of shares.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from nolook.algorithms.calibration_table import CalibrationTable
from nolook.algorithms.ecdf import ecdf_release, release_counts
from nolook.algorithms.evaluation import ScoresRelease, calibration_release, scores_release
from nolook.algorithms.grids import LinearGrid
from nolook.algorithms.roc_curve import area
from nolook.privacy.guarantee import Budget, Relation
from nolook.privacy.noise import ByteSource, SeededSource
from nolook.tables import table_from_arrays
from papers.barczewski2024.cvxopt_smoothing import (
    Problem,
    by_cvxopt,
    by_cvxopt_l1,
    cvxopt_problem,
)
from papers.barczewski2024.hosmer_lemeshow import chi_squared, hosmer_lemeshow
from papers.barczewski2024.roc import roc_rates
from papers.barczewski2024.scores import PLACES, Scored, scored
from papers.barczewski2024.tree import tree_counts
from papers.barczewski2024.tree_smoothing import Smoothing, smooth
from papers.barczewski2024.unsmoothed import unsmoothed_counts, unsmoothed_curve
from papers.tables import read
from papers.trials import Experiment

__all__ = [
    "CURVES",
    "CURVE_EPSILONS",
    "EXPERIMENTS",
    "LEVEL",
    "RATES",
    "RELATIONS",
    "TABLES",
    "TRIALS",
]

Row = dict[str, Any]
Vector = NDArray[np.float64]
Rates = tuple[Vector, Vector]

RELATIONS: tuple[Relation, ...] = ("replace", "add-remove")
LEVEL = 15
GROUPS = 10
#: Figures 1, 8 and 9: the table and its epsilon.
CURVES = {1: ("framingham", 0.5), 8: ("bank_marketing", 0.2), 9: ("diabetes_readmission", 0.05)}

_GRID = LinearGrid(1, 2**LEVEL, 1)
_SCORES = LinearGrid(1 / 256, 1, 1 / 256)
_QUANTILES = (np.arange(1000) + 0.5) / 1000


def poisson_cells(rate: float, seed: int, level: int = LEVEL) -> NDArray[np.int64]:
    """Return how many values the paper's X(rate) has at each of its thresholds."""
    return np.random.default_rng(seed).poisson(rate, 1 << level)


@cache
def _problem(level: int) -> Problem:
    return cvxopt_problem(1 << level)


def _noise(trial: int) -> ByteSource:
    """Return a trial's noise: the same one for a release as it is and for its smoothed version."""
    return SeededSource(2**20 + trial)


def ecdf_row(
    data: Path,  # noqa: ARG001 -- every trial's
    relation: Relation,
    rate: float,
    epsilon: float,
    linear: bool,
    trial: int,
) -> Row:
    """Release the distribution of X(rate): squared errors of shares and quantiles (2 to 4).

    The linear programs of p = 1 are only solved if asked for: each takes seconds.
    """
    cells = poisson_cells(rate, trial)
    noisy = tree_counts(cells, epsilon, _noise(trial)).astype(np.float64)
    rows = float(cells.sum()) if relation == "replace" else max(1.0, noisy[-1])
    found = {"paper, as it is": noisy, "paper, p = 2": smooth(noisy, rows)}
    found["paper, isotonic"] = smooth(noisy, rows, "isotonic")
    if linear:
        found["paper, p = 1"] = by_cvxopt_l1(_problem(LEVEL), noisy, rows)
        found["paper, p = 1, corner"] = smooth(noisy, rows, "l1")
    shares = {name: counts / rows for name, counts in found.items()}
    plan = ecdf_release(Budget(epsilon), relation, [_GRID])
    ours = unsmoothed_counts(cells, plan, _noise(trial))
    shares["nolook, as it is"] = ours / ours[-1]
    (released,) = release_counts([cells], plan, _noise(trial))
    shares["nolook, isotonic"] = released.counts / released.rows
    exact = np.cumsum(cells) / np.sum(cells)
    places = inverse(exact, _QUANTILES)
    row: Row = {}
    for name, own in shares.items():
        row[name] = float(np.mean((own - exact) ** 2))
        moved = (inverse(own, _QUANTILES) - places) / len(cells)
        row[f"{name}: quantile"] = float(np.mean(moved**2))
    return row


def inverse(shares: Vector, p: Vector) -> NDArray[np.int64]:
    """Return the places of quantiles by Algorithm 1, which searches by halves."""
    low, high = np.full(len(p), -1), np.full(len(p), len(shares) - 1)
    while np.any(high - low > 1):
        middle = np.maximum((low + high) // 2, 0)
        below = shares[middle] < p
        low, high = np.where(below, middle, low), np.where(below, high, np.maximum(middle, low + 1))
    return high


def roc_row(data: Path, table: str, relation: Relation, epsilon: float, trial: int) -> Row:
    """Release ROC curves (figure 5): the area between each and the exact one, and the AUC's error.

    All are of the same guarantee; the paper gives each class half of epsilon.
    """
    exact = scored(table, data)
    row: Row = {}
    for name, (fpr, tpr) in _curves(exact, relation, epsilon, trial).items():
        row[name] = float(np.mean(np.abs(np.interp(PLACES, fpr, tpr) - exact.heights)))
        row[f"{name}: AUC"] = abs(area(fpr, tpr) - exact.auc)
    return row


def curves_row(data: Path, table: str, relation: Relation, epsilon: float) -> Row:
    """Draw one curve of each release, and the exact one (figures 1, 8 and 9)."""
    exact = scored(table, data)
    curves = _curves(exact, relation, epsilon, 0)
    few = np.unique(np.linspace(0, len(exact.fpr) - 1, 500).astype(int))
    curves["exact"] = exact.fpr[few], exact.tpr[few]
    X, y = read(table, data)
    about: Row = {"rows": len(y), "positive": float(np.mean(y == 1)), "features": X.shape[1]}
    return about | {name: np.round(rates, 5).tolist() for name, rates in curves.items()}


def _curves(exact: Scored, relation: Relation, epsilon: float, trial: int) -> dict[str, Rates]:
    points = _SCORES.points()
    paper: dict[str, Smoothing] = {"as it is": None, "p = 1": "l1", "p = 2": "l2"}
    curves = {
        f"paper, {title}": roc_rates(
            exact.scores, exact.positive, points, epsilon, _noise(trial), norm
        )
        for title, norm in paper.items()
    }
    rows = table_from_arrays(exact.scores[:, np.newaxis], exact.positive)
    plan = scores_release(epsilon, relation, _SCORES)
    found = plan.run(rows, _noise(trial), lambda _: None).curve
    curves["nolook, as it is"] = unsmoothed_curve(found).rates
    curves["nolook, isotonic"] = found.rates
    found = scores_release(epsilon, relation).run(rows, _noise(trial), lambda _: None).curve
    curves["nolook, no grid given"] = found.rates
    return curves


def calibration_row(data: Path, table: str, relation: Relation, epsilon: float, trial: int) -> Row:
    """Release the Hosmer-Lemeshow statistic (figures 6 and 10), and p-values.

    H is exact between the exact deciles, so errors count those of private borders as well.
    """
    exact, source = scored(table, data), _noise(trial)
    row: Row = {"exact": exact_statistic(exact)}
    for name, literal in {"paper": False, "paper, literally": True}.items():
        row[name] = hosmer_lemeshow(
            exact.scores, exact.positive, GROUPS, epsilon, source, literal=literal
        )
    plan = calibration_release(epsilon, GROUPS, relation)
    found = _groups(plan, exact.scores, exact.positive, source)
    expected = found.expected_positives, found.counts - found.expected_positives
    row["nolook, H as in the paper"] = chi_squared(found.positives, found.negatives, *expected)
    row["nolook"] = found.statistic
    row["p-value"] = found.p_value
    labels = np.random.default_rng(trial).random(len(exact.scores)) < exact.scores
    row["p-value, labels drawn"] = _groups(plan, exact.scores, labels, source).p_value
    return row


def _groups(
    plan: ScoresRelease, scores: Vector, positive: NDArray[np.bool_], source: ByteSource
) -> CalibrationTable:
    """Release the groups of probabilities."""
    table = table_from_arrays(scores[:, np.newaxis], positive)
    return cast("CalibrationTable", plan.run(table, source, lambda _: None).table)


def exact_statistic(table: Scored) -> float:
    """Return H between the exact deciles."""
    deciles = np.quantile(table.scores, np.arange(1, GROUPS) / GROUPS)
    group = np.searchsorted(deciles, table.scores)
    observed = np.bincount(group, table.positive).astype(np.float64)
    expected = np.bincount(group, table.scores).astype(np.float64)
    rows = np.bincount(group).astype(np.float64)
    return chi_squared(observed, rows - observed, expected, rows - expected)


def time_row(data: Path, program: str, level: int, trial: int) -> Row:  # noqa: ARG001
    """Measure the seconds of one smoothing of X(3) at epsilon = 0.5 (figure 7)."""
    noisy = tree_counts(poisson_cells(3.0, trial, level), 0.5, _noise(trial))
    counts, rows = noisy.astype(np.float64), float(max(noisy[-1], 1))
    smoothing = _PROGRAMS[program]
    smoothing(3, np.arange(1.0, 9.0), 8.0)  # compiles, loads
    _problem(level)  # the same for all counts
    start = time.perf_counter()
    smoothing(level, counts, rows)
    return {"took": time.perf_counter() - start}


_PROGRAMS: dict[str, Callable[[int, Vector, float], Vector]] = {
    "nolook, p = 2": lambda _, counts, rows: smooth(counts, rows),
    "nolook, isotonic": lambda _, counts, rows: smooth(counts, rows, "isotonic"),
    "nolook, p = 1 (HiGHS)": lambda _, counts, rows: smooth(counts, rows, "l1"),
    "cvxopt, p = 2": lambda level, counts, rows: by_cvxopt(_problem(level), counts, rows),
    "cvxopt, p = 1": lambda level, counts, rows: by_cvxopt_l1(_problem(level), counts, rows),
}


TRIALS = 50
TABLES = ("framingham", "bank_marketing", "diabetes_readmission")
CURVE_EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
RATES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
ROC_EPSILONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
GROUP_EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0)
FAST_LEVELS = (8, 10, 12, 14, 15, 16, 18, 20)
SLOW_LEVELS = FAST_LEVELS[:5]


def _ecdfs(quick: bool) -> list[dict[str, Any]]:
    settings = [(3.0, epsilon) for epsilon in CURVE_EPSILONS]
    settings += [(rate, 1.0) for rate in RATES if rate != 3.0]
    return [
        {
            "relation": relation,
            "rate": rate,
            "epsilon": epsilon,
            "linear": relation == "replace",
            "trial": trial,
        }
        for trial in range(1 if quick else TRIALS)
        for rate, epsilon in ([(3.0, 1.0), (1.0, 1.0)] if quick else settings)
        for relation in RELATIONS
    ]


def _rocs(quick: bool) -> list[dict[str, Any]]:
    return [
        {"table": table, "relation": relation, "epsilon": epsilon, "trial": trial}
        for trial in range(2 if quick else TRIALS)
        for table in (TABLES[:1] if quick else TABLES)
        for epsilon in (ROC_EPSILONS[-2:] if quick else ROC_EPSILONS)
        for relation in RELATIONS
    ]


def _curve_settings(quick: bool) -> list[dict[str, Any]]:
    return [
        {"table": table, "relation": relation, "epsilon": epsilon}
        for table, epsilon in (list(CURVES.values())[:1] if quick else CURVES.values())
        for relation in RELATIONS
    ]


def _calibrations(quick: bool) -> list[dict[str, Any]]:
    return [
        {"table": table, "relation": relation, "epsilon": epsilon, "trial": trial}
        for trial in range(2 if quick else TRIALS)
        for table in (TABLES[1:2] if quick else TABLES[1:])
        for epsilon in (GROUP_EPSILONS[-2:] if quick else GROUP_EPSILONS)
        for relation in RELATIONS
    ]


def _times(quick: bool) -> list[dict[str, Any]]:
    return [
        {"program": program, "level": level, "trial": trial}
        for trial in range(1 if quick else 3)
        for program in _PROGRAMS
        for level in (FAST_LEVELS if program in FAST else SLOW_LEVELS)
        if level <= (10 if quick else 20)
    ]


#: Programs that smooth a million counts within seconds.
FAST = ("nolook, p = 2", "nolook, isotonic")

EXPERIMENTS = (
    Experiment("curves", (1, 8, 9), curves_row, _curve_settings),
    Experiment("roc", (5,), roc_row, _rocs),
    Experiment("calibration", (6, 10), calibration_row, _calibrations),
    Experiment("ecdf", (2, 3, 4), ecdf_row, _ecdfs),
    Experiment("times", (7,), time_row, _times, alone=True),
)
