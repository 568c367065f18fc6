"""Models, selections and pipelines as files."""

from __future__ import annotations

import math
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, cast, get_type_hints

import msgspec
import numpy as np
from attrs import asdict
from msgspec import Meta
from sklearn.base import clone

from nolook._arrays import Flags, Vector
from nolook._validation import check_choice
from nolook.algorithms.glm.additive_inference import ColumnCurve
from nolook.algorithms.scaling import NoisyCount, Scaling
from nolook.estimators._chosen import chosen_columns, offered_columns
from nolook.estimators._classes import declared_classes
from nolook.estimators.base import PrivateModel
from nolook.estimators.catalogue import MODELS, SELECTORS, name_of
from nolook.formats.parts import Fitted, Names
from nolook.formats.strict import Content, convert, expect, plain
from nolook.privacy.accounting import in_sequence
from nolook.privacy.guarantee import Budget

if TYPE_CHECKING:
    from nolook.estimators.pipeline import PrivatePipeline

# Of a pipeline's model, what its selection says.
_SHARED = ("features", "target", "read_options")


class Scales(Content, frozen=True):
    """Standardisation of the columns, the target last."""

    center: Vector
    scale: Vector
    detected: Flags
    limit: Annotated[float, Meta(gt=0)]
    binary: Flags


class Model(Fitted, frozen=True):
    """A fitted model; `model_record` adds what its class keeps, such as coefficients."""

    scaling: Scales

    entries: ClassVar = MODELS

    @classmethod
    def of(cls, found: Any, **others: Any) -> Self:  # noqa: ANN401
        """Return the record of a fitted model."""
        *features, target = found.scaling_.names
        scaling = Scales.of(found.scaling_)
        return super().of(found, features=features, target=target, scaling=scaling, **others)

    def __post_init__(self) -> None:
        super().__post_init__()
        size = len(self.features)
        shapes = {"coef": (size,), "coef_interval": (size, 2), "clipped_share": (size + 1,)}
        for key in ("center", "scale", "detected", "binary"):
            shapes[f"scaling.{key}"] = (size + 1,)
        if getattr(self, "spread", None) is not None:
            shapes |= {"spread.center": (size,), "spread.map": (size, size)}
        for key, shape in shapes.items():
            found = attrgetter(key)(self)
            expect(found is None or np.shape(found) == shape, f"{key} to have {shape[0]} entries")
        expect((self.scaling.scale > 0.0).all(), "scaling.scale to be above 0")

    def estimator(self) -> Any:  # noqa: ANN401
        """Return the fitted model: what is null is as its class says."""
        model, own = super().estimator(), self.fields(Model)
        names, scales = (*self.features, self.target), self.scaling.fields(Content)
        scales["rows"] = self.rows or NoisyCount(1.0, math.inf)
        PrivateModel._store_scaling(model, Scaling(names, **scales))
        for name, value in own.items():
            if value is not None:
                setattr(model, f"{name}_", value)
        if "classes" in own:
            classes = tuple(own["classes"].tolist())
            declared_classes(classes)
            if not self.named:
                model.classes = classes
        _check_model(model, self.features)
        return model


def model_record(method: object) -> Any:  # noqa: ANN401
    """Return the record of a method's models: what its class keeps; null for an infinite number."""
    maker: Any = MODELS[check_choice("method", cast("str", method), MODELS)].load()
    # A linear model's target alone says whether anything is detected.
    known = (*Model.__struct_fields__, *["detected"] * (maker._gain == "r2"))
    own = [
        (name[:-1], hint | None if getattr(maker, name, None) == math.inf else hint)
        for name, hint in get_type_hints(maker, include_extras=True).items()
        if name.endswith("_") and name[:-1] not in known
    ]
    return msgspec.defstruct(
        maker.__name__, own, bases=(Model,), frozen=True, kw_only=True, tag=maker.kind
    )


def _check_model(model: Any, features: list[str]) -> None:  # noqa: ANN401
    """Refuse numbers that no fit of a class gives together."""
    share = model.clipped_share_
    expect(share is None or abs(share - 0.5).max() <= 0.5, "clipped_share from 0 to 1")
    expect({*features}.issuperset(chain(*model.level_sets_)), "level_sets of features")
    measured = [each for each in model.measures if each.name != "base_rate"]
    hidden = [*(each.value for each in measured), *(each.ends for each in measured)]
    hidden += [model.coef_interval_, model.intercept_interval_]
    known = model.detected_ or all(one is None for one in hidden)
    expect(known, "no estimates where nothing is detected")
    chosen, used = model.chosen_, np.flatnonzero(model.coef_)
    if chosen is not None:
        places = np.unique(chosen)
        once = places.shape == chosen.shape and np.isin(places, range(len(features))).all()
        expect(once, "chosen to be places of features, each once")
        expect(np.isin(used, chosen).all(), "coef to hold zeros for features that are not chosen")
    low, high = getattr(model, "target_range_", (0.0, 0.0))
    expect(low <= high, "the lower end of target_range before the upper end")
    fixed = model.failed_ or (model._gain == "r2" and not model.detected_)
    expect(not (fixed and used.size), "coef of zeros where nothing is detected or failed is true")
    if cut := getattr(model, "cut_errors_", None):
        known = min(cut.below, cut.above, cut.effect) >= 0.0 and cut.below + cut.above <= 1.0
        expect(known, "cut_errors to hold shares and a size")
    if hasattr(model, "exposure"):
        named, ends = model.exposure, model.exposure_range_
        expect(low >= 0.0, "target_range to be above 0")
        expect(ends is None or 0.0 < ends[0] <= ends[1], "exposure_range to be above 0")
        expect((named is None) == (ends is None), "exposure_range with an exposure")
        expect(named is None or named in features, "parameters.exposure to be a feature")
    most = len(features) * model.kind.startswith("additive")
    _check_curves(model.curves_, {most, most * (model.detected_ and not model.failed_)})


def _check_curves(curves: tuple[ColumnCurve, ...], sizes: set[int]) -> None:
    """Refuse curves unless there is a valid one for each feature of an additive model."""
    expect(len(curves) in sizes, f"curves to have {max(sizes)} entries")
    for curve in curves:
        places = curve.places
        expect(places.ndim == 1 and places.size, "places of curves to be numbers")
        expect(curve.heights.shape == places.shape, "a height at each of the places of curves")
        known = curve.band is None or curve.band.shape == (places.size, 2)
        expect(known, "band of curves to have two ends at each place")
        for one in (places, places if curve.below is None else curve.below):
            rising = one.shape == places.shape and (np.diff(one) >= 0.0).all()
            expect(rising, "places of curves to be increasing, and a share below each")


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
            **others,
        )

    def estimator(self) -> Any:  # noqa: ANN401
        """Return the fitted selector."""
        selector, chosen = super().estimator(), set(self.chosen)
        some = set(self.features) > chosen and len(chosen) == len(self.chosen)
        expect(some, "chosen to name some of features and not all, each column once")
        fitting = selector.k in {"auto", len(chosen)}
        expect(fitting, "chosen to name as many columns as parameters.k says")
        matching = self.strengths is None or self.strengths.shape == (len(chosen),)
        expect(matching, "strengths to have a number for each column chosen")
        order = np.array([self.features.index(name) for name in self.chosen])
        if selector._ordered:
            selector.order_ = order
        selector.k_, selector.target_name_ = len(order), self.target
        selector.strengths_ = self.strengths
        selector.support_ = np.isin(np.arange(len(self.features)), order)
        return selector


class Pipeline(Content, frozen=True, tag_field="kind", tag="pipeline"):
    """A selection and a model of the chosen columns, within one budget.

    What both have in common stands in the selection, and the guarantee of both follows from theirs.
    """

    budget: Budget
    named: bool
    split: Annotated[float, Meta(gt=0, lt=1)]
    selection: Selection
    model: dict[str, Any]

    @classmethod
    def of(cls, found: PrivatePipeline, **_: Any) -> Self:  # noqa: ANN401
        """Return the record of a fitted pipeline."""
        own = plain(model_record(name_of(found.regression)).of(found.regression))
        return cls(
            budget=found.privacy_.budget,
            named=hasattr(found, "feature_names_in_"),
            split=float(found.split),
            selection=Selection.of(found.selector_),
            model={name: own[name] for name in own if name not in _SHARED},
        )

    def release(self) -> PrivatePipeline:
        """Return the fitted pipeline."""
        from nolook.estimators.pipeline import PrivatePipeline

        selection, selector = self.selection, self.selection.release()
        expect(selection.named >= self.named, "selection.named where named is true")
        chosen = [name for name in selection.features if name in selection.chosen]
        shared = {"features": chosen, "target": selection.target}
        shared["read_options"] = selector.read_options_
        expect(not shared.keys() & self.model, "model to omit what selection says")
        own = convert(self.model | shared, model_record(self.model.get("method")))
        model = own.estimator()
        pipeline = PrivatePipeline(
            clone(selector), clone(model), split=self.split, **asdict(self.budget)
        )
        pipeline.keep_parts(selector, model)
        pipeline.privacy_ = in_sequence((selector.privacy_, model.privacy_), self.budget)
        pipeline.read_options_ = selector.read_options_
        pipeline.n_features_in_ = selector.n_features_in_
        if self.named:
            pipeline.feature_names_in_ = selector.feature_names_in_
        return pipeline
