"""Distributions, quantiles, ROC curves, calibrations, evaluations and cross-validations as files.

Whatever follows from the released numbers is computed again when a file is read.
"""

from __future__ import annotations

from dataclasses import astuple
from typing import Annotated, Any, Literal, Self

import numpy as np
from msgspec import Meta

from nolook.algorithms.calibration_table import CalibrationTable
from nolook.algorithms.count_noise import ForestNoise
from nolook.algorithms.cross_validation import Estimate
from nolook.algorithms.distribution import PrivateDistribution
from nolook.algorithms.forest import forest_of
from nolook.algorithms.grids import GRIDS, LinearGrid, LogGrid, grid_kind
from nolook.algorithms.hosmer_lemeshow import PROBABILITIES
from nolook.algorithms.roc_curve import ClassScores
from nolook.estimators._scores import Scored
from nolook.estimators.calibration import MOST_GROUPS, HosmerLemeshow
from nolook.estimators.ecdf import ECDF, check_grid
from nolook.estimators.evaluation import Evaluation, JudgedModel
from nolook.estimators.folds import CrossValidation
from nolook.estimators.quantiles import Quantiles
from nolook.estimators.roc import ROCCurve
from nolook.formats.parts import Finding, Names, Recipe, Rows, RowsError, guaranteed
from nolook.formats.strict import Broken, Content, Vector

__all__ = [
    "CalibrationFile",
    "CurveFile",
    "DistributionFile",
    "EvaluationFile",
    "FoldsFile",
    "QuantilesFile",
    "Scored",
]

# Thresholds at equal ratios may differ in their last digits from machine to machine; their steps
# are larger than this.
_SAME = 1e-12

_Variance = Annotated[float, Meta(ge=0)]
_Share = Annotated[float, Meta(ge=0, le=1)]
_Smoothing = Literal["isotonic"] | None


class Grid(Content, frozen=True):
    """Thresholds at equal steps or ratios; null stands for a grid of all doubles."""

    kind: Literal["linear", "log"]
    low: float
    high: float
    step: float

    @classmethod
    def of(cls, grid: LinearGrid | LogGrid | None) -> Self | None:
        """Return what a file says of a grid."""
        return None if grid is None else cls.holding(grid, kind=grid_kind(grid))

    def grid(self) -> LinearGrid | LogGrid:
        """Return the grid."""
        return GRIDS[self.kind](self.low, self.high, self.step)


class Counts(Content, frozen=True):
    """Private counts up to thresholds: 0 at first, then each from its threshold to the next."""

    thresholds: Vector
    counts: Vector
    lengths: list[int]
    block_variance: _Variance
    rows_variance: _Variance

    @classmethod
    def of(cls, points: Vector, counts: Vector, noise: Any) -> Self:  # noqa: ANN401
        """Return what a file says of counts up to all thresholds of a grid."""
        changed = np.flatnonzero(np.diff(counts, prepend=0.0))
        return cls(
            thresholds=points[changed],
            counts=counts[changed],
            lengths=list(noise.forest.lengths),
            block_variance=noise.block_variance,
            rows_variance=noise.rows_variance,
        )

    def __post_init__(self) -> None:
        if self.thresholds.ndim != 1 or self.counts.shape != self.thresholds.shape:
            raise Broken("expected as many counts as thresholds")
        if not self.counts.size or (np.diff(self.counts, prepend=0.0) == 0.0).any():
            raise Broken("expected counts that change at every one of thresholds")

    def on(self, grid: LinearGrid | LogGrid | None) -> tuple[Vector, Vector, ForestNoise]:
        """Return all thresholds of a grid, the counts up to them, and their noise."""
        points, thresholds = check_grid(grid).points().copy(), self.thresholds
        same = _SAME * isinstance(grid, LogGrid)
        places = np.searchsorted(points, thresholds - same * abs(thresholds))
        places = places.clip(0, len(points) - 1)
        if (np.diff(places) < 1).any():
            raise Broken("expected thresholds that increase")
        if not np.allclose(points[places], thresholds, rtol=same, atol=0.0):
            raise Broken("expected thresholds of the grid only")
        points[places] = thresholds
        reach = np.diff(np.concatenate([[0], places, [len(points)]]))
        counts = np.repeat(np.append(0.0, self.counts), reach)
        forest = forest_of(len(points), self.lengths)
        return points, counts, ForestNoise(forest, self.block_variance, self.rows_variance)

    def distribution(
        self, grid: LinearGrid | LogGrid | None, smoothing: str | None
    ) -> PrivateDistribution:
        """Return the distribution."""
        if smoothing is not None and (np.diff(self.counts, prepend=0.0) < 0.0).any():
            raise Broken("expected counts that never fall, as they were smoothed")
        points, counts, noise = self.on(grid)
        if counts[-1] < 1.0:
            raise Broken("expected counts that end with at least 1")
        return PrivateDistribution(points, counts, float(counts[-1]), noise)


class DistributionFile(Finding, frozen=True, tag="distribution"):
    """The distribution of a column."""

    grid: Grid | None
    smoothing: _Smoothing
    counts: Counts

    @classmethod
    def of(cls, ecdf: ECDF) -> Self:
        """Return what a file says of a distribution."""
        found = ecdf.distribution_
        return cls(
            privacy=ecdf.privacy_.to_dict(),
            recipe=Recipe(**ecdf.recipe_),
            grid=Grid.of(ecdf.grid),
            smoothing=ecdf.smoothing,
            counts=Counts.of(found.points, found.counts, found.noise),
        )

    def release(self) -> ECDF:
        """Return the distribution."""
        if len(self.recipe.names) != 1:
            raise Broken("expected recipe to name one column")
        privacy, grid = self.guarantee(), None if self.grid is None else self.grid.grid()
        ecdf = ECDF(privacy.epsilon, grid, privacy.delta, privacy.relation, self.smoothing)
        released = self.counts.distribution(grid, self.smoothing)
        return ecdf.keep_release((released,), **self.about())


class QuantilesFile(Finding, frozen=True, tag="quantiles"):
    """Quantiles of some columns: a row of values and errors for each column."""

    names: Names
    grids: dict[str, Grid]
    shares: Annotated[list[_Share], Meta(min_length=1)]
    values: Vector
    errors: Vector

    @classmethod
    def of(cls, found: Quantiles) -> Self:
        """Return what a file says of quantiles."""
        return cls.holding(
            found,
            privacy=found.privacy.to_dict(),
            recipe=Recipe(**found.recipe),
            grids={name: Grid.of(grid) for name, grid in found.grids.items()},
            shares=found.shares.tolist(),
        )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.grids.keys() <= set(self.names):
            raise Broken("expected grids of some of names")
        shape = len(self.names), len(self.shares)
        if self.values.shape != shape or self.errors.shape != shape:
            raise Broken("expected a number for each column and share")
        if self.recipe.names != list(self.names):
            raise Broken("expected names to be those of recipe")

    def release(self) -> Quantiles:
        """Return the quantiles."""
        own = {
            "names": tuple(self.names),
            "shares": np.array(self.shares),
            "grids": {name: grid.grid() for name, grid in self.grids.items()},
        }
        return Quantiles(values=self.values, errors=self.errors, **own, **self.about())


class Curve(Content, frozen=True):
    """The private scores of both classes before smoothing, and the thresholds asked for."""

    grid: Grid
    grid_found: bool
    smoothing: _Smoothing
    pos_label: float | str
    positive: Counts
    negative: Counts
    asked: list[float]

    @classmethod
    def of(cls, curve: ROCCurve) -> Self:
        """Return what a file says of a ROC curve."""
        scores = {"positive": curve.positive_, "negative": curve.negative_}
        return cls.holding(
            curve,
            grid=Grid.of(curve.grid_),
            grid_found=curve.grid is None,
            pos_label=_label(curve.pos_label),
            asked=[float(each) for each in getattr(curve, "asked_", ())],
            **{name: Counts.of(one.points, one.noisy, one.noise) for name, one in scores.items()},
        )

    def curve(self, file: _Scored) -> ROCCurve:
        """Return the fitted curve."""
        grid, privacy, smooth = self.grid.grid(), file.guarantee(), self.smoothing is not None
        scores = [
            ClassScores.of(*counts.on(grid), smooth=smooth)
            for counts in (self.positive, self.negative)
        ]
        given = None if self.grid_found else grid
        curve = ROCCurve(
            privacy.epsilon, given, self.pos_label, privacy.relation, self.smoothing
        ).keep_release((grid, *scores), **file.about())
        curve.scored_, curve.asked_ = file.scored, tuple(self.asked)
        return curve


class Calibration(Content, frozen=True):
    """The private distribution of probabilities, and the sums of each group of them."""

    groups: Annotated[int, Meta(ge=1, le=MOST_GROUPS)]
    pos_label: float | str
    probabilities: Counts
    table: CalibrationTable

    @classmethod
    def of(cls, test: HosmerLemeshow) -> Self:
        """Return what a file says of a calibration."""
        found = test.distribution_
        return cls(
            groups=int(test.groups),
            pos_label=_label(test.pos_label),
            probabilities=Counts.of(found.points, found.counts, found.noise),
            table=test.table_,
        )

    def __post_init__(self) -> None:
        borders, *others = astuple(self.table)
        if any(each.shape != (len(borders) - 1,) for each in others) or len(borders) < 2:
            raise Broken("expected a number of each kind for each group")
        if borders[0] != 0.0 or borders[-1] != 1.0 or (np.diff(borders) <= 0.0).any():
            raise Broken("expected borders that increase from 0 to 1")
        if (self.table.count_variance < 0.0).any() or (self.table.excess_variance < 0.0).any():
            raise Broken("expected variances of at least 0")

    def test(self, file: _Scored) -> HosmerLemeshow:
        """Return the fitted test."""
        test = HosmerLemeshow(file.guarantee().epsilon, self.groups, self.pos_label)
        found = self.probabilities.distribution(PROBABILITIES, "isotonic")
        test.keep_release((found, self.table), **file.about())
        test.scored_ = file.scored
        return test


def _label(label: float | str) -> float | str:
    """Return the value of the positive class: integers and truth values are numbers."""
    return label if isinstance(label, str) else float(label)


class _Scored(Finding, frozen=True):
    """What was found about scores, and what they and the target are called."""

    scored: Scored

    @classmethod
    def of_scores(cls, found: ROCCurve | HosmerLemeshow, **own: object) -> Self:
        """Return what a file says of such a finding, and all of its `own`."""
        return cls(
            privacy=found.privacy_.to_dict(),
            recipe=Recipe(**found.recipe_),
            scored=found.scored_,
            **own,
        )


class CurveFile(_Scored, frozen=True, tag="ROC curve"):
    """A ROC curve."""

    curve: Curve

    @classmethod
    def of(cls, curve: ROCCurve) -> Self:
        """Return what a file says of a ROC curve."""
        return cls.of_scores(curve, curve=Curve.of(curve))

    def release(self) -> ROCCurve:
        """Return the fitted curve."""
        return self.curve.curve(self)


class CalibrationFile(_Scored, frozen=True, tag="calibration"):
    """A calibration."""

    calibration: Calibration

    @classmethod
    def of(cls, test: HosmerLemeshow) -> Self:
        """Return what a file says of a calibration."""
        return cls.of_scores(test, calibration=Calibration.of(test))

    def release(self) -> HosmerLemeshow:
        """Return the fitted test."""
        return self.calibration.test(self)


class EvaluationFile(_Scored, frozen=True, tag="evaluation"):
    """What was found of a model, of which a file only has the method and the guarantee."""

    method: str
    model_privacy: dict[str, Any] | None
    other_rows: bool
    cautions: list[str]
    n_rows: Rows
    n_rows_error: RowsError
    curve: Curve
    calibration: Calibration | None

    @classmethod
    def of(cls, found: Evaluation) -> Self:
        """Return what a file says of an evaluation."""
        judged, test = JudgedModel.of(found.model), found.calibration
        return cls.holding(
            found,
            privacy=found.privacy.to_dict(),
            recipe=Recipe(**found.roc.recipe_),
            method=judged.method,
            model_privacy=None if judged.privacy is None else judged.privacy.to_dict(),
            curve=Curve.of(found.roc),
            calibration=None if test is None else Calibration.of(test),
        )

    def release(self) -> Evaluation:
        """Return the evaluation."""
        own = self.model_privacy
        return Evaluation(
            self.curve.curve(self),
            None if self.calibration is None else self.calibration.test(self),
            self.n_rows,
            self.n_rows_error,
            self.guarantee(),
            self.other_rows,
            tuple(self.cautions),
            JudgedModel(self.method, None if own is None else guaranteed(own)),
            self.scored,
        )


class FoldsFile(Finding, frozen=True, tag="cross-validation"):
    """How well models did on rows they had not seen; null where nothing is known of a fold."""

    measure: Literal["R2", "AUC"]
    method: str
    target: str
    fitted: Annotated[list[bool], Meta(min_length=2)]
    estimates: list[Estimate | None]
    n_rows: Rows | None
    n_rows_error: RowsError | None

    @classmethod
    def of(cls, found: CrossValidation) -> Self:
        """Return what a file says of a cross-validation."""
        about = {"privacy": found.privacy.to_dict(), "recipe": Recipe(**found.recipe)}
        return cls.holding(found, **about)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.n_rows is None) != (self.n_rows_error is None):
            raise Broken("expected both n_rows and n_rows_error, or neither")
        if len(self.fitted) != len(self.estimates):
            raise Broken("expected as many estimates as folds")
        for fitted, estimate in zip(self.fitted, self.estimates, strict=True):
            if estimate is not None and not (fitted and estimate.value <= 1 and estimate.error >= 0):
                raise Broken("expected a value of at most 1 and an error, of folds with a model")

    def release(self) -> CrossValidation:
        """Return the cross-validation, without its models."""
        own = self.fields(lambda name: name not in Finding.__struct_fields__)
        own |= {"fitted": tuple(self.fitted), "estimates": tuple(self.estimates)}
        return CrossValidation(**own, models=(), evaluations=(), **self.about())
