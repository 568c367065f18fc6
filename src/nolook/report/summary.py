"""What a report says, before it has a form: the page and the terminal show the same numbers."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from attrs import fields
from numpy.typing import NDArray

from nolook.algorithms.inference import LEVEL
from nolook.algorithms.scaling import ScaleSearch
from nolook.estimators.base import PrivateRegressor
from nolook.estimators.catalogue import own_parameters, unproved_settings
from nolook.privacy.guarantee import (
    ApproximateEvent,
    Event,
    GaussianEvent,
    PrivacyGuarantee,
    PureEvent,
    SampledGaussianEvent,
)
from nolook.report.wording import NOT_ESTIMATED

__all__ = [
    "CONFIDENCE",
    "Coefficient",
    "Spent",
    "certainty_in_words",
    "coefficients",
    "estimate",
    "has_intervals",
    "interval",
    "label_range_in_words",
    "number",
    "origin_of_scales",
    "spending",
]

#: The level of all intervals, as text.
CONFIDENCE = f"{100 * LEVEL:.0f} %"

_MECHANISMS: dict[type[Event], str] = {
    GaussianEvent: "Gaussian noise",
    PureEvent: "pure mechanism",
    ApproximateEvent: "approximate mechanism",
    SampledGaussianEvent: "Gaussian noise on random samples",
}
_HARDLY_PRIVATE = 99.9  # percent; more digits would only look like a protection

Ends: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One coefficient, in the table's units and made comparable.

    Parameters
    ----------
    name : str
        The column.
    value : float
        The coefficient: units of the label per unit of the column.
    ends : pair of float or None
        The ends of its interval, None if the method estimates none.
    effect, effect_ends
        The same times the column's scale: units of the label.
    """

    name: str
    value: float
    ends: Ends | None
    effect: float
    effect_ends: Ends | None

    @property
    def clear(self) -> bool | None:
        """Whether the interval leaves out 0; None if there is none."""
        return None if self.ends is None else self.ends[0] > 0 or self.ends[1] < 0


@dataclass(frozen=True, slots=True)
class Spent:
    """What one release cost.

    Parameters
    ----------
    name : str
        What was released.
    mechanism : str
        Its kind of noise.
    cost : str
        Its own privacy parameter.
    share : float or None
        Its share of the whole; None where kinds are mixed and shares do not add up.
    """

    name: str
    mechanism: str
    cost: str
    share: float | None


def number(value: float) -> str:
    """Return a number with four significant digits.

    Examples
    --------
    >>> number(1234567.0), number(0.25), number(-0.0)
    ('1.235e+06', '0.25', '0')
    """
    return f"{value + 0.0:.4g}"


def interval(ends: Ends | NDArray[np.float64] | None) -> str:
    """Return an interval as text.

    Examples
    --------
    >>> interval((0.5, 2.0)), interval(None)
    ('0.5 to 2', 'not estimated by this method')
    """
    if ends is None:
        return NOT_ESTIMATED
    return f"{number(float(ends[0]))} to {number(float(ends[1]))}"


def estimate(value: float | None) -> str:
    """Return a number as text, or that the method does not estimate it."""
    return NOT_ESTIMATED if value is None else number(value)


def coefficients(model: PrivateRegressor) -> tuple[Coefficient, ...]:
    """List the coefficients of a fitted model in the order of its columns."""
    scale = model.scaling_.scale[:-1]
    features = len(scale)
    values = np.asarray(model.coef_, dtype=np.float64)
    ends, effect_ends = [None] * features, [None] * features
    with np.errstate(over="ignore"):
        effects = np.nan_to_num(values * scale)
        if model.coef_interval_ is not None:
            known = np.asarray(model.coef_interval_, dtype=np.float64)
            ends = known.tolist()
            effect_ends = np.nan_to_num(known * scale[:, None]).tolist()
    return tuple(
        Coefficient(name, value, _pair(own), effect, _pair(comparable))
        for name, value, own, effect, comparable in zip(
            model.scaling_.names[:-1],
            values.tolist(),
            ends,
            effects.tolist(),
            effect_ends,
            strict=True,
        )
    )


def _pair(ends: list[float] | None) -> Ends | None:
    return None if ends is None else (ends[0], ends[1])


def has_intervals(model: PrivateRegressor) -> bool:
    """Tell whether a method estimates an interval for any coefficient or the intercept."""
    return model.coef_interval_ is not None or model.intercept_interval_ is not None


def label_range_in_words(model: PrivateRegressor) -> str:
    """Say between which numbers predictions stay."""
    low, high = model.label_range_
    if low == -math.inf and high == math.inf:
        return "have no limits"
    if low == -math.inf:
        return f"stay at or below {number(high)}"
    if high == math.inf:
        return f"stay at or above {number(low)}"
    return f"stay between {number(low)} and {number(high)}"


def origin_of_scales(model: PrivateRegressor) -> tuple[str, str]:
    """Say where a model's scales come from."""
    released = {event.name for event in model.privacy_.mechanisms}
    if not released.isdisjoint(event.name for event in ScaleSearch(1.0).events()):
        return (
            "Scales found privately",
            "Nobody gave bounds: centre and scale come from noisy histograms",
        )
    if unproved_settings({"bounds": own_parameters(model).get("bounds")}):
        return "Scales read off the table", "The scales were read off the table without any noise"
    return "Scales set beforehand", "Centre and scale were set without looking at the table"


def certainty_in_words(guarantee: PrivacyGuarantee) -> str:
    """Say what epsilon and delta mean by an example, for someone who has not met them.

    By Bayes' rule even odds become odds of at most e^epsilon to 1.
    """
    question = {
        "add-remove": "whether one row was in the table",
        "replace": "which of two versions of a row was in the table",
    }[guarantee.relation]
    # Rounded up, so that the page never promises more than the release.
    percent = math.ceil(1000 / (1 + math.exp(-guarantee.epsilon)) - 1e-9) / 10
    sure = f"{percent:.1f} %" if percent < _HARDLY_PRIVATE else "nearly certain"
    rare = f" The rare exception has a chance of {_chance(guarantee.delta)}."
    return (
        f"For example, someone who would have said fifty-fifty {question} can be at most {sure}"
        f"{' sure' if percent < _HARDLY_PRIVATE else ''} after seeing this page."
        f"{rare if guarantee.delta else ''}"
    )


def _chance(delta: float) -> str:
    """Return a small probability as one in so many, rounded so that it is not understated."""
    if delta > 0.1 or delta < 1e-15:
        return f"{delta:.3g}"
    return f"1 in {math.floor(1 / delta * (1 + 1e-12)):,}"


def spending(guarantee: PrivacyGuarantee) -> tuple[Spent, ...]:
    """List what a release consists of and what each part cost.

    Gaussian parts compose by the squares of their mu, pure ones by the sum of their epsilons.
    """
    events = guarantee.mechanisms
    weights = _weights(events)
    total = sum(weights)
    return tuple(
        Spent(event.name, *_kind_and_cost(event), weight / total if total > 0 else None)
        for event, weight in zip(events, weights, strict=True)
    )


def _weights(events: tuple[Event, ...]) -> list[float]:
    gaussian = [event.mu**2 for event in events if isinstance(event, GaussianEvent)]
    pure = [event.epsilon for event in events if isinstance(event, PureEvent)]
    alike = next((kind for kind in (gaussian, pure) if len(kind) == len(events)), None)
    return alike if alike is not None else [0.0] * len(events)


def _kind_and_cost(event: Event) -> tuple[str, str]:
    costs = (field.name for field in fields(type(event)) if field.name != "name")
    shown = (f"{name.replace('_', ' ')} = {number(getattr(event, name))}" for name in costs)
    # A kind without words here is named by its class.
    plain = re.sub("(?<=[a-z])(?=[A-Z])", " ", type(event).__name__.removesuffix("Event")).lower()
    return _MECHANISMS.get(type(event), plain), ", ".join(shown)
