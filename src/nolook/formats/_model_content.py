"""What a model file says about one fitted model, and back."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np
from attrs import evolve
from msgspec import UNSET, Meta, UnsetType
from numpy.typing import NDArray

from nolook._validation import check_choice
from nolook.algorithms.scaling import NoisyCount, Scaling
from nolook.algorithms.whitening import Spread
from nolook.errors import ParameterError
from nolook.estimators.catalogue import METHODS, name_of
from nolook.formats.parts import (
    Fitted,
    Names,
    Recipe,
    guarantee_content,
    plain_parameters,
    recipe_content,
    rows_content,
)
from nolook.formats.strict import Broken, Content

if TYPE_CHECKING:
    from nolook.estimators.base import PrivateRegressor

__all__ = [
    "Interval",
    "Model",
    "Scales",
    "Whitened",
    "finite",
    "model_content",
    "numbers",
    "scaling_content",
    "spread_content",
    "withheld",
]

_Positive = Annotated[float, Meta(gt=0)]
_Share = Annotated[float, Meta(ge=0, le=1)]
_Place = Annotated[int, Meta(ge=0)]
# Keys of a file; attributes of an estimator have a trailing underscore.
_NUMBERS = ("coef", "coef_interval", "intercept", "intercept_interval")
# What only some files say: version 0.1 knew just the first, of methods that can fail.
_OUTCOMES = ("failed", "visible")
# What only some methods find.
_FINDINGS = ("weight_norm", "influence_bound", "clipped_share", "chosen")


class Interval(Content, frozen=True, array_like=True):
    """A lower and an upper end."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise Broken("expected the lower end before the upper end")


class Metrics(Content, frozen=True):
    """How well a model does; null for what its method does not estimate."""

    r2: float | None
    r2_interval: Interval | None
    rmse: float | None
    rmse_interval: Interval | None


_METRICS = Metrics.__struct_fields__


class Scales(Content, frozen=True):
    """How columns were standardised, the target last; a limit of null is infinite."""

    names: Names
    center: list[float]
    scale: list[_Positive]
    visible: list[bool]
    limit: _Positive | None
    binary: list[bool] | UnsetType = UNSET

    def __post_init__(self) -> None:
        for key in ("center", "scale", "visible", "binary"):
            entries = getattr(self, key)
            if entries is not UNSET and len(entries) != len(self.names):
                raise Broken(f"expected {key} to have {len(self.names)} entries")

    def scaling(self, rows: NoisyCount | None) -> Scaling:
        """Return the scaling, found in a table of so many rows if they were counted."""
        limit = math.inf if self.limit is None else self.limit
        center, scale, visible = map(np.array, (self.center, self.scale, self.visible))
        found = Scaling(tuple(self.names), center, scale, visible, limit)
        if self.binary is not UNSET:
            found = evolve(found, binary=np.array(self.binary))
        return found if rows is None else evolve(found, rows=rows)


class Whitened(Content, frozen=True):
    """What rows of standardised columns are whitened by: their centre, and a matrix, row by row."""

    center: list[float]
    map: list[list[float]]

    def check_size(self, size: int) -> None:
        """Raise unless it is for rows of this size."""
        if {len(self.center), len(self.map), *map(len, self.map)} != {size}:
            raise Broken(f"expected spread.center, spread.map and its rows to have {size} entries")

    def spread(self) -> Spread:
        """Return what an estimator holds for it."""
        size = len(self.center)
        return Spread(np.array(self.center), np.array(self.map).reshape(size, size))


class Model(Fitted, frozen=True, kw_only=True):
    """A fitted regression; `recipe` is null for one fitted to arrays, infinite numbers are too."""

    method: str
    recipe: Recipe | None
    coef: list[float]
    coef_interval: list[Interval | None] | None
    intercept: float
    intercept_interval: Interval | None
    label_range: tuple[float | None, float | None]
    row_norm: _Positive | None
    scaling: Scales
    metrics: Metrics
    failed: bool | UnsetType = UNSET
    visible: bool | UnsetType = UNSET
    weight_norm: _Positive | UnsetType = UNSET
    influence_bound: _Positive | UnsetType = UNSET
    spread: Whitened | UnsetType = UNSET
    clipped_share: list[_Share] | UnsetType = UNSET
    chosen: list[_Place] | UnsetType = UNSET

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("method", self.method, tuple(METHODS))
        self.unfitted(self.method, METHODS)
        self._check_sizes()
        self._check_chosen()
        low, high = self._target_range()
        if low > high:
            raise Broken("expected the lower end of label_range before the upper end")
        *names, target = self.scaling.names
        if names != self.features or target in names:
            raise Broken("expected scaling.names to be the features and the target")
        if self.recipe is not None:
            self.recipe.check_gives(self.features)
        if self.failed is True and any(self.coef):
            raise Broken("expected coef to hold zeros where failed is true")
        if self.visible is not UNSET and self.visible != self.scaling.visible[-1]:
            raise Broken("expected visible to be the last of scaling.visible")
        if self.visible is False and (any(self.coef) or self._estimates()):
            raise Broken("expected no coefficients and no estimates where visible is false")

    def _check_sizes(self) -> None:
        for key, more in {"coef": 0, "coef_interval": 0, "clipped_share": 1}.items():
            found, expected = getattr(self, key), len(self.features) + more
            if found not in (None, UNSET) and len(found) != expected:
                raise Broken(f"expected {key} to have {expected} entries")
        if isinstance(self.spread, Whitened):
            self.spread.check_size(len(self.features))

    def _check_chosen(self) -> None:
        if self.chosen is UNSET:
            return
        places = set(self.chosen)
        if len(places) < len(self.chosen) or not places <= set(range(len(self.features))):
            raise Broken("expected chosen to be places of features, each once")
        if any(slope for place, slope in enumerate(self.coef) if place not in places):
            raise Broken("expected coef to hold zeros for features that are not chosen")

    def _estimates(self) -> bool:
        places = ((self, ("coef_interval", "intercept_interval")), (self.metrics, _METRICS))
        return any(getattr(place, key) is not None for place, keys in places for key in keys)

    def _target_range(self) -> tuple[float, float]:
        low, high = self.label_range
        return -math.inf if low is None else low, math.inf if high is None else high

    def estimator(self) -> PrivateRegressor:
        """Return the fitted model."""
        model: PrivateRegressor = self.unfitted(self.method, METHODS)
        for place, keys in ((self, _NUMBERS), (self.metrics, _METRICS)):
            for key in keys:
                setattr(model, f"{key}_", numbers(getattr(place, key)))
        model.target_range_ = self._target_range()
        if self.row_norm is not None:
            model.row_norm_ = self.row_norm
        model.scaling_ = self.scaling.scaling(self.rows())
        model.privacy_ = self.guarantee()
        model.n_features_in_ = len(self.features)
        # Of arrays: another table is to have columns of the names they were given.
        model.recipe_ = {"features": self.features, "categories": {}, "missing": "error"}
        if self.recipe is not None:
            model.recipe_ = self.recipe.options()
            model.feature_names_in_ = np.array(self.features, dtype=object)
        for key in _OUTCOMES:
            if getattr(self, key) is not UNSET:
                setattr(model, f"{key}_", getattr(self, key))
        self._keep_findings(model)
        return model

    def _keep_findings(self, model: PrivateRegressor) -> None:
        for key in ("weight_norm", "influence_bound"):
            if getattr(self, key) is not UNSET:
                setattr(model, f"{key}_", getattr(self, key))
        if isinstance(self.spread, Whitened):
            model.spread_ = self.spread.spread()
        if self.clipped_share is not UNSET:
            model.clipped_share_ = np.array(self.clipped_share)
        if self.chosen is not UNSET:
            model.chosen_ = np.array(self.chosen, dtype=np.intp)


def numbers(value: object) -> NDArray[np.float64] | float | None:
    """Return what an estimator holds for a number, a list of them, or intervals of a file."""
    plain = msgspec.to_builtins(value)
    if not isinstance(plain, list):
        return plain  # type: ignore[no-any-return]
    # An interval that is withheld is null in a file, and NaN in an array.
    pair = [math.nan, math.nan]
    return np.array([pair if entry is None else entry for entry in plain], dtype=np.float64)


def model_content(model: PrivateRegressor) -> dict[str, Any]:
    """Return everything a file says about a model."""
    method = name_of(model)
    if method not in METHODS or not hasattr(model, "privacy_"):
        known = ", ".join(entry.kind for entry in METHODS.values())
        raise ParameterError(
            f"model is of type {type(model).__name__}; expected a fitted {known} (call fit first)"
        )
    scaling, spread = model.scaling_, vars(model).get("spread_")
    return {
        "method": method,
        "parameters": plain_parameters(model),
        # Columns of arrays have no names, so scikit-learn asks for none when predicting.
        "recipe": recipe_content(model.recipe_) if hasattr(model, "feature_names_in_") else None,
        "features": scaling.names[:-1],
        **{key: withheld(getattr(model, f"{key}_")) for key in _NUMBERS},
        "label_range": [finite(end) for end in model.target_range_],
        "row_norm": finite(model.row_norm_),
        "scaling": scaling_content(scaling),
        "metrics": {key: getattr(model, f"{key}_") for key in _METRICS},
        **rows_content(model),
        **guarantee_content(model.privacy_),
        **{
            key: vars(model)[f"{key}_"]
            for key in (*_OUTCOMES, *_FINDINGS)
            if vars(model).get(f"{key}_") is not None
        },
        **({} if spread is None else {"spread": spread_content(spread)}),
    }


def spread_content(spread: Spread) -> dict[str, Any]:
    """Return what a file says of what rows are whitened by."""
    return {"center": spread.center, "map": spread.map}


def scaling_content(scaling: Scaling) -> dict[str, Any]:
    """Return what a file says of how columns were standardised."""
    return {
        "names": scaling.names,
        "center": scaling.center,
        "scale": scaling.scale,
        "visible": scaling.visible,
        "limit": finite(scaling.limit),
        **({"binary": scaling.binary} if scaling.binary.any() else {}),
    }


def withheld(value: Any) -> Any:  # noqa: ANN401 -- a number, an array or None
    """Return intervals as a list, null where there is none."""
    if value is None or np.ndim(value) < 2:
        return value
    return [None if np.isnan(ends).any() else ends for ends in value]


def finite(value: float) -> float | None:
    """Return a number, None for an infinite one: JSON has none."""
    return float(value) if math.isfinite(value) else None
