"""A private distribution as a JSON file, and back: enough to answer every later question."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from nolook._validation import check_choice
from nolook.algorithms.count_noise import ForestNoise
from nolook.algorithms.distribution import PrivateDistribution
from nolook.algorithms.forest import forest_of
from nolook.algorithms.grids import GRIDS, LinearGrid, LogGrid, grid_kind
from nolook.errors import ParameterError
from nolook.estimators.ecdf import ECDF, check_grid, check_smoothing
from nolook.formats._steps import noise_content
from nolook.formats.parts import Recipe, Release, guarantee_content, recipe_content
from nolook.formats.strict import Broken, Content
from nolook.tables.design import Feature
from nolook.tables.levels import check_categories

__all__ = [
    "Distribution",
    "Grid",
    "distribution_content",
    "grid_content",
]

# Thresholds at equal ratios may differ in their last digits from machine to machine; their steps
# are larger than this.
_SAME = 1e-12

_Numbers = Annotated[list[float], Meta(min_length=1)]
_Variance = Annotated[float, Meta(ge=0)]


class Grid(Content, frozen=True):
    """Thresholds at equal steps or ratios."""

    kind: str
    low: float
    high: float
    step: float

    def grid(self) -> LinearGrid | LogGrid:
        """Return the thresholds."""
        kind = check_choice("kind", self.kind, tuple(GRIDS))
        return GRIDS[kind](self.low, self.high, self.step)


class Distribution(Release, frozen=True):
    """Private counts up to thresholds, only those where they change; a null grid is all doubles."""

    column: str
    grid: Grid | None
    smoothing: str | None
    recipe: Recipe
    rows: Annotated[float, Meta(ge=1)]
    rows_variance: _Variance
    thresholds: _Numbers
    counts: _Numbers
    lengths: list[int]
    block_variance: _Variance

    def __post_init__(self) -> None:
        super().__post_init__()
        check_smoothing(self.smoothing)
        self.recipe.check_gives([self.column])
        changes = np.diff(self.counts, prepend=0.0)
        if len(self.thresholds) != len(changes) or (changes == 0).any():
            raise Broken("expected counts that change at every one of thresholds")
        if self.smoothing is not None and (changes < 0).any():
            raise Broken("expected counts that never fall, as they were smoothed")
        if self.counts[-1] != self.rows:
            raise Broken("expected the last of counts to be rows")

    def estimator(self) -> ECDF:
        """Return the distribution; refuse thresholds that its grid does not have."""
        privacy, grid = self.guarantee(), None if self.grid is None else self.grid.grid()
        ecdf = ECDF(privacy.epsilon, grid, privacy.delta, privacy.relation, self.smoothing)
        ecdf.recipe_ = self.recipe.options()
        ecdf.distribution_ = self._counted(grid)
        ecdf.keep_rows(ecdf.distribution_.counted)
        ecdf.privacy_ = privacy
        return ecdf

    def _counted(self, grid: LinearGrid | LogGrid | None) -> PrivateDistribution:
        points, thresholds = check_grid(grid).points().copy(), np.array(self.thresholds)
        same = _SAME * isinstance(grid, LogGrid)
        places = np.searchsorted(points, thresholds - same * abs(thresholds))
        places = places.clip(0, len(points) - 1)
        if (np.diff(places) < 1).any():
            raise Broken("expected thresholds that increase")
        if not np.allclose(points[places], thresholds, rtol=same, atol=0.0):
            raise Broken("expected thresholds of the grid only")
        points[places] = thresholds
        # Each count holds up to the threshold before the next change.
        reach = np.diff(np.concatenate([[0], places, [len(points)]]))
        counts = np.repeat([0.0, *self.counts], reach)
        forest = forest_of(len(points), self.lengths)
        noise = ForestNoise(forest, self.block_variance, self.rows_variance)
        return PrivateDistribution(points, counts, self.rows, noise)


def distribution_content(ecdf: ECDF) -> dict[str, Any]:
    """Return everything a file says about a distribution."""
    if not hasattr(ecdf, "distribution_"):
        raise ParameterError("model is an ECDF; expected a fitted one (call fit first)")
    found, recipe = ecdf.distribution_, ecdf.recipe_
    (name,) = recipe["features"]
    (column,) = Feature(name, check_categories(recipe["categories"]).get(name)).names
    changed = np.diff(found.counts, prepend=0.0) != 0.0
    return {
        "column": column,
        "grid": grid_content(ecdf.grid),
        "smoothing": ecdf.smoothing,
        "recipe": recipe_content(recipe),
        "rows": found.rows,
        **noise_content(found.noise),
        "rows_variance": found.noise.rows_variance,
        "thresholds": found.points[changed],
        "counts": found.counts[changed],
        **guarantee_content(ecdf.privacy_),
    }


def grid_content(grid: LinearGrid | LogGrid | None) -> dict[str, Any] | None:
    """Return what a file says about a grid: null for that of all doubles."""
    if grid is None:
        return None
    return {"kind": grid_kind(grid), "low": grid.low, "high": grid.high, "step": grid.step}
