"""Distributions, quantiles, ROC curves, calibrations, evaluations and cross-validations as files.

Whatever follows from the released numbers is computed again when a file is read.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self

import numpy as np
from attrs import astuple, evolve
from msgspec import Meta

from nolook.algorithms.calibration_table import CalibrationTable
from nolook.algorithms.cross_validation import Estimate
from nolook.algorithms.cumulative_noise import ForestNoise
from nolook.algorithms.distribution import PrivateDistribution
from nolook.algorithms.evaluation import Judged
from nolook.algorithms.forest import forest_of
from nolook.algorithms.grids import GRID_KINDS, GRIDS, PROBABILITIES, LinearGrid, LogGrid
from nolook.algorithms.roc_curve import ClassScores
from nolook.algorithms.scaling import NoisyCount
from nolook.estimators._checks import check_grid
from nolook.estimators._scores import Scored
from nolook.estimators.calibration import MOST_GROUPS, HosmerLemeshow
from nolook.estimators.ecdf import ECDF
from nolook.estimators.evaluation import Evaluation, JudgedModel, evaluation_of
from nolook.estimators.folds import CrossValidation
from nolook.estimators.quantiles import Quantiles
from nolook.estimators.roc import ROCCurve
from nolook.formats.parts import Counted, Finding, guaranteed
from nolook.formats.strict import Content, Vector, expect
from nolook.privacy.guarantee import PrivacyGuarantee

__all__ = [
    "CalibrationFile",
    "CurveFile",
    "DistributionFile",
    "EvaluationFile",
    "FoldsFile",
    "QuantilesFile",
]

# Thresholds at equal ratios may differ in their last digits from machine to machine; their steps
# are larger than this.
_SAME = 1e-12

_Variance = Annotated[float, Meta(ge=0)]
_Share = Annotated[float, Meta(ge=0, le=1)]


class Grid(Content, frozen=True):
    """Thresholds at equal steps or ratios."""

    kind: Literal["linear", "log"]
    low: float
    high: float
    step: float

    @classmethod
    def of(cls, grid: LinearGrid | LogGrid) -> Self:
        """Return the record of a grid."""
        return cls.holding(grid, kind=GRID_KINDS[type(grid)])

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
    left_out: tuple[float, _Variance] | None  # and its error

    @classmethod
    def of(cls, found: PrivateDistribution, counts: Vector) -> Self:
        """Return the record of the counts of a distribution up to all its thresholds."""
        changed, noise = np.flatnonzero(np.diff(counts, prepend=0.0)), found.noise
        return cls(
            thresholds=found.points[changed],
            counts=counts[changed],
            lengths=list(noise.forest.lengths),
            block_variance=noise.block_variance,
            rows_variance=noise.rows_variance,
            left_out=found.left_out,
        )

    def __post_init__(self) -> None:
        shape = self.thresholds.shape
        expect(len(shape) == 1 and self.counts.shape == shape, "as many counts as thresholds")
        changing = np.diff(self.counts, prepend=0.0).all()
        expect(changing, "counts that change at every one of thresholds")

    def on(
        self, grid: LinearGrid | LogGrid | None, *, whole: bool = False
    ) -> tuple[Vector, Vector, ForestNoise]:
        """Return all thresholds of a grid, the counts up to them, and their noise."""
        points, thresholds = check_grid(grid, whole=whole).points().copy(), self.thresholds
        same = _SAME * isinstance(grid, LogGrid)
        places = np.searchsorted(points, thresholds - same * abs(thresholds))
        places = places.clip(0, len(points) - 1)
        expect((np.diff(places) > 0).all(), "thresholds that increase")
        near = np.allclose(points[places], thresholds, rtol=same, atol=0.0)
        expect(near, "thresholds of the grid only")
        points[places] = thresholds
        reach = np.diff(np.concatenate([[0], places, [len(points)]]))
        counts = np.repeat(np.append(0.0, self.counts), reach)
        forest = forest_of(len(points), self.lengths)
        return points, counts, ForestNoise(forest, self.block_variance, self.rows_variance)

    def distribution(
        self, grid: LinearGrid | LogGrid | None, *, whole: bool = False
    ) -> PrivateDistribution:
        """Return the distribution."""
        expect((np.diff(self.counts, prepend=0.0) >= 0.0).all(), "counts that never fall")
        points, counts, noise = self.on(grid, whole=whole)
        expect(counts[-1] >= 1.0, "counts that end with at least 1")
        own = points, counts, float(counts[-1]), noise
        return PrivateDistribution(*own, left_out=self.left_out, whole=whole)


class DistributionFile(Finding, frozen=True, tag="distribution"):
    """The distribution of a column; the grid of all doubles, or whole numbers, is null."""

    grid: Grid | None
    whole: bool
    counts: Counts
    squares: Counts | None

    @classmethod
    def of(cls, ecdf: ECDF) -> Self:
        """Return the record of a distribution."""
        found, squares = ecdf.distribution_, ecdf.distribution_.squares
        return cls.holding(
            ecdf,
            "_",
            grid=None if ecdf.grid is None else Grid.of(ecdf.grid),
            whole=found.whole,
            counts=Counts.of(found, found.counts),
            squares=squares and Counts.of(squares, squares.counts),
        )

    def release(self) -> ECDF:
        """Return the distribution."""
        expect(len(self.read_options.names) == 1, "read_options to name one column")
        privacy, grid = self.guarantee(), None if self.grid is None else self.grid.grid()
        ecdf = ECDF(privacy.epsilon, grid, privacy.delta, privacy.relation)
        released = self.counts.distribution(grid, whole=self.whole)
        weighted = (self.squares is not None) == (privacy.unit.weighting is not None)
        expect(weighted, "squares where there are survey weights only")
        if self.squares is not None:
            squares = self.squares.distribution(grid, whole=self.whole)
            released = evolve(released, squares=squares)
        return ecdf.keep_release((released,), **self.about())


class QuantilesFile(Counted, frozen=True, tag="quantiles"):
    """Quantiles of some columns: a row of values and errors for each column, null if infinite."""

    grids: dict[str, Grid]
    whole: list[bool]
    shares: Annotated[list[_Share], Meta(min_length=1)]
    values: Vector
    errors: list[list[float | None]]
    rows: NoisyCount

    @classmethod
    def of(cls, found: Any, **others: Any) -> Self:  # noqa: ANN401
        """Return the record of quantiles."""
        grids = {name: Grid.of(grid) for name, grid in found.grids.items()}
        errors = [[None if math.isinf(e) else e for e in row] for row in found.errors.tolist()]
        return super().of(found, grids=grids, errors=errors, **others)

    def __post_init__(self) -> None:
        super().__post_init__()
        names = self.read_options.names
        expect(self.grids.keys() <= set(names), "grids of some of the columns of read_options")
        shapes = {self.values.shape, np.array(self.errors, np.float64).shape}
        expect(shapes == {(len(names), len(self.shares))}, "a number for each column and share")
        expect(len(self.whole) == len(names), "whole for each column")

    def release(self) -> Quantiles:
        """Return the quantiles."""
        own: dict[str, Any] = {
            "names": tuple(self.read_options.names),
            "shares": np.array(self.shares),
            "whole": tuple(self.whole),
            "errors": np.nan_to_num(np.array(self.errors, np.float64), nan=np.inf),
            "grids": {name: grid.grid() for name, grid in self.grids.items()},
        }
        return Quantiles(values=self.values, rows=self.rows, **own, **self.about())


class Classes(Content, frozen=True):
    """The private scores of both classes before smoothing, on one grid."""

    grid: Grid
    positive: Counts
    negative: Counts

    @classmethod
    def of(cls, curve: ROCCurve) -> Self:
        """Return the record of the scores that a curve follows from."""
        found = (curve.positive_, curve.negative_)
        positive, negative = (Counts.of(one, one.noisy) for one in found)
        return cls(grid=Grid.of(curve.grid_), positive=positive, negative=negative)

    def released(
        self, privacy: PrivacyGuarantee
    ) -> tuple[LinearGrid | LogGrid, ClassScores, ClassScores]:
        """Return the scores that a curve follows from."""
        grid, known = self.grid.grid(), privacy.relation == "replace"
        both = self.positive.on(grid), self.negative.on(grid)
        first, second = ClassScores.of_both(*both, rows_known=known)
        return grid, evolve(first, left_out=self.positive.left_out), second


class Groups(Content, frozen=True):
    """The number of groups asked for, and the private sums of each group of probabilities."""

    groups: Annotated[int, Meta(ge=1, le=MOST_GROUPS)]
    table: CalibrationTable

    def __post_init__(self) -> None:
        borders, *others = astuple(self.table)
        alike = len(borders) > 1 and {each.shape for each in others} == {(len(borders) - 1,)}
        expect(alike, "a number of each kind for each group")
        rising = borders[0] == 0.0 and borders[-1] == 1.0 and (np.diff(borders) > 0.0).all()
        expect(rising, "borders that increase from 0 to 1")
        variances = np.stack([self.table.count_variance, self.table.excess_variance])
        expect((variances >= 0.0).all(), "variances of at least 0")


class _Scored(Finding, frozen=True):
    """Names of scores and target, and the target's value for the positive class."""

    scored: Scored
    pos_label: float | str

    @classmethod
    def of_scores(cls, found: ROCCurve | HosmerLemeshow, **own: Any) -> Self:  # noqa: ANN401
        """Return the record of such a finding, and all of its `own`."""
        label = found.pos_label if isinstance(found.pos_label, str) else float(found.pos_label)
        return cls.holding(found, "_", pos_label=label, **own)

    def about(self) -> dict[str, Any]:
        """Return the arguments of `keep_release` besides the release."""
        return {**super().about(), "scored": self.scored}


class CurveFile(_Scored, frozen=True, tag="ROC curve"):
    """A ROC curve, and the thresholds it was asked about."""

    grid_found: bool
    classes: Classes
    asked: list[float]

    @classmethod
    def of(cls, curve: ROCCurve) -> Self:
        """Return the record of a ROC curve."""
        return cls.of_scores(
            curve,
            grid_found=curve.grid is None,
            classes=Classes.of(curve),
        )

    def release(self) -> ROCCurve:
        """Return the fitted curve."""
        privacy = self.guarantee()
        released = self.classes.released(privacy)
        given = None if self.grid_found else released[0]
        curve = ROCCurve(privacy.epsilon, given, self.pos_label, privacy.relation)
        return curve.keep_release(released, asked=tuple(self.asked), **self.about())


class CalibrationFile(_Scored, frozen=True, tag="calibration"):
    """A calibration."""

    probabilities: Counts
    groups: Groups

    @classmethod
    def of(cls, test: HosmerLemeshow) -> Self:
        """Return the record of a calibration."""
        found = test.distribution_
        return cls.of_scores(
            test,
            probabilities=Counts.of(found, found.counts),
            groups=Groups(groups=int(test.groups), table=test.table_),
        )

    def release(self) -> HosmerLemeshow:
        """Return the fitted test."""
        test = HosmerLemeshow(self.guarantee().epsilon, self.groups.groups, self.pos_label)
        found = self.probabilities.distribution(PROBABILITIES)
        return test.keep_release((found, self.groups.table), **self.about())


class EvaluationFile(_Scored, frozen=True, tag="evaluation"):
    """Evaluation of a model, of which a file only has the method and the guarantee."""

    method: str
    model_privacy: dict[str, Any] | None
    other_rows: bool
    cautions: list[str]
    classes: Classes
    asked: list[float]
    groups: Groups | None

    @classmethod
    def of(cls, found: Evaluation) -> Self:
        """Return the record of an evaluation."""
        judged, test = JudgedModel.of(found.model), found.calibration
        return cls.of_scores(
            found.roc,
            method=judged.method,
            model_privacy=None if judged.privacy is None else judged.privacy.to_dict(),
            other_rows=found.other_rows,
            cautions=list(found.cautions),
            classes=Classes.of(found.roc),
            groups=None if test is None else Groups(groups=int(test.groups), table=test.table_),
        )

    def release(self) -> Evaluation:
        """Return the evaluation."""
        own, groups = self.model_privacy, self.groups
        found = evaluation_of(
            JudgedModel(self.method, None if own is None else guaranteed(own)),
            Judged(self.classes.released(self.guarantee()), groups.table if groups else None),
            self.pos_label,
            groups.groups if groups else MOST_GROUPS,
            self.other_rows,
            tuple(self.cautions),
            **self.about(),
        )
        found.roc.asked_ = tuple(self.asked)
        return found


class FoldsFile(Counted, frozen=True, tag="cross-validation"):
    """Errors of models on rows they had not seen; null where nothing is known of a fold."""

    measure: Literal["R2", "AUC"]
    method: str
    target: str
    fitted: Annotated[list[bool], Meta(min_length=2)]
    estimates: list[Estimate | None]

    def __post_init__(self) -> None:
        super().__post_init__()
        expect(len(self.fitted) == len(self.estimates), "as many estimates as folds")
        for fitted, estimate in zip(self.fitted, self.estimates, strict=True):
            known = estimate is None or (fitted and estimate.value <= 1 and estimate.error >= 0)
            expect(known, "a value of at most 1 and an error, of folds with a model")

    def release(self) -> CrossValidation:
        """Return the cross-validation, without its models."""
        own = self.fields(lambda name: name not in Finding.__struct_fields__)
        own |= {"fitted": tuple(self.fitted), "estimates": tuple(self.estimates)}
        return CrossValidation(**own, models=(), evaluations=(), **self.about())
