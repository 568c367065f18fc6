"""The trials behind the paper's figures and table: settings in, one row out.

Every trial draws its own noise, and its own blocks for the two-stage method. What is stored is what
was chosen, so that any truth can be compared with it afterwards.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolook.algorithms.screening import Scores, TopK, rank_scores, screen
from nolook.privacy.guarantee import PureEvent
from nolook.privacy.noise import ByteSource, SeededSource
from nolook.tables import table_from_arrays
from papers.swope2024.quality import is_good, is_great, is_top
from papers.swope2024.screening import published_scores
from papers.swope2024.tables import (
    MICROARRAYS,
    SYNTHETIC,
    TABLES,
    VARIANTS,
    load,
    microarray,
    proxy,
)
from papers.swope2024.two_stage import block_sizes, count_votes, two_stage_votes
from papers.trials import Experiment

__all__ = [
    "EPSILONS",
    "EXPERIMENTS",
    "KENDALL",
    "MECHANISMS",
    "PUBLISHED",
    "QUALITIES",
    "QUALITY_K",
    "REPETITIONS",
    "SCORES",
    "STABLE_K",
    "STEP",
    "TWO_STAGE",
    "WEIGHTS",
]

Row = dict[str, Any]
Vector = NDArray[np.float64]

EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 20.0)
MECHANISMS: tuple[TopK, ...] = ("canonical-lipschitz", "peeling")
TWO_STAGE, PUBLISHED, KENDALL = "two-stage", "DP-SIS as published", "Kendall"
SCORES = (TWO_STAGE, PUBLISHED, KENDALL)

QUALITY_K = 10
QUALITIES = {"TOP": is_top, "GREAT": is_great, "GOOD": is_good}

#: Figure 1's targets: all rows by the first features, or one row of ten by the last ones.
WEIGHTS = ("W1", "W1/W2")
STABLE_K = 5
_SQUARE = 10  # figure 1's blocks, and the rows of each

TRIALS = 100
REPETITIONS = 1000  # of figure 1
STEP = 50  # of them in a row


def proxy_row(data: Path, table: str, variant: str) -> Row:
    """Fit a Lasso that stands for the truth (table 1): its R2 and its features, the best first."""
    order, r2 = proxy(*microarray(table, data), variant)
    return {"r2": r2, "features": order.tolist()}


def selection_row(data: Path, table: str, score: str, trial: int) -> Row:
    """Choose features once for both k, at every epsilon, by both mechanisms (figures 2 to 7)."""
    screened, source = load(table, data), SeededSource(_seed(table, score, trial))
    if score == TWO_STAGE:
        scores = two_stage_votes(screened.X, screened.y, screened.sizes, source)
    else:
        scores = dict.fromkeys(screened.sizes, _scores(data, table, score))
    return {
        mechanism: [
            [_draw(mechanism, scores[k], k, epsilon, source).tolist() for epsilon in EPSILONS]
            for k in screened.sizes
        ]
        for mechanism in MECHANISMS
    }


def _draw(
    mechanism: TopK, scores: Scores, k: int, epsilon: float, source: ByteSource
) -> NDArray[np.int64]:
    return screen(scores, k, PureEvent("features", epsilon), mechanism, source)


def noiseless_row(data: Path, table: str, score: str) -> Row:
    """Choose the features of the largest scores, for both k."""
    order = np.argsort(-_scores(data, table, score).values, kind="stable")
    return {"chosen": [order[:k].tolist() for k in load(table, data).sizes]}


def quality_row(data: Path, table: str, score: str, trial: int) -> Row:
    """Tell whether ten features are TOP, GREAT and GOOD by the scores themselves (figure 8)."""
    scores, source = _scores(data, table, score), SeededSource(_seed(table, score, trial))
    row: Row = {}
    for mechanism in MECHANISMS:
        drawn = [_draw(mechanism, scores, QUALITY_K, e, source) for e in EPSILONS]
        for quality, holds in QUALITIES.items():
            row[f"{mechanism}: {quality}"] = [holds(scores.values, chosen) for chosen in drawn]
    return row


def stability_row(data: Path, weights: str, first: int) -> Row:  # noqa: ARG001 -- every trial's
    """Count how often each of 100 features is among five chosen without any noise (figure 1)."""
    counts = {TWO_STAGE: np.zeros(_SQUARE**2, int), "SIS": np.zeros(_SQUARE**2, int)}
    for repetition in range(first, first + STEP):
        for name, scores in _noiseless_scores(weights, repetition).items():
            counts[name][np.argsort(-scores)[:STABLE_K]] += 1
    return {name: own.tolist() for name, own in counts.items()}


def _noiseless_scores(weights: str, repetition: int) -> dict[str, Vector]:
    d = n = _SQUARE**2
    generator = np.random.default_rng([repetition, WEIGHTS.index(weights)])
    X = generator.normal(size=(n, d))
    used = np.zeros((n, d))
    used[:, :STABLE_K] = 1.0
    if weights == "W1/W2":
        used[_SQUARE - 1 :: _SQUARE] = used[0, ::-1]  # one row of every block
    y = (X * used).sum(axis=1) + generator.normal(0.0, math.sqrt(0.1), n)
    sizes = block_sizes(X, y, np.arange(n) // _SQUARE, _SQUARE)
    votes = count_votes(sizes, STABLE_K) + generator.random(d) / 2  # ties by chance
    correlations = np.abs((X - X.mean(axis=0)).T @ (y - y.mean())) / X.std(axis=0)
    return {TWO_STAGE: votes, "SIS": correlations}


def _seed(table: str, score: str, trial: int) -> int:
    """Return a seed of a trial's own."""
    return (TABLES.index(table) * len(SCORES) + SCORES.index(score)) * 2**20 + trial


@cache
def _scores(data: Path, table: str, score: str) -> Scores:
    screened = load(table, data)
    rows = table_from_arrays(screened.X, screened.y)
    return published_scores(rows) if score == PUBLISHED else rank_scores(rows)


_FEW = ("sorlie", SYNTHETIC)  # of a quick run
#: Figure 8: Chin is not there; the first has nearly as many rows and columns.
QUALITY_TABLES = ("chowdary", "christensen")


def _proxies(quick: bool) -> list[dict[str, Any]]:
    tables = ("sorlie",) if quick else MICROARRAYS
    return [{"table": table, "variant": variant} for table in tables for variant in VARIANTS]


def _selections(quick: bool) -> list[dict[str, Any]]:
    return [
        {"table": table, "score": score, "trial": trial}
        for trial in range(2 if quick else TRIALS)
        for table in (_FEW if quick else TABLES)
        for score in SCORES
    ]


def _noiseless(quick: bool) -> list[dict[str, Any]]:
    return [
        {"table": table, "score": score}
        for table in (_FEW if quick else TABLES)
        for score in SCORES[1:]
    ]


def _qualities(quick: bool) -> list[dict[str, Any]]:
    return [
        {"table": table, "score": score, "trial": trial}
        for trial in range(2 if quick else TRIALS)
        for table in (_FEW[:1] if quick else QUALITY_TABLES)
        for score in SCORES[1:]
    ]


def _stabilities(quick: bool) -> list[dict[str, Any]]:
    return [
        {"weights": weights, "first": first}
        for first in range(0, STEP if quick else REPETITIONS, STEP)
        for weights in WEIGHTS
    ]


EXPERIMENTS = (
    Experiment("stability", (1,), stability_row, _stabilities),
    Experiment("proxy", (2, 3, 4, 5, 6, 7), proxy_row, _proxies),
    Experiment("noiseless", (2, 3, 4, 5, 6, 7), noiseless_row, _noiseless),
    Experiment("selection", (2, 3, 4, 5, 6, 7), selection_row, _selections),
    Experiment("quality", (8,), quality_row, _qualities),
)
