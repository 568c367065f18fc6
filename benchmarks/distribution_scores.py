"""ROC curves of logistic regressions on real tables: private ones against the exact ones.

The regression is fitted without privacy on the whole table and scores the same rows, as in the
paper. That only shows the size of the noise; on rows that matter it would give them away.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nolook
from benchmarks.harness import DATA
from nolook.algorithms.roc import release_roc, roc_plan, search_grid
from nolook.algorithms.roc_curve import RocCurve, area
from nolook.privacy.noise import SeededSource
from papers.barczewski2024 import roc_rates

TABLES = ("framingham", "bank_marketing", "diabetes_readmission")
GRID = nolook.LinearGrid(1 / 256, 1, 1 / 256)
PLACES = np.linspace(0.0, 1.0, 4001)
PUBLISHED = "paper's constants"
METHODS = ("grid", "grid, unsmoothed", "no grid", PUBLISHED)


@dataclass(frozen=True)
class Scored:
    """Scores with labels, and the exact curve: its rates, the area and its height at PLACES."""

    scores: np.ndarray
    positive: np.ndarray
    fpr: np.ndarray
    tpr: np.ndarray
    auc: float
    heights: np.ndarray

    def fold(self, statistic):
        """Feed a statistic all rows in one batch."""
        return statistic.update(self.scores, self.positive, None)


def scored(name):
    """Fit a logistic regression to a table and score its rows."""
    frame = pd.read_parquet(DATA / f"{name}.parquet").astype(float)
    X, y = frame.drop(columns="target").to_numpy(), frame["target"].to_numpy() == 1
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(X, y)
    scores = model.predict_proba(X)[:, 1]
    fpr, tpr, _ = roc_curve(y, scores)
    return Scored(scores, y, fpr, tpr, roc_auc_score(y, scores), np.interp(PLACES, fpr, tpr))


def rates(table, method, epsilon, seed):
    """Return the rates that nolook.ROCCurve releases under the paper's relation, replacement."""
    source = SeededSource(seed)
    if method == PUBLISHED:
        return roc_rates(table.scores, table.positive, GRID.points(), epsilon, source)
    plan = roc_plan(epsilon, "replace", None if method == "no grid" else len(GRID.points()))
    grid = GRID if plan.search is None else search_grid(table, plan, source, lambda _: None)
    smoothing = None if method == "grid, unsmoothed" else "isotonic"
    return RocCurve(*release_roc(table, grid.points(), plan, smoothing, source)).rates


def roc_errors(table, method, epsilon, runs):
    """Return the mean area between private and exact curve, and the mean error of the AUC."""
    errors = []
    for seed in range(runs):
        fpr, tpr = rates(table, method, epsilon, seed)
        between = np.mean(np.abs(np.interp(PLACES, fpr, tpr) - table.heights))
        errors.append((between, abs(area(fpr, tpr) - table.auc)))
    return np.mean(errors, axis=0)
