"""Private ROC curves: the error of the area, and how often the 95 % intervals hold the exact curve.

Scores of known shapes and of logistic regressions on real tables. An interval is for the exact
curve of the same rows on the same grid, found or given; it says nothing of a larger population.

    python -m benchmarks.roc [--output FILE] [--runs 400]
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

import nolook
from benchmarks.distribution_scores import GRID, scored
from benchmarks.harness import main
from nolook.algorithms.roc import release_roc, roc_plan, search_grid
from nolook.algorithms.roc_curve import ClassScores, RocCurve, area
from nolook.privacy.noise import SeededSource
from nolook.statistics.cell_counts import CellCounts

ERROR_TABLES = ("framingham", "bank_marketing", "diabetes_readmission")
ERROR_EPSILON = 0.1
ROWS = (500, 2000, 5000, 20_000)
EPSILONS = (0.1, 0.3, 1.0)
POSITIVES = (0.02, 0.1, 0.5)
RELATIONS = ("add-remove", "replace")
SHAPES = ("normal", "atoms", "framingham", "bank_marketing")
MAX_FPR = 0.2
NAMES = ("AUC", "partial AUC", "band", "average precision")


@dataclass(frozen=True)
class Setting:
    """A table, a budget, and whether the grid is given or found."""

    rows: int
    epsilon: float
    positives: float
    relation: str
    shape: str
    given: bool


def settings():
    """Return all of numbers of rows, epsilons, shares and relations; shapes and grids in turn."""
    everything = itertools.product(ROWS, EPSILONS, POSITIVES, RELATIONS)
    kinds = itertools.cycle(itertools.product(SHAPES, (True, False)))
    # A stride that has no factor in common with the numbers above, so that all meet all.
    return [Setting(*each, *next(itertools.islice(kinds, 4, None))) for each in everything]


def table(setting, real):
    """Return scores and whether rows are positive, and the grid if it is given."""
    generator = np.random.default_rng(setting.rows)
    positive = np.arange(setting.rows) < round(setting.positives * setting.rows)
    if setting.shape in real:
        given = real[setting.shape]
        classes = (given.scores[given.positive], given.scores[~given.positive])
        scores = np.where(positive, *(generator.choice(each, setting.rows) for each in classes))
        return scores, positive, nolook.LinearGrid(1 / 128, 1, 1 / 128)
    scores = generator.normal(size=setting.rows) + positive
    if setting.shape == "atoms":
        return np.round(scores + 2).clip(0, 6), positive, nolook.LinearGrid(0, 6, 1)
    return scores, positive, nolook.LinearGrid(-4, 5, 9 / 127)


def exact_curve(curve, scores, positive):
    """Return the curve of the same rows on the same grid, without noise."""
    classes = []
    for found, chosen in ((curve.positive, positive), (curve.negative, ~positive)):
        counted = CellCounts(found.points)
        counted.update(scores[chosen])
        counts = np.cumsum(counted.value).astype(float)
        classes.append(ClassScores(found.points, counts, counts[-1], found.noise, counts))
    return RocCurve(*classes)


def covered(setting, rows, seed):
    """Return what share of each kind of interval holds the exact number, and their widths."""
    scores, positive, grid = rows
    curve = nolook.ROCCurve(
        setting.epsilon,
        grid if setting.given else None,
        relation=setting.relation,
        random_state=seed,
    ).fit(scores, positive)
    exact = exact_curve(curve._curve, scores, positive)
    part = curve._curve.partial_area(MAX_FPR)
    fpr, low, high = curve.band_[:, 1:-1]
    heights = np.interp(fpr, *exact.rates)
    ends = [
        (*curve.auc_interval_, area(*exact.rates)),
        (part.low, part.high, exact.partial_area(MAX_FPR).value),
        (low, high, heights),
        (*curve.average_precision_interval_, exact.average_precision),
    ]
    # Numbers that agree are not told apart by rounding.
    hits = [np.mean((low - 1e-9 <= x) & (x <= high + 1e-9)) for low, high, x in ends]
    return hits, [np.mean(high - low) for low, high, _ in ends]
