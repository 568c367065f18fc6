"""A private distribution as a JSON file, and back: enough to answer every later question."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from nolook._validation import check_choice
from nolook.algorithms.count_noise import BinaryTreeNoise, CountNoise, ForestNoise
from nolook.algorithms.distribution import PrivateDistribution
from nolook.algorithms.forest import forest_of
from nolook.algorithms.grids import GRIDS, LinearGrid, LogGrid, grid_kind
from nolook.algorithms.tree_smoothing import check_tree_smoothing
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
    "TreeDistribution",
    "distribution_content",
    "distribution_version",
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


class Counts(Release, frozen=True):
    """Private counts up to thresholds, only those where they change; a null grid is all doubles."""

    column: str
    grid: Grid | None
    smoothing: str | None
    recipe: Recipe
    rows: Annotated[float, Meta(ge=1)]
    rows_variance: _Variance
    thresholds: _Numbers
    counts: _Numbers

    def __post_init__(self) -> None:
        super().__post_init__()
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
        return PrivateDistribution(points, counts, self.rows, self.noise(len(points)))

    def noise(self, points: int) -> CountNoise:
        """Return the noise of the counts up to so many thresholds."""
        raise NotImplementedError


class Distribution(Counts, frozen=True):
    """Counts that follow from those of a forest's blocks."""

    lengths: list[int]
    block_variance: _Variance

    def __post_init__(self) -> None:
        super().__post_init__()
        check_smoothing(self.smoothing)

    def noise(self, points: int) -> ForestNoise:
        """Return the noise of the counts up to so many thresholds."""
        forest = forest_of(points, self.lengths)
        return ForestNoise(forest, self.block_variance, self.rows_variance)


class TreeDistribution(Counts, frozen=True):
    """Counts with the noise of a binary tree: those of version 0.1 and of batches."""

    levels: float  # whole, however it is written
    node_variance: _Variance

    def __post_init__(self) -> None:
        super().__post_init__()
        check_tree_smoothing(self.smoothing)

    def noise(self, points: int) -> BinaryTreeNoise:
        """Return the noise of the counts up to so many thresholds."""
        if self.levels != (points - 1).bit_length():
            raise Broken("expected levels to be those of the grid")
        return BinaryTreeNoise(points, int(self.levels), self.node_variance, self.rows_variance)


def distribution_version(ecdf: ECDF) -> int:
    """Return the version of the file of a distribution, by its noise."""
    found = getattr(ecdf, "distribution_", None)
    return 1 if isinstance(getattr(found, "noise", None), BinaryTreeNoise) else 2


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
