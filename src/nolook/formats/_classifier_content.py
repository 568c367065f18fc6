"""What a model file says about one fitted classifier, and back."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from msgspec import UNSET, Meta, UnsetType

from nolook._validation import check_choice
from nolook.algorithms.whitening import Spread
from nolook.errors import ParameterError
from nolook.estimators._classes import declared_classes
from nolook.estimators.catalogue import CLASSIFIERS, name_of
from nolook.formats._model_content import (
    Interval,
    Scales,
    Whitened,
    finite,
    numbers,
    scaling_content,
    spread_content,
    withheld,
)
from nolook.formats.parts import (
    Fitted,
    Recipe,
    guarantee_content,
    plain_parameters,
    recipe_content,
    rows_content,
)
from nolook.formats.strict import Broken, Content

if TYPE_CHECKING:
    from nolook.estimators.logistic import LogisticRegression

__all__ = ["Classifier", "classifier_content", "is_classifier"]

_Positive = Annotated[float, Meta(gt=0)]
_Share = Annotated[float, Meta(ge=0, le=1)]
# Keys of a file; attributes of an estimator have a trailing underscore.
_NUMBERS = ("coef", "coef_interval", "intercept", "intercept_interval")
_MEASURES = ("base_rate", "pseudo_r2", "auc")


class ClassMetrics(Content, frozen=True):
    """The share of the positive class, and how well a model does; null where noise hides it."""

    base_rate: _Share
    base_rate_interval: Interval
    pseudo_r2: Annotated[float, Meta(le=1)] | None
    pseudo_r2_interval: Interval | None
    auc: _Share | None
    auc_interval: Interval | None


class Classifier(Fitted, frozen=True, kw_only=True):
    """A fitted classifier; `recipe` is null for one fitted to arrays, an infinite norm is too."""

    method: str
    recipe: Recipe | None
    classes: Annotated[list[str | bool | int | float], Meta(min_length=2, max_length=2)]
    coef: list[float]
    coef_interval: list[Interval | None] | None
    intercept: float
    intercept_interval: Interval | None
    row_norm: _Positive | None
    spread: Whitened | UnsetType = UNSET  # files of version 0.2 have none: rows stay as they are
    scaling: Scales
    metrics: ClassMetrics
    visible: bool
    clipped_share: list[_Share]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("method", self.method, tuple(CLASSIFIERS))
        self.unfitted(self.method, CLASSIFIERS)
        declared_classes(self.classes)
        sizes = {"coef": 0, "coef_interval": 0, "clipped_share": 1}
        for key, more in sizes.items():
            found, expected = getattr(self, key), len(self.features) + more
            if found is not None and len(found) != expected:
                raise Broken(f"expected {key} to have {expected} entries")
        if isinstance(self.spread, Whitened):
            self.spread.check_size(len(self.features))
        *names, target = self.scaling.names
        if names != self.features or target in names:
            raise Broken("expected scaling.names to be the features and the target")
        if self.recipe is not None:
            self.recipe.check_gives(self.features)
        estimates = (self.coef_interval, self.metrics.pseudo_r2, self.metrics.auc)
        if not self.visible and (any(self.coef) or estimates != (None, None, None)):
            raise Broken("expected no coefficients and no estimates where visible is false")

    def _spread(self) -> Spread:
        if isinstance(self.spread, Whitened):
            return self.spread.spread()
        used = np.array(self.scaling.visible[:-1]) | (np.array(self.coef) != 0.0)
        return Spread(np.zeros(used.size), np.diag(used.astype(np.float64)))

    def estimator(self) -> LogisticRegression:
        """Return the fitted model."""
        model: LogisticRegression = self.unfitted(self.method, CLASSIFIERS)
        for key in _NUMBERS:
            setattr(model, f"{key}_", numbers(getattr(self, key)))
        for key in (end for name in _MEASURES for end in (name, f"{name}_interval")):
            setattr(model, f"{key}_", numbers(getattr(self.metrics, key)))
        model.row_norm_ = math.inf if self.row_norm is None else self.row_norm
        model.spread_ = self._spread()
        model.scaling_ = self.scaling.scaling(self.rows())
        model.visible_ = self.visible
        model.clipped_share_ = np.array(self.clipped_share)
        model.classes_ = np.array(self.classes)
        model.privacy_ = self.guarantee()
        model.n_features_in_ = len(self.features)
        model.recipe_ = {"features": self.features, "categories": {}, "missing": "error"}
        if self.recipe is None:
            model.classes = tuple(self.classes)
        else:
            model.recipe_ = self.recipe.options()
            model.feature_names_in_ = np.array(self.features, dtype=object)
        return model


def is_classifier(model: object) -> bool:
    """Tell whether a model is of a method with classes."""
    return name_of(model) in CLASSIFIERS


def classifier_content(model: LogisticRegression) -> dict[str, Any]:
    """Return everything a file says about a classifier."""
    if not hasattr(model, "privacy_"):
        raise ParameterError(
            f"model is a {type(model).__name__}; expected a fitted one (call fit first)"
        )
    measures = [end for name in _MEASURES for end in (name, f"{name}_interval")]
    return {
        "method": name_of(model),
        "parameters": plain_parameters(model),
        # Columns of arrays have no names, so scikit-learn asks for none when predicting.
        "recipe": recipe_content(model.recipe_) if hasattr(model, "feature_names_in_") else None,
        "features": model.scaling_.names[:-1],
        "classes": model.classes_.tolist(),
        **{key: withheld(getattr(model, f"{key}_")) for key in _NUMBERS},
        "row_norm": finite(model.row_norm_) or None,
        "spread": spread_content(model.spread_),
        "scaling": scaling_content(model.scaling_),
        "metrics": {key: getattr(model, f"{key}_") for key in measures},
        "visible": model.visible_,
        "clipped_share": model.clipped_share_,
        **rows_content(model),
        **guarantee_content(model.privacy_),
    }
