"""Scores of logistic regressions on the paper's tables, with their labels and exact curves.

The regression is fitted without privacy on the whole table and scores the same rows, as in the
paper. That only shows the size of the noise; on rows that matter it would give them away.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from attrs import frozen
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nolook.tables.folding import S
from papers.tables import DATA, read

__all__ = ["PLACES", "Scored", "scored"]

Vector = NDArray[np.float64]

#: False positive rates at which curves are compared.
PLACES = np.linspace(0.0, 1.0, 4001)


@frozen
class Scored:
    """Scores with labels, and the exact curve: its rates, the area and its height at PLACES."""

    scores: Vector
    positive: NDArray[np.bool_]
    fpr: Vector
    tpr: Vector
    auc: float
    heights: Vector

    def fold(self, statistic: S) -> S:
        """Feed a statistic all rows in one batch."""
        return statistic.update(self.scores, self.positive, None)


@cache
def scored(name: str, data: Path = DATA) -> Scored:
    """Fit a logistic regression to a table and score its rows."""
    X, y = read(name, data)
    positive = y == 1
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(X, positive)
    scores = model.predict_proba(X)[:, 1]
    fpr, tpr, _ = roc_curve(positive, scores)
    auc = float(roc_auc_score(positive, scores))
    return Scored(scores, positive, fpr, tpr, auc, np.interp(PLACES, fpr, tpr))
