"""Audited: every public estimator, from the table to a number that its users see.

A whole release shows less of a record than its parts: the budget is split over them, and one
number of the result says little. So these audits have less power than those of the parts, and
state it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from nolook.algorithms.grids import LinearGrid
from nolook.audit.case import Case, Vector, one_by_one
from nolook.estimators.adassp import AdaSSPRegressor
from nolook.estimators.boosted import BoostedAdaSSPRegressor
from nolook.estimators.calibration import HosmerLemeshow
from nolook.estimators.dpsgd import DPSGDRegressor
from nolook.estimators.ecdf import ECDF
from nolook.estimators.kendall import KendallSelector
from nolook.estimators.lasso import LassoSelector
from nolook.estimators.linear import LinearRegression
from nolook.estimators.pipeline import PrivatePipeline, make_private_pipeline
from nolook.estimators.quantiles import Quantiles, quantiles
from nolook.estimators.roc import ROCCurve
from nolook.estimators.scaler import QuantileScaler
from nolook.estimators.sis import SISSelector
from nolook.estimators.tukey import TukeyRegressor
from nolook.privacy.accounting import gaussian_mu
from nolook.privacy.guarantee import Budget
from nolook.privacy.noise import ByteSource

__all__ = ["cases"]

#: Fits on each table.
_RUNS = 2_000

# Budgets are large: smaller ones cannot be seen with so few fits.
_EPSILON = 8.0
_DELTA = 1e-2
_PURE_EPSILON = 2.0

Tables: TypeAlias = tuple[tuple[Any, ...], tuple[Any, ...]]
Score: TypeAlias = Callable[[Any], float]


def cases() -> tuple[Case, ...]:
    """Return the cases; their budgets are fixed.

    Returns
    -------
    tuple of Case
    """
    mu = gaussian_mu(Budget(_EPSILON, _DELTA))
    far = _far_row()
    return (
        _case(
            "QuantileScaler",
            _whole(QuantileScaler),
            "one more of two equal rows",
            ((np.full((2, 1), 1.5),), (np.full((3, 1), 1.5),)),
            _scale,
            mu,
        ),
        _case("LinearRegression", _whole(LinearRegression), _FAR, far, _slope, mu),
        _case("AdaSSPRegressor", _whole(AdaSSPRegressor), _FAR, far, _slope, mu),
        _case(
            "BoostedAdaSSPRegressor",
            _whole(BoostedAdaSSPRegressor, n_rounds=10),
            _FAR,
            far,
            _slope,
            mu,
        ),
        _case("DPSGDRegressor", _whole(DPSGDRegressor, n_steps=10), _FAR, far, _slope),
        _case(
            "TukeyRegressor",
            _whole(TukeyRegressor, n_models=100, on_failure="constant"),
            _FAR,
            far,
            _slope,
        ),
        *_selectors(),
        *_distributions(),
    )


def _selectors() -> tuple[Case, ...]:
    order = _against_the_order()
    return (
        _case("PrivatePipeline", _whole(_pipeline), _ORDER, order, _chosen),
        _case("KendallSelector", _pure(KendallSelector, k=1), _ORDER, order, _chosen),
        _case("SISSelector", _pure(SISSelector, k=1), _ORDER, order, _chosen),
        _case(
            "LassoSelector",
            _pure(LassoSelector, k=1, n_models=4),
            "a row that turns the vote of its block",
            _turned_vote(),
            _chosen,
        ),
    )


def _distributions() -> tuple[Case, ...]:
    return (
        _case(
            "ECDF",
            _pure(ECDF, grid=LinearGrid(0.0, 1.0, 1.0)),
            "a value more in the first of two cells",
            ((np.zeros(3),), (np.zeros(4),)),
            _first_cell,
        ),
        _case(
            "ECDF-replace",
            _pure(ECDF, grid=LinearGrid(0.0, 1.0, 1.0), relation="replace"),
            "a value moved from the first of two cells to the second",
            ((np.array([0.0, 0.0, 0.0]),), (np.array([0.0, 0.0, 1.0]),)),
            _first_cell,
        ),
        _case(
            "quantiles",
            _pure(_Quantiles),
            "a value below all others",
            ((np.ones((8, 1)),), (np.append(np.ones(8), 0.0)[:, np.newaxis],)),
            _low_quantile,
        ),
        _case(
            "ROCCurve",
            _pure(ROCCurve, grid=LinearGrid(0.0, 1.0, 1.0)),
            "a positive row more with the lowest score",
            _scored(),
            _first_rate,
        ),
        _case(
            "ROCCurve-replace",
            _pure(ROCCurve, grid=LinearGrid(0.0, 1.0, 1.0), relation="replace"),
            "the label of a row with the lowest score",
            _relabelled(),
            _first_rate,
        ),
        _case(
            "HosmerLemeshow",
            _pure(HosmerLemeshow, groups=2),
            "a positive row more with the lowest probability",
            _scored(),
            _positives,
        ),
    )


def _whole(make: Callable[..., Any], **parameters: object) -> partial[Any]:
    return partial(make, epsilon=_EPSILON, delta=_DELTA, **parameters)


def _pure(make: Callable[..., Any], **parameters: object) -> partial[Any]:
    return partial(make, epsilon=_PURE_EPSILON, **parameters)


def _case(
    name: str,
    make: partial[Any],
    neighbours: str,
    tables: Tables,
    score: Score,
    mu: float | None = None,
) -> Case:
    """Return the case of one estimator, whose promise is its budget or the `mu` of that."""
    relation = make.keywords.get("relation", "add-remove")

    def one(table: int, source: ByteSource) -> float:
        seed = int(source.words(1)[0])
        return score(make(random_state=seed).fit(*tables[table]))

    return Case(
        name,
        neighbours,
        relation,
        "epsilon" if mu is None else "mu",
        make.keywords["epsilon"] if mu is None else mu,
        (name.removesuffix("-replace"),),
        one_by_one(one),
        delta=0.0 if mu is not None else make.keywords.get("delta", 0.0),
        runs=_RUNS,
        power=0.0,
    )


def _pipeline(epsilon: float, delta: float, random_state: int) -> PrivatePipeline:
    return make_private_pipeline(
        KendallSelector(1, random_state=random_state),
        AdaSSPRegressor(random_state=random_state),
        epsilon=epsilon,
        delta=delta,
        split=0.9,
    )


class _Quantiles:
    """The function :func:`nolook.quantiles` as an estimator."""

    def __init__(self, epsilon: float, random_state: int) -> None:
        self._ask = partial(
            quantiles,
            p=[0.1],
            grids={"x0": LinearGrid(0.0, 1.0, 1.0)},
            epsilon=epsilon,
            random_state=random_state,
        )

    def fit(self, values: Vector) -> Quantiles:
        """Return the first deciles."""
        return self._ask(values)


_FAR = "a row far from all others, with a label as far on the other side"
_ORDER = "a row against the order in the best of two columns, with it in the other"


def _far_row() -> Tables:
    rows = np.linspace(-1.0, 1.0, 300)
    far = np.append(rows, 1e6)
    return (rows[:, np.newaxis], rows), (far[:, np.newaxis], np.append(rows, -1e6))


def _against_the_order() -> Tables:
    rows = np.arange(6.0)
    X = np.column_stack([rows, np.zeros(6)])
    return (X, rows), (np.vstack([X, [-1.0, 1.0]]), np.append(rows, 6.0))


def _turned_vote() -> Tables:
    X, y = np.zeros((120, 2)), np.zeros(120)
    X[::2, 0] = y[::2] = 1.0
    return (X, y), (np.vstack([X, [0.0, 1e6]]), np.append(y, 1e6))


def _scored() -> Tables:
    scores, labels = np.repeat([0.0, 1.0], 4), np.tile([0, 1], 4)
    return (scores, labels), (np.append(scores, 0.0), np.append(labels, 1))


def _relabelled() -> Tables:
    scores, labels = np.repeat([0.0, 1.0], 4), np.tile([0, 1], 4)
    changed = labels.copy()
    changed[0] = 1
    return (scores, labels), (scores, changed)


def _scale(fitted: Any) -> float:  # noqa: ANN401
    return float(fitted.scale_[0])


def _slope(fitted: Any) -> float:  # noqa: ANN401
    return float(fitted.coef_[0])


def _chosen(fitted: Any) -> float:  # noqa: ANN401
    return float(fitted.support_[0])


def _first_cell(fitted: Any) -> float:  # noqa: ANN401
    return float(fitted.cdf(0.0) * fitted.n_samples_)


def _low_quantile(found: Any) -> float:  # noqa: ANN401
    return float(np.ravel(found.values)[0])


def _first_rate(fitted: Any) -> float:  # noqa: ANN401
    return float(fitted.positive_.cdf(0.0) * fitted.n_positive_)


def _positives(fitted: Any) -> float:  # noqa: ANN401
    return float(fitted.table_.positives[0])
