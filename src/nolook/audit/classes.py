"""Audits of the sums over rows of two classes that a logistic regression is made of."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nolook.audit.audit_case import Case, gaussian_case
from nolook.audit.gaussian_sums import matrices, vectors
from nolook.statistics.class_counts import ClassBalance, ScoreCounts, balance_sensitivity
from nolook.statistics.design_moments import DesignMoments, gram_sensitivity
from nolook.statistics.grid_models import ClassModel, RowBlock, grid_model
from nolook.statistics.histograms import histograms_sensitivity
from nolook.statistics.weighted_rows import (
    SCORE_UNIT,
    ModelCurvature,
    UnitProducts,
    curvature_sensitivity,
    unit_products_sensitivity,
    unit_scores,
)

__all__ = ["cases"]

Sums: TypeAlias = ClassBalance | UnitProducts | ModelCurvature | ScoreCounts

_UNIT = 2**10
# A constant, and five features that are twice as long together.
_ROW = np.array([_UNIT, *np.full(4, _UNIT), 0], dtype=np.int16)
_RADIUS = 5 * _UNIT**2
# As long, with one feature.
_SHORT = np.array([_UNIT, 2 * _UNIT], dtype=np.int16)
_UNLIKELY = np.array([0.0, *np.full(4, -125.0), 0.0])


def cases(mu: float) -> tuple[Case, ...]:
    """Return the cases at a mu, the parameter of Gaussian differential privacy."""
    case = gaussian_case(mu)
    gradient, curvature = unit_products_sensitivity(_RADIUS), curvature_sensitivity(_RADIUS)
    counts = histograms_sensitivity(1, "add-remove")
    # At log-odds of -500 class 1 is all but impossible; at 0 both are as likely.
    unlikely, even = _model(_UNLIKELY), _model(np.zeros(2))
    scored = _model(1.0 / np.arange(3.0, 9.0))
    edge = scored.predictors(_block(1))
    return (
        case(
            name="class-balance",
            neighbours="a row of class 1 more",
            covers=("gaussian_release", "balance_sensitivity"),
            draw=vectors(mu, balance_sensitivity(), *(_of(ClassBalance(), n) for n in (1, 0))),
        ),
        case(
            name="unit-products",
            neighbours="a row of the largest norm and of a class that the model rules out",
            covers=("gaussian_release", "unit_products_sensitivity"),
            draw=vectors(mu, gradient, *(_of(UnitProducts(unlikely), n) for n in (1, 0))),
        ),
        case(
            name="unit-scores",
            neighbours="a row of the largest norm and of a class that the model rules out",
            covers=("symmetric_gaussian_release", "gram_sensitivity"),
            draw=matrices(mu, gram_sensitivity(SCORE_UNIT**2), *map(_scores, (1, 0))),
        ),
        case(
            name="model-curvature",
            neighbours="a row of the largest norm with even odds",
            covers=("symmetric_gaussian_release", "curvature_sensitivity"),
            draw=matrices(mu, curvature, *(_of(ModelCurvature(even), n, _SHORT) for n in (1, 0))),
        ),
        case(
            name="class-scores",
            neighbours="the first of many equal rows on the edge of a bin",
            covers=("gaussian_release", "histograms_sensitivity"),
            draw=vectors(mu, counts, *(_of(ScoreCounts(scored, edge), n) for n in (19, 18))),
        ),
    )


def _model(theta: NDArray[np.float64]) -> ClassModel:
    return ClassModel(*grid_model(theta, _RADIUS), _UNIT)


def _block(rows: int, row: NDArray[np.int16] = _ROW) -> RowBlock:
    """Return equal rows of class 1."""
    squares = np.full(rows, 4 * _UNIT**2, dtype=np.int32)
    return RowBlock(np.repeat(row[:, np.newaxis], rows, axis=1), squares, *np.ones((2, rows)))


def _of(statistic: Sums, rows: int, row: NDArray[np.int16] = _ROW) -> NDArray[Any]:
    return np.asarray(statistic.update(*_block(rows, row)).value)


def _scores(rows: int) -> NDArray[np.object_]:
    scores = unit_scores(_model(_UNLIKELY), _RADIUS, _block(rows))
    return DesignMoments(_ROW.size, SCORE_UNIT**2).update(scores).value
