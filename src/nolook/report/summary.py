"""What a report says, before it has a form: the page and the terminal show the same numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nolook.algorithms.inference import LEVEL
from nolook.privacy.guarantee import Event, GaussianEvent, PrivacyGuarantee, PureEvent
from nolook.report.methods import FittedModel

__all__ = [
    "CONFIDENCE",
    "Coefficient",
    "Spent",
    "certainty_in_words",
    "coefficients",
    "interval",
    "number",
    "spending",
]

#: The level of all intervals, as text.
CONFIDENCE = f"{100 * LEVEL:.0f} %"

_HARDLY_PRIVATE = 99.9  # percent; more digits would only look like a protection


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One coefficient, in the table's units and made comparable.

    Parameters
    ----------
    name : str
        The column.
    value, low, high : float
        The coefficient and the ends of its interval: units of the label per unit of the column.
    effect, effect_low, effect_high : float
        The same times the column's scale: units of the label.
    """

    name: str
    value: float
    low: float
    high: float
    effect: float
    effect_low: float
    effect_high: float

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0


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

    Parameters
    ----------
    value : float

    Returns
    -------
    str

    Examples
    --------
    >>> number(1234567.0), number(0.25), number(-0.0)
    ('1.235e+06', '0.25', '0')
    """
    return f"{value + 0.0:.4g}"


def interval(ends: tuple[float, float] | NDArray[np.float64]) -> str:
    """Return an interval as text.

    Parameters
    ----------
    ends : pair of floats

    Returns
    -------
    str

    Examples
    --------
    >>> interval((0.5, 2.0))
    '0.5 to 2'
    """
    return f"{number(float(ends[0]))} to {number(float(ends[1]))}"


def coefficients(model: FittedModel) -> tuple[Coefficient, ...]:
    """List the coefficients of a fitted model in the order of its columns.

    Parameters
    ----------
    model : fitted estimator

    Returns
    -------
    tuple of Coefficient
    """
    values = np.column_stack([model.coef_, model.coef_interval_])
    with np.errstate(over="ignore"):
        effects = np.nan_to_num(values * model.scaling_.scale[:-1, None])
    return tuple(
        Coefficient(name, *(float(v) for v in own), *(float(e) for e in comparable))
        for name, own, comparable in zip(model.scaling_.names[:-1], values, effects, strict=True)
    )


def certainty_in_words(guarantee: PrivacyGuarantee) -> str:
    """Say what epsilon and delta mean by an example, for someone who has not met them.

    By Bayes' rule even odds become odds of at most e^epsilon to 1.

    Parameters
    ----------
    guarantee : PrivacyGuarantee

    Returns
    -------
    str
        One or two sentences.
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

    Parameters
    ----------
    guarantee : PrivacyGuarantee

    Returns
    -------
    tuple of Spent
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
    if isinstance(event, GaussianEvent):
        return "Gaussian noise", f"mu = {number(event.mu)}"
    if isinstance(event, PureEvent):
        return "pure mechanism", f"epsilon = {number(event.epsilon)}"
    return (
        "approximate mechanism",
        f"epsilon = {number(event.epsilon)}, delta = {number(event.delta)}",
    )
