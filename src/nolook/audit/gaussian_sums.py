"""Audits of Gaussian noise: on sums of histograms, moments and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from nolook._arrays import Integers, Matrix
from nolook._unit import WHOLE
from nolook.algorithms.level_search import MOST_OF_A_UNIT, level_weights
from nolook.audit.audit_case import Case, Draws, Vector, gaussian_case, one_by_one
from nolook.kernels.histogram import magnitude_counts
from nolook.privacy.mechanisms.gaussian import gaussian_release, symmetric_gaussian_release
from nolook.privacy.noise import ByteSource, SeededSource
from nolook.statistics.cell_counts import node_counts_l2_sensitivity
from nolook.statistics.design_moments import (
    DesignMoments,
    eigenvalue_sensitivity,
    gram_sensitivity,
    product_sensitivity,
    smallest_eigenvalue,
)
from nolook.statistics.grid_models import CountModel, GridModel, RowBlock, grid_model
from nolook.statistics.group_totals import (
    GroupCounts,
    Grouping,
    GroupMoments,
    moments_l2_sensitivity,
)
from nolook.statistics.held_out import HeldOutErrors, held_out_sensitivity
from nolook.statistics.histograms import Histograms, histograms_sensitivity
from nolook.statistics.weighted_rows import (
    SCORE_RADIUS,
    ClippedProducts,
    ModelDeviances,
    ModelErrors,
    ProductSizes,
    UnitProducts,
    clipped_products_sensitivity,
    clipped_scores,
    deviances_sensitivity,
    errors_sensitivity,
)
from nolook.tables import read_table

__all__ = ["cases", "matrices", "vectors"]

Exact: TypeAlias = NDArray[np.object_] | Integers

_CHUNK = 2**21  # entries drawn at once
_ROW_UNIT = 2**10  # of rows of a design
# Rows of a unit, and what each weighs.
_UNIT_ROWS = 1_000
_SHARE = WHOLE // _UNIT_ROWS
_UNIT = f"a unit of {_UNIT_ROWS:,} rows more"


def cases(mu: float) -> tuple[Case, ...]:
    """Return the cases at a mu, the parameter of Gaussian differential privacy."""
    case = gaussian_case(mu)
    row, other = _histograms([3.0, -1e9, 0.0]), _histograms([-3.0, 1e300, 1e-9])
    return (
        case(
            name="histograms",
            neighbours="a row more: a bin of each of three columns",
            covers=("gaussian_release", "histograms_sensitivity"),
            draw=vectors(mu, histograms_sensitivity(3, "add-remove"), row, _histograms()),
        ),
        case(
            name="histograms-replace",
            neighbours="a row moved to other bins in all three columns",
            relation="replace",
            covers=("gaussian_release", "histograms_sensitivity"),
            draw=vectors(mu, histograms_sensitivity(3, "replace"), row, other),
        ),
        *_designs(mu),
        *_statistics_of_models(mu),
        *_weighted(mu, 1),
        *_weighted(mu, WHOLE),
        *_counts(mu),
    )


def _counts(mu: float) -> tuple[Case, ...]:
    case = gaussian_case(mu)
    return (
        case(
            name="pair-counts",
            neighbours="a row more: a cell of each of three columns and each pair of these",
            covers=("gaussian_release", "node_counts_l2_sensitivity"),
            draw=vectors(mu, node_counts_l2_sensitivity(6), *map(_pair_counts, (1, 0))),
        ),
        case(
            name="level-weights",
            neighbours=f"{_UNIT}, all with a level that another unit has",
            covers=("gaussian_release", "level_weights"),
            draw=vectors(mu, WHOLE, *map(_level_weights, (_UNIT_ROWS, 0))),
        ),
    )


def _designs(mu: float) -> tuple[Case, ...]:
    case, radius = gaussian_case(mu), _ROW_UNIT**2
    eigenvalues = map(_eigenvalue, (_BOTH_ROWS, _ONE_ROW))
    return (
        case(
            name="design-gram",
            neighbours="a row of the largest norm more",
            covers=("symmetric_gaussian_release", "gram_sensitivity"),
            draw=matrices(mu, gram_sensitivity(radius), *map(_design, (_ONE_ROW, _NO_ROW))),
        ),
        case(
            name="smallest-eigenvalue",
            neighbours="a row of the largest norm in the only direction that had none",
            covers=("gaussian_release", "eigenvalue_sensitivity"),
            draw=vectors(mu, eigenvalue_sensitivity(radius, 2), *eigenvalues),
        ),
        case(
            name="residual-products",
            neighbours="a row of the largest norm with a residual beyond the clipping",
            covers=("gaussian_release", "product_sensitivity"),
            draw=vectors(mu, product_sensitivity(2 * radius, _CLIP), *map(_residuals, (1, 0))),
        ),
    )


def _statistics_of_models(mu: float) -> tuple[Case, ...]:
    case = gaussian_case(mu)
    histograms = _histograms(*[[3.0, -1e9, 0.0]] * _UNIT_ROWS, weight=_SHARE)
    sensitivity = WHOLE * histograms_sensitivity(3, "add-remove")
    return (
        case(
            name="score-moments",
            neighbours="a row as long in its constant as in its features, its residual clipped",
            covers=("symmetric_gaussian_release", "gram_sensitivity"),
            draw=matrices(mu, gram_sensitivity(SCORE_RADIUS), _scores(1), _scores(0)),
        ),
        case(
            name="product-sizes",
            neighbours="the first of many equal rows on the edge of a bin",
            covers=("gaussian_release", "histograms_sensitivity"),
            draw=vectors(mu, histograms_sensitivity(1, "add-remove"), *map(_sizes, (19, 18))),
        ),
        case(
            name="histograms-units",
            neighbours=f"{_UNIT}: all in one bin of each of three columns",
            covers=("gaussian_release", "histograms_sensitivity"),
            draw=vectors(mu, sensitivity, histograms, _histograms()),
        ),
    )


def _weighted(mu: float, whole: int) -> tuple[Case, ...]:
    """Return the cases of a row more, or of a unit more whose rows weigh `whole` together."""
    case = gaussian_case(mu)
    rows, more, suffix = (1, "a row more", "") if whole == 1 else (_UNIT_ROWS, _UNIT, "-units")

    def both(exact: Callable[[int, int], Exact]) -> tuple[Exact, Exact]:
        return exact(rows, whole), exact(0, whole)

    return (
        case(
            name=f"clipped-products{suffix}",
            neighbours=f"{more}, as long in the constant as in the features, residuals clipped",
            covers=("gaussian_release", "clipped_products_sensitivity"),
            draw=vectors(mu, clipped_products_sensitivity(_CLIP, 6, whole), *both(_products)),
        ),
        case(
            name=f"model-errors{suffix}",
            neighbours=f"{more}, far from the model and from its mean",
            covers=("gaussian_release", "errors_sensitivity"),
            draw=vectors(mu, errors_sensitivity(whole), *both(_errors)),
        ),
        case(
            name=f"model-deviances{suffix}",
            neighbours=f"{more}, far from the mean of the model and from that without slopes",
            covers=("gaussian_release", "deviances_sensitivity"),
            draw=vectors(mu, deviances_sensitivity(whole), *both(_deviances)),
        ),
        case(
            name=f"held-out-errors{suffix}",
            neighbours=f"{more}, far from the predictions and from the centre",
            covers=("gaussian_release", "held_out_sensitivity"),
            draw=vectors(mu, held_out_sensitivity(whole), *both(_held_out)),
        ),
        case(
            name=f"group-moments{suffix}",
            neighbours=f"{more}, at the clip, in one group",
            covers=("gaussian_release", "moments_l2_sensitivity"),
            draw=vectors(
                mu, WHOLE * moments_l2_sensitivity(1, "add-remove"), *both(_group_moments)
            ),
        ),
    )


def _group_moments(rows: int, whole: int) -> Integers:
    values = np.array([np.zeros(rows), np.full(rows, 1e9)])
    exact = GroupMoments([Grouping((0,), (2,))], [1], np.zeros(1), np.ones(1))
    return exact.update(values, _weights(rows, whole)).value


def _pair_counts(rows: int) -> Integers:
    pairs = [Grouping(own, (2,) * len(own)) for own in ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2))]
    return GroupCounts(pairs).update(np.ones((3, rows))).value


def _level_weights(rows: int) -> Integers:
    """Return the weights of two levels, one of which a unit of `rows` rows has as others do."""
    frame = {"city": ["a", "b", *["b"] * rows], "id": [0, 1, *[2] * rows]}
    table = read_table(
        pa.table(frame), False, features=["city"], categories={"city": [None]}, unit="id"
    ).as_codes(found=["city"])
    return level_weights(table, 0, MOST_OF_A_UNIT, SeededSource(0))[1]


def vectors(mu: float, sensitivity: float, *pair: Exact) -> Draws:
    """Return draws of a Gaussian release of either of two vectors: many noisy copies at once.

    They are projected on the difference of the exact vectors: against noise of one size this is
    the best test (Neyman and Pearson).
    """
    exact = np.stack([np.ravel(each).astype(np.int64) for each in pair])
    exact = exact[:, exact[0] != exact[1]]  # elsewhere both have the same noise alone
    shift = (exact[0] - exact[1]).astype(np.float64)
    copies = max(1, _CHUNK // len(shift))

    def draw(table: int, runs: int, source: ByteSource) -> Vector:
        parts = []
        for start in range(0, runs, copies):
            tiled = np.tile(exact[table], (min(copies, runs - start), 1))
            noisy = gaussian_release(tiled, sensitivity, mu, source)
            parts.append(noisy.astype(np.float64) @ shift)
        return np.concatenate(parts)

    return draw


def matrices(mu: float, sensitivity: int, *pair: Exact) -> Draws:
    """Return draws of a symmetric Gaussian release of either of two matrices."""
    # Entries off the diagonal count twice and have half the variance: weights of the best test.
    shift = (pair[0] - pair[1]).astype(np.float64)

    def one(table: int, source: ByteSource) -> float:
        noisy = symmetric_gaussian_release(pair[table], sensitivity, mu, source)
        return float(np.sum(noisy.astype(np.float64) * shift))

    return one_by_one(one)


def _histograms(*rows: list[float], weight: int = 1) -> Integers:
    columns = np.reshape(rows, (-1, 3)).T
    return Histograms(magnitude_counts).update(columns, np.full(len(rows), weight)).value(3)


# Rows of a design as columns: none, one of the largest norm, one more at a right angle to it.
_NO_ROW = np.empty((2, 0))
_ONE_ROW = np.array([[float(_ROW_UNIT)], [0.0]])
_BOTH_ROWS = np.array([[_ROW_UNIT, 0.0], [0.0, _ROW_UNIT]])


def _design(rows: Matrix) -> NDArray[np.object_]:
    return DesignMoments(2, _ROW_UNIT**2).update(rows).value


def _eigenvalue(rows: Matrix) -> Integers:
    return np.array([smallest_eigenvalue(_design(rows), _ROW_UNIT**2)])


_CLIP = 2**20


def _weights(rows: int, whole: int) -> Integers | None:
    return None if whole == 1 else np.full(rows, _SHARE)


def _block(rows: int, target: float, whole: int = 1) -> RowBlock:
    """Return equal rows of a unit, as long in their constant as in their five features."""
    row = np.array([_ROW_UNIT, *np.full(4, _ROW_UNIT // 2), 0], dtype=np.int16)
    squares = np.full(rows, _ROW_UNIT**2, dtype=np.int32)
    equal, targets = np.repeat(row[:, np.newaxis], rows, axis=1), np.full(rows, target)
    return RowBlock(equal, squares, targets, np.ones(rows), _weights(rows, whole))


def _grid(theta: Matrix) -> tuple[Matrix, float, int]:
    return *grid_model(theta, 2 * _ROW_UNIT**2), _ROW_UNIT


_ZERO = GridModel(*_grid(np.zeros(6)))


def _products(rows: int, whole: int) -> NDArray[np.object_]:
    return ClippedProducts(_ZERO, _CLIP, whole).update(*_block(rows, 1e9, whole)).value


def _residuals(rows: int) -> NDArray[np.object_]:
    return UnitProducts(_ZERO, 1, _CLIP).update(*_block(rows, 1e9)).value


def _scores(rows: int) -> NDArray[np.object_]:
    scores = clipped_scores(_ZERO, 1.0, _block(rows, 1e9))
    return DesignMoments(6, SCORE_RADIUS).update(scores).value


def _sizes(rows: int) -> Integers:
    model = GridModel(*_grid(1.0 / np.arange(3.0, 9.0)))
    row = _block(1, 1.0)
    edge = 2.0 * np.abs(model.scores(row.rows) - row.targets)  # u_0 is 1, |u_x| no more
    return ProductSizes(model, edge).update(*_block(rows, 1.0)).value


def _errors(rows: int, whole: int) -> NDArray[np.object_]:
    return ModelErrors(_ZERO, 0.0, whole).update(*_block(rows, 1e9, whole)).value


def _deviances(rows: int, whole: int) -> NDArray[np.object_]:
    counts = CountModel(*_grid(np.array([-9.0, *np.zeros(5)])))
    deviances = ModelDeviances(counts, 1e-9, whole)
    return deviances.update(*_block(rows, 50.0, whole)).value


def _held_out(rows: int, whole: int) -> NDArray[np.object_]:
    numbers = np.stack([np.full(rows, -1e9), np.full(rows, 1e9)])
    return HeldOutErrors(0.0, 1.0, whole).update(numbers, _weights(rows, whole)).value
