"""A private distribution as a JSON file, and back: enough to answer every later question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nolook.algorithms.distribution import PrivateDistribution
from nolook.algorithms.grids import Grid, LinearGrid, LogGrid
from nolook.errors import ParameterError
from nolook.estimators.ecdf import ECDF, check_grid, check_smoothing
from nolook.report._model_content import guarantee_content, guarantee_from, recipe_from
from nolook.report._strict import Broken, array, keys, number, text
from nolook.tables.design import Feature

if TYPE_CHECKING:
    from nolook.privacy.guarantee import PrivacyGuarantee

__all__ = [
    "column_of",
    "counts_content",
    "distribution_content",
    "distribution_from",
    "grid_content",
]

_GRIDS: dict[str, type[LinearGrid | LogGrid]] = {"linear": LinearGrid, "log": LogGrid}
_GRID_KEYS = frozenset({"kind", "low", "high", "step"})
_NUMBERS = ("rows", "levels", "node_variance", "rows_variance")
_KEYS = frozenset(
    {"column", "grid", "smoothing", "recipe", "thresholds", "counts", *_NUMBERS}
    | {"budget", "privacy"}
)
# Thresholds at equal ratios may differ in their last digits from machine to machine; their steps
# are larger than this.
_SAME = 1e-12


def distribution_content(ecdf: ECDF) -> dict[str, Any]:
    """Return everything a file says about a distribution."""
    if not hasattr(ecdf, "distribution_"):
        raise ParameterError("model is an ECDF; expected a fitted one (call fit first)")
    return {
        "column": column_of(ecdf.recipe_),
        "grid": grid_content(ecdf.grid),
        "smoothing": ecdf.smoothing,
        "recipe": ecdf.recipe_,
        **counts_content(ecdf.distribution_),
        **guarantee_content(ecdf.privacy_),
    }


def column_of(recipe: dict[str, Any]) -> str:
    """Return the name of the one column a table was read for."""
    (name,) = recipe["features"]
    (column,) = Feature(name, recipe["categories"].get(name)).names
    return column


def grid_content(grid: LinearGrid | LogGrid | None) -> dict[str, Any] | None:
    """Return what a file says about a grid: null for that of all doubles."""
    if grid is None:
        return None
    kind = next(name for name, known in _GRIDS.items() if isinstance(grid, known))
    return {"kind": kind, "low": grid.low, "high": grid.high, "step": grid.step}


def counts_content(distribution: PrivateDistribution) -> dict[str, Any]:
    """Return the private counts, at the thresholds only where they change."""
    changed = np.diff(distribution.counts, prepend=0.0) != 0.0
    return {
        "rows": distribution.rows,
        "levels": distribution.levels,
        "node_variance": distribution.node_variance,
        "rows_variance": distribution.rows_variance,
        "thresholds": distribution.points[changed].tolist(),
        "counts": distribution.counts[changed].tolist(),
    }


def distribution_from(value: object) -> ECDF:
    """Return the distribution that a file's content describes."""
    document = keys(value, _KEYS, "the distribution")
    privacy = guarantee_from(document)
    ecdf = _unfitted(document, privacy)
    ecdf.recipe_ = recipe_from(document["recipe"], (text(document["column"], "column"),))
    ecdf.distribution_ = _distribution(document, check_grid(ecdf.grid))
    if ecdf.smoothing is not None and (np.diff(ecdf.distribution_.counts, prepend=0.0) < 0).any():
        raise Broken("expected counts that never fall, as they were smoothed")
    ecdf.n_samples_ = ecdf.distribution_.rows
    ecdf.privacy_ = privacy
    return ecdf


def _unfitted(document: dict[str, Any], privacy: PrivacyGuarantee) -> ECDF:
    try:
        check_smoothing(document["smoothing"])
        grid = _grid(document["grid"])
    except ParameterError as error:
        raise Broken(str(error)) from None
    return ECDF(privacy.epsilon, grid, privacy.delta, privacy.relation, document["smoothing"])


def _grid(value: object) -> LinearGrid | LogGrid | None:
    if value is None:
        return None
    parts = keys(value, _GRID_KEYS, "grid")
    kind = text(parts["kind"], "grid.kind")
    if kind not in _GRIDS:
        raise Broken(f"expected grid.kind to be one of {', '.join(_GRIDS)}")
    return _GRIDS[kind](*(number(parts[name], f"grid.{name}") for name in ("low", "high", "step")))


def _distribution(document: dict[str, Any], grid: Grid) -> PrivateDistribution:
    points = grid.points()
    rows, levels, node_variance, rows_variance = (number(document[name], name) for name in _NUMBERS)
    if rows < 1 or node_variance < 0 or rows_variance < 0:
        raise Broken("expected rows of at least 1 and variances of at least 0")
    if levels != (len(points) - 1).bit_length():
        raise Broken("expected levels to be those of the grid")
    shown = document["thresholds"]
    if not isinstance(shown, list) or not 1 <= len(shown) <= len(points):
        raise Broken("expected thresholds to be a list of some of the grid's")
    thresholds = array(shown, (len(shown),), "thresholds")
    changes = np.diff(array(document["counts"], thresholds.shape, "counts"), prepend=0.0)
    same = _SAME * isinstance(grid, LogGrid)
    places = np.searchsorted(points, thresholds - same * abs(thresholds)).clip(0, len(points) - 1)
    if (np.diff(places) < 1).any() or (changes == 0).any():
        raise Broken("expected thresholds that increase and counts that change")
    if not np.allclose(points[places], thresholds, rtol=same, atol=0.0):
        raise Broken("expected thresholds of the grid only")
    points = points.copy()
    points[places] = thresholds
    # Each count holds up to the threshold before the next change.
    reach = np.diff(np.concatenate([[0], places, [len(points)]]))
    counts = np.repeat(np.append(0.0, document["counts"]), reach)
    if counts[-1] != rows:
        raise Broken("expected the last of counts to be rows")
    return PrivateDistribution(points, counts, rows, int(levels), node_variance, rows_variance)
