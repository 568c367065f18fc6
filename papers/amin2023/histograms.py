"""Block models before and after whitening (the paper's figures 6 to 13), and what it changes.

Depth looks along the axes only. Where the block models' coefficients go together, a point in the
middle along every axis need not be near any model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.stats import kurtosis
from sklearn.metrics import r2_score

import nolook
from nolook.algorithms.tukey import (
    MODEL_GRID,
    Basis,
    ModelGrid,
    TukeyPlan,
    fit_models,
    release_basis,
)
from nolook.privacy.mechanisms.tukey_depth import (
    compute_volumes,
    restricted_tukey,
    sorted_columns,
)
from nolook.privacy.noise import SeededSource, uniform_integers
from nolook.tables import table_from_arrays
from papers.amin2023.block_models import least_squares_models
from papers.amin2023.data import DELTA, EPSILON, FILES, read
from papers.amin2023.tukey import RAW_GRID
from papers.amin2023.tukey_em import published_depth
from papers.trials import Row, Settings

__all__ = ["BINS", "KINDS", "REACH", "histogram", "histogram_plan"]

Vector = NDArray[np.float64]
Predict = Callable[[Vector], Vector]

KINDS = ("raw", "whitened")
#: A histogram covers so many robust deviations around the median.
REACH, BINS = 4.0, 40
_POINTS = 100  # drawn, and models looked at one by one
_MODELS = 2000


def histogram(data: Path, *, table: str, kind: str, models: int) -> Row:
    """Fit block models, and describe how they lie; one row for all coefficients.

    Coefficients follow one another in the lists: `counts` has `BINS` numbers of each. `names` are
    those of the columns of the table, for raw ones.
    """
    X, y = read(table, data)
    source = SeededSource(0)
    if kind == "raw":
        rows = np.vstack([X.T, y])
        blocks = np.argsort(uniform_integers(2**62, len(y), source)) % models  # evenly
        found, predict = least_squares_models(rows, blocks, models), _raw(X)
        grid = RAW_GRID
    else:
        plan = cast("TukeyPlan", nolook.TukeyRegressor(EPSILON, DELTA).plan().release)
        whole = table_from_arrays(X, y)
        basis = release_basis(whole, plan, source, _quiet)
        found = fit_models(whole, basis, models, source, _quiet)
        predict, grid = _whitened(X, basis), MODEL_GRID
    names = ["intercept", *_names(table, X.shape[1], data)]
    if kind == "whitened":
        names = [f"coordinate {place}" for place in range(found.shape[1])]
    return {"names": names, **_shape(found), **_quality(found, y, predict, grid, source)}


def _names(table: str, features: int, data: Path) -> list[str]:
    """Return the names of the features of a table; those of the one that is made are numbers."""
    file = FILES[table]
    if file is None:
        return [f"x{place + 1}" for place in range(features)]
    named = pq.read_schema(data / f"{file}.parquet").names
    return [name for name in named if name != "target"]


def _quiet(stage: str) -> None:
    pass


def _raw(X: Vector) -> Predict:
    return lambda theta: cast("Vector", theta[0] + X @ theta[1:])


def _whitened(X: Vector, basis: Basis) -> Predict:
    """Return how a model in the basis predicts, with rows clipped as those it was fitted to."""
    scaling = basis.scaling
    detected = scaling.detected[:-1]
    units = (X[:, detected] - scaling.center[:-1][detected]) / scaling.scale[:-1][detected]
    design = np.column_stack([np.ones(len(X)), units.clip(-scaling.limit, scaling.limit)])
    design = design @ basis.matrix
    center, scale = scaling.center[-1], scaling.scale[-1]
    return lambda theta: cast("Vector", center + scale * (design @ theta))


def _shape(found: Vector) -> Row:
    """Describe each coefficient's distribution over models, and how they go together."""
    middle = np.median(found, axis=0)
    spread = np.subtract(*np.percentile(found, [75, 25], axis=0)) / 1.349
    spread = np.where(spread > 0, spread, 1.0)
    units = (found - middle) / spread
    edges = np.linspace(-REACH, REACH, BINS + 1)
    counts = [np.histogram(column, edges)[0] for column in units.T]
    ranks = np.argsort(np.argsort(found, axis=0), axis=0)
    together = np.abs(np.corrcoef(ranks.T))
    np.fill_diagonal(together, 0.0)
    return {
        "counts": np.concatenate(counts).astype(float).tolist(),
        "beyond": (np.abs(units) > REACH).mean(axis=0).tolist(),
        "means": units.mean(axis=0).tolist(),
        "deviations": units.std(axis=0).tolist(),
        "tails": float(np.median(kurtosis(units, axis=0))),
        "together": float(together.max()),
    }


def _quality(
    found: Vector, y: Vector, predict: Predict, grid: ModelGrid, source: SeededSource
) -> Row:
    """Return R2 of the middle of the models, of single models, and of what TukeyEM would draw."""
    columns = sorted_columns(grid.round(found))
    volumes, depth = compute_volumes(columns), published_depth(len(found))
    rate = Fraction(EPSILON / 2)
    drawn = [restricted_tukey(columns, volumes, depth, rate, source) for _ in range(_POINTS)]
    points = [grid.values(np.array(one, dtype=np.int64)) for one in drawn]

    def typical(models: Iterable[Vector]) -> float:
        return float(np.median([r2_score(y, predict(model)) for model in models]))

    return {
        "r2 of the median": typical([np.median(found, axis=0)]),
        "r2 of drawn points": typical(points),
        "r2 of single models": typical(found[:: max(1, len(found) // _POINTS)]),
    }


def histogram_plan(quick: bool) -> list[Settings]:
    """Plan figures 6 to 13: six of eight tables."""
    known = list(FILES)
    return [
        {"table": table, "kind": kind, "models": _MODELS}
        for table in (known[1:2] if quick else known)
        for kind in KINDS
    ]
