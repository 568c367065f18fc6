"""Models, selections and pipelines as files."""

from __future__ import annotations

import math
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, TypeAlias, get_args

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray
from sklearn.base import clone

from nolook.algorithms.glm.additive_inference import ColumnCurve
from nolook.algorithms.glm.error_inference import CutErrors
from nolook.algorithms.scaling import NoisyCount, Scaling
from nolook.algorithms.whitening import Spread
from nolook.estimators._chosen import chosen_columns, offered_columns
from nolook.estimators._classes import declared_classes
from nolook.estimators.catalogue import CLASSIFIERS, COUNTS, METHODS, SELECTORS
from nolook.formats.parts import Fitted, Names, Release
from nolook.formats.strict import Content, Interval, Intervals, Places, Vector, expect
from nolook.privacy import accounting

if TYPE_CHECKING:
    from nolook.estimators.pipeline import PrivatePipeline

_Bound = Annotated[float, Meta(ge=0)]
_Share = Annotated[float, Meta(ge=0, le=1)]
_Least1 = Annotated[float, Meta(le=1)]


# What is null where nothing is detected.
_ESTIMATES = (
    *("coef", "intercept", "r2", "median_error", "p90_error", "rmse"),
    *("pseudo_r2", "auc", "deviance_explained"),
)
_HIDDEN = {*_ESTIMATES[2:], *(f"{name}_interval" for name in _ESTIMATES)}


class Scales(Content, frozen=True):
    """Standardisation of the columns, the target last."""

    center: Vector
    scale: Vector
    detected: NDArray[np.bool_]
    limit: Annotated[float, Meta(gt=0)]
    binary: NDArray[np.bool_]

    def scaling(self, names: tuple[str, ...], rows: NoisyCount | None) -> Scaling:
        """Return the scaling of these columns."""
        return Scaling(names, **self.fields(), rows=rows or NoisyCount(1.0, math.inf))


class _Model(Fitted, frozen=True):
    """Coefficients, and the scaling that rows go through; null stands for what is not known."""

    coef: Vector
    coef_interval: Intervals | None
    intercept: float
    intercept_interval: Interval | None
    scaling: Scales
    weight_norm: Annotated[float, Meta(gt=0)] | None
    spread: Spread | None
    clipped_share: list[_Share] | None
    level_sets: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, found: Any, **others: Any) -> Self:  # noqa: ANN401
        """Return the record of a fitted model."""
        scaling = found.scaling_
        return super().of(
            found,
            features=list(scaling.names[:-1]),
            target=scaling.names[-1],
            scaling=Scales.holding(scaling),
            **others,
        )

    def __post_init__(self) -> None:
        super().__post_init__()
        size = len(self.features)
        shapes = {"coef": (size,), "coef_interval": (size, 2), "clipped_share": (size + 1,)}
        for key in ("center", "scale", "detected", "binary"):
            shapes[f"scaling.{key}"] = (size + 1,)
        if self.spread is not None:
            shapes |= {"spread.center": (size,), "spread.map": (size, size)}
        for key, shape in shapes.items():
            found = attrgetter(key)(self)
            expect(found is None or np.shape(found) == shape, f"{key} to have {shape[0]} entries")
        names = {*self.features}
        expect(all(names.issuperset(each) for each in self.level_sets), "level_sets of features")
        expect((self.scaling.scale > 0.0).all(), "scaling.scale to be above 0")
        detected = bool(getattr(self, "detected", self.scaling.detected[-1]))
        if (curves := getattr(self, "curves", None)) is not None:
            _check_curves(curves, size, detected=detected and not getattr(self, "failed", False))
        if not detected:
            known = self.fields(lambda name: name in _HIDDEN and getattr(self, name) is not None)
            expect(not known, "no estimates where nothing is detected")

    def estimator(self) -> Any:  # noqa: ANN401
        """Return the fitted model: what is null is as its class says."""
        model = super().estimator()
        own = self.fields(lambda name: name not in Fitted.__struct_fields__)
        own["scaling"] = self.scaling.scaling((*self.features, self.target), self.rows)
        for name, value in own.items():
            if value is not None:
                made = tuple if name == "curves" else np.array
                setattr(model, f"{name}_", made(value) if isinstance(value, list) else value)
        return model


def _check_curves(curves: list[ColumnCurve], size: int, *, detected: bool) -> None:
    """Refuse curves unless there is a valid one for each feature."""
    expect(len(curves) == size or not (detected or curves), f"curves to have {size} entries")
    for curve in curves:
        places = curve.places
        expect(places.ndim == 1 and places.size > 0, "places of curves to be numbers")
        expect((np.diff(places) >= 0.0).all(), "places of curves to be increasing")
        expect(curve.heights.shape == places.shape, "a height at each of the places of curves")
        known = curve.band is None or curve.band.shape == (places.size, 2)
        expect(known, "band of curves to have two ends at each place")
        below = places if curve.below is None else curve.below
        expect(
            below.shape == places.shape and (np.diff(below) >= 0.0).all(),
            "below of curves to be increasing, a share at each place",
        )


class LinearModel(_Model, frozen=True, tag="linear model"):
    """A fitted regression."""

    entries: ClassVar = METHODS

    target_range: tuple[float, float]
    row_norm: _Bound | None
    r2: float | None
    r2_interval: Interval | None
    median_error: _Bound | None
    median_error_interval: Interval | None
    p90_error: _Bound | None
    p90_error_interval: Interval | None
    rmse: float | None
    rmse_interval: Interval | None
    cut_errors: CutErrors | None
    smearing: Annotated[float, Meta(ge=1)] | None
    failed: bool
    influence_bound: Annotated[float, Meta(gt=0)] | None
    chosen: Places | None

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = self.target_range
        expect(low <= high, "the lower end of target_range before the upper end")
        expect(not (self.failed and self.coef.any()), "coef to hold zeros where failed is true")
        if not self.scaling.detected[-1]:
            expect(not self.coef.any(), "coef to hold zeros where nothing is detected")
        if (cut := self.cut_errors) is not None:
            shares = min(cut.below, cut.above), cut.below + cut.above
            expect(
                shares[0] >= 0.0 and shares[1] <= 1.0 and cut.effect >= 0.0,
                "cut_errors to hold shares and a size",
            )
        if self.chosen is not None:
            places = set(self.chosen.tolist())
            once = len(places) == len(self.chosen) and places <= set(range(len(self.coef)))
            expect(once, "chosen to be places of features, each once")
            used = set(np.flatnonzero(self.coef).tolist())
            expect(used <= places, "coef to hold zeros for features that are not chosen")

    def estimator(self) -> Any:  # noqa: ANN401
        """Return the fitted regression."""
        model = super().estimator()
        model.detected_ = bool(self.scaling.detected[-1])
        return model


class AdditiveModel(LinearModel, frozen=True, tag="additive model"):
    """A fitted regression with a curve for each column."""

    curves: list[ColumnCurve]


class LogisticModel(_Model, frozen=True, tag="logistic model"):
    """A fitted classifier."""

    entries: ClassVar = CLASSIFIERS

    classes: list[str | bool | int | float]
    detected: bool
    base_rate: _Share
    base_rate_interval: Interval | None
    pseudo_r2: _Least1 | None
    pseudo_r2_interval: Interval | None
    auc: _Share | None
    auc_interval: Interval | None

    def __post_init__(self) -> None:
        super().__post_init__()
        declared_classes(self.classes)
        expect(self.clipped_share is not None, "clipped_share")

    def estimator(self) -> Any:  # noqa: ANN401
        """Return the fitted classifier."""
        model = super().estimator()
        if not self.named:
            model.classes = tuple(self.classes)
        return model


class AdditiveLogisticModel(LogisticModel, frozen=True, tag="additive logistic model"):
    """A fitted classifier with a curve for each column."""

    curves: list[ColumnCurve]


class CountModel(_Model, frozen=True, tag="count model"):
    """A fitted regression of counts."""

    entries: ClassVar = COUNTS

    detected: bool
    target_range: tuple[float, float]
    influence_bound: Annotated[float, Meta(gt=0)]
    exposure_range: tuple[float, float] | None
    deviance_explained: _Least1 | None
    deviance_explained_interval: Interval | None

    def __post_init__(self) -> None:
        super().__post_init__()
        expect(0.0 <= self.target_range[0] <= self.target_range[1], "target_range to be above 0")
        named, ends = self.parameters["exposure"], self.exposure_range
        expect(ends is None or 0.0 < ends[0] <= ends[1], "exposure_range to be above 0")
        expect((named is None) == (ends is None), "exposure_range with an exposure")
        expect(named is None or named in self.features, "parameters.exposure to be a feature")


class AdditiveCountModel(CountModel, frozen=True, tag="additive count model"):
    """A fitted regression of counts with a curve for each column."""

    curves: list[ColumnCurve]


_Any: TypeAlias = (
    LinearModel
    | LogisticModel
    | CountModel
    | AdditiveModel
    | AdditiveLogisticModel
    | AdditiveCountModel
)
#: The records of models by the kind of the model.
MODELS: dict[str, Any] = {str(each.__struct_config__.tag): each for each in get_args(_Any)}


class Selection(Fitted, frozen=True, tag="selection"):
    """The chosen columns: in the order of choice, or else in that of the table."""

    entries: ClassVar = SELECTORS

    chosen: Names
    strengths: Vector | None

    @classmethod
    def of(cls, found: Any, **others: Any) -> Self:  # noqa: ANN401
        """Return the record of a fitted selector."""
        return super().of(
            found,
            features=offered_columns(found),
            target=found.target_name_,
            chosen=list(chosen_columns(found)[0]),
            strengths=found.strengths_,
            **others,
        )

    def __post_init__(self) -> None:
        super().__post_init__()
        chosen = set(self.chosen)
        some = set(self.features) > chosen and len(chosen) == len(self.chosen)
        expect(some, "chosen to name some of features and not all, each column once")
        fitting = self.parameters["k"] in {"auto", len(chosen)}
        expect(fitting, "chosen to name as many columns as parameters.k says")
        told = self.strengths is None or self.strengths.shape == (len(chosen),)
        expect(told, "strengths to have a number for each column chosen")

    def estimator(self) -> Any:  # noqa: ANN401
        """Return the fitted selector."""
        selector = super().estimator()
        order = np.array([self.features.index(name) for name in self.chosen])
        if selector._ordered:
            selector.order_ = order
        if self.strengths is not None:
            selector.strengths_ = self.strengths
        selector.k_, selector.target_name_ = len(order), self.target
        selector.support_ = np.isin(np.arange(len(self.features)), order)
        return selector


class Pipeline(Release, frozen=True, tag="pipeline"):
    """A selection, a model of the chosen columns, and the guarantee of both together."""

    named: bool
    split: Annotated[float, Meta(gt=0, lt=1)]
    selection: Selection
    model: _Any

    @classmethod
    def of(cls, pipeline: PrivatePipeline) -> Self:
        """Return the record of a fitted pipeline."""
        return cls(
            privacy=pipeline.privacy_.to_dict(),
            named=hasattr(pipeline, "feature_names_in_"),
            split=float(pipeline.split),
            selection=Selection.of(pipeline.selector_),
            model=MODELS[pipeline.regression.kind].of(pipeline.regression),
        )

    def __post_init__(self) -> None:
        super().__post_init__()
        selection, model = self.selection, self.model
        chosen = [name for name in selection.features if name in selection.chosen]
        expect(model.features == chosen, "model.features to be the columns chosen, in order")
        alike = (model.read_options, model.target) == (selection.read_options, selection.target)
        expect(alike, "selection and model to have the same read_options and target")
        whole, parts = self.guarantee(), (selection.guarantee(), model.guarantee())
        try:
            together = accounting.in_sequence(parts, whole.budget)
        except ValueError:
            together = None
        expect(whole == together, "privacy to be that of selection and model together")

    def release(self) -> PrivatePipeline:
        """Return the fitted pipeline."""
        from nolook.estimators.pipeline import PrivatePipeline

        selector, model = self.selection.release(), self.model.estimator()
        privacy = self.guarantee()
        pipeline = PrivatePipeline(
            clone(selector), clone(model), privacy.epsilon, privacy.delta, self.split
        )
        pipeline.keep_parts(selector, model)
        pipeline.privacy_, pipeline.read_options_ = privacy, selector.read_options_
        pipeline.n_features_in_ = selector.n_features_in_
        if self.named:
            pipeline.feature_names_in_ = selector.feature_names_in_
        return pipeline
