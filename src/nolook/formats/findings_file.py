"""Distributions, quantiles, ROC curves, calibrations, evaluations and cross-validations as files.

Whatever follows from the released numbers is computed again when a file is read.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self, TypeAlias

import numpy as np
from attrs import astuple, evolve
from msgspec import Meta

from nolook._arrays import Vector
from nolook.algorithms.calibration_table import CalibrationTable
from nolook.algorithms.cross_validation import Estimate
from nolook.algorithms.cumulative_noise import ForestNoise
from nolook.algorithms.distribution import PrivateDistribution
from nolook.algorithms.evaluation import Calibrated, Judged
from nolook.algorithms.forest import forest_of
from nolook.algorithms.grids import GRID_KINDS, GRIDS, PROBABILITIES, LinearGrid, LogGrid
from nolook.algorithms.roc_curve import RocCurve
from nolook.algorithms.scaling import NoisyCount
from nolook.estimators._checks import check_grid
from nolook.estimators._parameters import AtLeast0, Share
from nolook.estimators._scores import Scored
from nolook.estimators.calibration import MOST_GROUPS, HosmerLemeshow
from nolook.estimators.ecdf import ECDF
from nolook.estimators.evaluation import Evaluation, evaluation_of
from nolook.estimators.folds import CrossValidation
from nolook.estimators.quantiles import Quantiles
from nolook.estimators.roc import ROCCurve
from nolook.formats.parts import Counted, Finding, guaranteed
from nolook.formats.strict import Content, expect
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

#: Thresholds at equal steps or ratios: kind, low, high and step.
_Grid: TypeAlias = tuple[Literal["linear", "log"], float, float, float]


def _plain(grid: LinearGrid | LogGrid | None) -> Any:  # noqa: ANN401
    return grid and (GRID_KINDS[type(grid)], *astuple(grid))


def _grid(plain: _Grid | None) -> LinearGrid | LogGrid | None:
    return plain and GRIDS[plain[0]](*plain[1:])


class Counts(Content, frozen=True):
    """Private counts up to thresholds: 0 at first, then each from its threshold to the next."""

    thresholds: Vector
    counts: Vector
    lengths: list[int]
    block_variance: AtLeast0
    rows_variance: AtLeast0
    left_out: tuple[float, AtLeast0] | None  # and its error

    @classmethod
    def of(cls, found: Any, **_: Any) -> Self:  # noqa: ANN401
        """Return the record of a distribution's counts, of scores before smoothing."""
        counts = getattr(found, "noisy", found.counts)
        changed = np.flatnonzero(np.diff(counts, prepend=0.0))
        own = {"thresholds": found.points[changed], "counts": counts[changed]}
        own["lengths"] = list(found.noise.forest.lengths)
        return super().of(found.noise, **own, left_out=found.left_out)

    def __post_init__(self) -> None:
        shape = self.thresholds.shape
        expect(len(shape) == 1 and self.counts.shape == shape, "as many counts as thresholds")
        expect(np.diff(self.counts, prepend=0.0).all(), "counts that change at every threshold")

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

    grid: _Grid | None
    whole: bool
    counts: Counts
    squares: Counts | None

    @classmethod
    def of(cls, found: Any, **others: Any) -> Self:  # noqa: ANN401
        """Return the record of a distribution."""
        known = found.distribution_
        return super().of(
            found,
            grid=_plain(found.grid),
            whole=known.whole,
            counts=Counts.of(known),
            squares=known.squares and Counts.of(known.squares),
            **others,
        )

    def release(self) -> ECDF:
        """Return the distribution."""
        expect(len(self.read_options.names) == 1, "read_options to name one column")
        privacy, grid = self.guarantee(), _grid(self.grid)
        ecdf = ECDF(privacy.epsilon, grid, privacy.delta, privacy.relation)
        weighted = (self.squares is not None) == (privacy.unit.weighting is not None)
        expect(weighted, "squares where there are survey weights only")
        released = self.counts.distribution(grid, whole=self.whole)
        if self.squares is not None:
            released = evolve(released, squares=self.squares.distribution(grid, whole=self.whole))
        return ecdf.keep_release((released,), **self.about())


class QuantilesFile(Counted, frozen=True, tag="quantiles"):
    """Quantiles of some columns: a row of values and ends for each column, null if infinite."""

    grids: dict[str, _Grid]
    whole: tuple[bool, ...]
    shares: Annotated[list[Share], Meta(min_length=1)]
    values: Vector
    ends: list[list[list[float | None]]]
    rows: NoisyCount

    @classmethod
    def of(cls, found: Any, **others: Any) -> Self:  # noqa: ANN401
        """Return the record of quantiles."""
        grids = {name: _plain(grid) for name, grid in found.grids.items()}
        ends: Any = np.where(np.isinf(found.ends), None, found.ends)
        return super().of(found, grids=grids, ends=ends.tolist(), **others)

    def __post_init__(self) -> None:
        super().__post_init__()
        names = self.read_options.names
        expect(self.grids.keys() <= set(names), "grids of some of the columns of read_options")
        shape = len(names), len(self.shares)
        expect(self.values.shape == shape, "a number for each column and share")
        expect(np.array(self.ends, float).shape == (*shape, 2), "two ends for each number")
        expect(len(self.whole) == len(names), "whole for each column")

    def release(self) -> Quantiles:
        """Return the quantiles."""
        ends = np.array(self.ends, float)
        own: dict[str, Any] = {
            "names": tuple(self.read_options.names),
            "shares": np.array(self.shares),
            "ends": np.where(np.isnan(ends), [-np.inf, np.inf], ends),
            "grids": {name: _grid(grid) for name, grid in self.grids.items()},
        }
        return Quantiles(**self.fields(Finding) | self.about() | own)


class Classes(Content, frozen=True):
    """The private scores of both classes before smoothing, on one grid."""

    grid: _Grid
    positive: Counts
    negative: Counts
    whole: bool

    @classmethod
    def of(cls, found: Any, **_: Any) -> Self:  # noqa: ANN401
        """Return the record of the scores that a curve follows from."""
        first, second = found.positive_, found.negative_
        own = {"grid": _plain(found.grid_), "whole": first.whole}
        return super().of(found, positive=Counts.of(first), negative=Counts.of(second), **own)

    def released(self, privacy: PrivacyGuarantee, table: CalibrationTable | None = None) -> Judged:
        """Return the curve that follows from the scores of both classes, with any groups."""
        grid: Any = _grid(self.grid)
        both = self.positive.on(grid), self.negative.on(grid)
        known = privacy.relation == "replace"
        curve = RocCurve.of(both, self.positive.left_out, rows_known=known, whole=self.whole)
        return Judged(grid, curve, table)


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
        small = (np.abs(others[:3]) < 2.0**61).all() and np.max(others) < 2.0**122
        expect(small and np.min(others[3:]) >= 0.0, "sums of rows, and variances of at least 0")


class _Scored(Finding, frozen=True):
    """Names of scores and target, and the target's value for the positive class."""

    scored: Scored
    pos_label: bool | int | float | str

    def about(self) -> dict[str, Any]:
        """Return the arguments of `keep_release` besides the release."""
        return {**super().about(), "scored": self.scored}


class CurveFile(_Scored, frozen=True, tag="ROC curve"):
    """A ROC curve, and the thresholds it was asked about."""

    grid_found: bool
    classes: Classes
    asked: tuple[float, ...]

    @classmethod
    def of(cls, found: Any, **others: Any) -> Self:  # noqa: ANN401
        """Return the record of a ROC curve."""
        return super().of(found, grid_found=found.grid is None, classes=Classes.of(found), **others)

    def release(self) -> ROCCurve:
        """Return the fitted curve."""
        privacy = self.guarantee()
        released = self.classes.released(privacy)
        given = None if self.grid_found else released.grid
        curve = ROCCurve(privacy.epsilon, given, self.pos_label, privacy.relation)
        return curve.keep_release(released, asked=self.asked, **self.about())


class CalibrationFile(_Scored, frozen=True, tag="calibration"):
    """A calibration."""

    probabilities: Counts
    groups: Groups

    @classmethod
    def of(cls, found: Any, **others: Any) -> Self:  # noqa: ANN401
        """Return the record of a calibration."""
        own = {"probabilities": Counts.of(found.distribution_), "groups": Groups.of(found)}
        return super().of(found, **own, **others)

    def release(self) -> HosmerLemeshow:
        """Return the fitted test."""
        test = HosmerLemeshow(self.guarantee().epsilon, self.groups.groups, self.pos_label)
        found = self.probabilities.distribution(PROBABILITIES)
        return test.keep_release(Calibrated(found, self.groups.table), **self.about())


class EvaluationFile(_Scored, frozen=True, tag="evaluation"):
    """Evaluation of a model, of which a file only has the method and the guarantee."""

    method: str
    model_privacy: dict[str, Any] | None
    other_rows: bool
    hidden: bool
    classes: Classes
    asked: tuple[float, ...]
    groups: Groups | None

    @classmethod
    def of(cls, found: Any, **others: Any) -> Self:  # noqa: ANN401
        """Return the record of an evaluation."""
        return super().of(
            found.roc,
            method=found.method,
            model_privacy=found.model_privacy and found.model_privacy.to_dict(),
            other_rows=found.other_rows,
            hidden=found.hidden,
            classes=Classes.of(found.roc),
            groups=found.calibration and Groups.of(found.calibration),
            **others,
        )

    def release(self) -> Evaluation:
        """Return the evaluation."""
        own, groups = self.model_privacy, self.groups
        table, asked = (groups.table, groups.groups) if groups else (None, MOST_GROUPS)
        found = evaluation_of(
            (self.method, None if own is None else guaranteed(own), self.hidden),
            self.classes.released(self.guarantee(), table),
            self.pos_label,
            asked,
            self.other_rows,
            **self.about(),
        )
        found.roc.asked_ = self.asked
        return found


class FoldsFile(Counted, frozen=True, tag="cross-validation"):
    """Errors of models on rows they had not seen; null where nothing is known of a fold."""

    measure: Literal["R2", "AUC"]
    method: str
    target: str
    fitted: Annotated[tuple[bool, ...], Meta(min_length=2)]
    estimates: tuple[Estimate | None, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        expect(len(self.fitted) == len(self.estimates), "as many estimates as folds")
        expect(self.measure == "R2" or self.read_options.positive, "positive in read_options")
        for fitted, estimate in zip(self.fitted, self.estimates, strict=True):
            known = estimate is None or (fitted and estimate.value <= 1 and estimate.error >= 0)
            expect(known, "a value of at most 1 and an error, of folds with a model")

    def release(self) -> CrossValidation:
        """Return the cross-validation, without its models."""
        return CrossValidation(**self.fields(Finding), **self.about(), models=())
