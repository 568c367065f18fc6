"""From the costs of single releases to one guarantee; the proof is ``accounting.md``."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from attrs import asdict, evolve

from nolook.errors import ParameterError
from nolook.privacy.budgets import SMALLEST_MU, too_small, with_room
from nolook.privacy.guarantee import (
    ApproximateEvent,
    BoundedRangeEvent,
    Budget,
    DeltaEvent,
    Event,
    GaussianEvent,
    PrivacyGuarantee,
    PureEvent,
    Relation,
)

__all__ = [
    "choices_epsilon",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_mu",
    "gaussian_part",
    "guarantee",
    "in_sequence",
    "smallest_epsilon",
    "total_delta",
    "whole_mu",
]

# Far above the relative error of erfcx and ndtr, some units in the last place.
_SLACK = 2.0**-46

# Kinds that the sums below count; any other is refused.
_KNOWN = (GaussianEvent, PureEvent, ApproximateEvent, DeltaEvent, BoundedRangeEvent)
_WITH_EPSILON = (PureEvent, ApproximateEvent)

# Privacy losses are counted on a grid; a longer one is not worth its memory.
_LOSS_SPACING = 1e-4
_LARGEST_LOSS = 20.0
# How much one convolution's Fourier transforms can lower a delta, on a grid of that many points.
_TRANSFORM_ERROR = 2e-11
_MOST_POINTS = 2**19
# What is found by search is this close, relatively, to the best; sums of the same releases in
# another order differ by far less than the second.
_CLOSE = 1.004
_ORDER = 2.0**-20
# Assuming less noise overstates losses; larger deviations overflow when the library squares them.
_LARGEST_DEVIATION = 1e12


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Return the smallest delta of a mu-GDP release at an epsilon of at least 0, rounded up.

    ``Phi(-epsilon/mu + mu/2) - exp(epsilon) Phi(-epsilon/mu - mu/2)``, in (0, 1].
    """
    from scipy.special import erfcx, ndtr  # takes long to load, and only Gaussian noise needs it

    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if near > 1e8:
        return math.ulp(0.0)  # far below the smallest double
    # The difference cancels. A smaller `near` and a larger `far` can only raise the result.
    margin = far * 2.0**-51
    near, far = near - margin, far + margin
    # Both terms in units of the normal density at `near`: exp(epsilon) times the one at `far`.
    density = math.exp(-near * near / 2)
    second = float(erfcx(far / math.sqrt(2))) / 2
    if near <= 0:
        exact = float(ndtr(-near)) - density * second
        return min(1.0, exact + _SLACK)
    first = float(erfcx(near / math.sqrt(2))) / 2
    slack = _SLACK * (1.0 + near * near)  # for the rounding of the density's exponent
    rounded_up = density * (first - second + _SLACK * first) * (1.0 + slack)
    return min(1.0, math.nextafter(rounded_up, math.inf))


def gaussian_mu(budget: Budget) -> float:
    """Return the largest mu whose release keeps a budget, rounded down; delta must be above 0."""
    if budget.delta == 0.0:
        raise ParameterError(
            "delta is 0; expected a number between 0 and 1, which Gaussian noise needs (such as "
            "1e-6)"
        )
    low, high = 0.0, 1.0
    while gaussian_delta(high, budget.epsilon) <= budget.delta:
        low, high = high, 2 * high
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if gaussian_delta(middle, budget.epsilon) <= budget.delta:
            low = middle
        else:
            high = middle
    if low == 0.0:
        raise ParameterError(
            f"delta is {budget.delta!r} and epsilon {budget.epsilon!r}, too small for any noise "
            "(use a larger budget)"
        )
    return low


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the smallest epsilon above 0 at which a mu-GDP release keeps a delta, rounded up."""
    low, high = 0.0, 1.0
    while gaussian_delta(mu, high) > delta:
        low, high = high, 2 * high
    while (middle := (low + high) / 2) not in (low, high):
        if gaussian_delta(mu, middle) > delta:
            low = middle
        else:
            high = middle
    return high


def whole_mu(budget: Budget) -> float:
    """Return the mu (Gaussian DP) that a whole budget buys; refuse one too small for any noise."""
    mu = with_room(gaussian_mu(budget))
    if mu < SMALLEST_MU:
        raise too_small(budget.epsilon, budget.delta)
    return mu


def gaussian_part(budget: Budget, share: float) -> Budget:
    """Return the budget of a part with a share of a whole's mu^2 and delta, of Gaussian noise."""
    delta = with_room(share * budget.delta)
    mu = with_room(math.sqrt(share) * whole_mu(budget))
    return Budget(gaussian_epsilon(mu, delta), delta)


def total_delta(events: Sequence[Event], epsilon: float) -> float:
    """Return a delta, at most 1, at which all releases together keep an epsilon, rounded up.

    The smaller of basic composition (the Gaussian parts together as one) and, where different
    mechanisms meet, the composition of privacy-loss distributions. Later releases may depend on the
    answers of earlier ones. Only the sum of the releases' own epsilons is not rounded up, but to
    the nearest double, so that a budget can be split and spent whole. An unknown kind of event is a
    TypeError.
    """
    _check_known(events)
    if not events:
        return 0.0
    apart = [event.delta for event in events if isinstance(event, DeltaEvent)]
    if apart:
        others = [event for event in events if not isinstance(event, DeltaEvent)]
        return min(1.0, _sum_up([*apart, total_delta(others, epsilon)]))
    basic = _basic_delta(events, epsilon)
    kinds = {type(event) for event in events}
    if kinds == {GaussianEvent} or basic == 0.0:
        return basic
    if len(events) == 1 and BoundedRangeEvent not in kinds:
        return basic
    return min(basic, _distribution_delta(tuple(events), epsilon))


def guarantee(
    events: Sequence[Event], budget: Budget, *, relation: Relation, private: bool
) -> PrivacyGuarantee:
    """Add releases up and promise their budget, or raise ParameterError if they exceed it."""
    _check_known(events)
    # Basic composition is immediate; distributions are needed only where it does not suffice.
    delta = _basic_delta(events, budget.epsilon)
    if delta > budget.delta:
        delta = total_delta(events, budget.epsilon)
    if delta > budget.delta:
        raise ParameterError(
            f"the releases cost delta = {delta:.6g} at epsilon = {budget.epsilon:.6g}; expected at "
            f"most {budget.delta:.6g} (use a larger budget)"
        )
    return PrivacyGuarantee(budget.epsilon, budget.delta, relation, tuple(events), private)


def in_sequence(parts: Sequence[PrivacyGuarantee], budget: Budget) -> PrivacyGuarantee:
    """Promise a budget for results made one after the other, or raise if theirs add up to more.

    Each part's guarantee holds for every fixed outcome of those before it, all have one relation
    and protect one unit, and a part's mechanisms are all that it released. Either the parts'
    budgets add up to no more, or the mechanisms of all of them together keep it, which cost less
    than their sum. The result has all these mechanisms, and is private if all parts are.
    """
    if len({(part.relation, part.unit) for part in parts}) != 1:
        raise ParameterError("the parts differ in relation or unit")
    epsilon = math.fsum(part.epsilon for part in parts)
    delta = math.fsum(part.delta for part in parts)
    events = tuple(event for part in parts for event in part.mechanisms)
    _check_known(events)
    if (
        (epsilon > budget.epsilon or delta > budget.delta)
        and _basic_delta(events, budget.epsilon) > budget.delta
        and total_delta(events, budget.epsilon) > budget.delta
    ):
        raise ParameterError(
            f"epsilon = {budget.epsilon:.6g} and delta = {budget.delta:.6g} are less than the "
            f"parts cost: {epsilon:.6g} and {delta:.6g} (use a larger budget)"
        )
    private = all(part.private for part in parts)
    return evolve(parts[0], **asdict(budget), mechanisms=events, private=private)


@lru_cache(maxsize=64)
def choices_epsilon(k: int, others: tuple[Event, ...], budget: Budget, least: float) -> float:
    """Return the largest epsilon of k bounded-range choices that fit into a budget with others.

    It is rounded down, by less than half a percent, and 0 if not even `least` keeps the budget.
    """

    def cost(epsilon: float) -> float:
        choices = BoundedRangeEvent("choices", epsilon, k)
        return total_delta((*others, choices), budget.epsilon)

    limit = budget.delta * (1.0 - _ORDER)
    return _largest(cost, limit, least) if cost(least) <= limit else 0.0


def smallest_epsilon(events: Sequence[Event], delta: float) -> float:
    """Return an epsilon at which releases keep a delta above 0, rounded up by up to half a percent.

    For Gaussian, pure and bounded-range releases.
    """
    costs = [event.epsilon for event in events if isinstance(event, PureEvent)]
    costs += [_sum_of_choices(event) for event in events if isinstance(event, BoundedRangeEvent)]
    mu = _mu(events)
    most = (math.fsum(costs) + (gaussian_epsilon(mu, delta) if mu else 0.0)) * (1.0 + _ORDER)
    return 1.0 / _largest(lambda inverse: total_delta(events, 1.0 / inverse), delta, 1.0 / most)


def _largest(cost: Callable[[float], float], limit: float, least: float) -> float:
    """Return the largest number at which a cost that grows with it is at most a limit, nearly.

    `least` is such a number. False position on the logarithm, the end that stays counting half.
    """

    def excess(number: float) -> float:
        return math.log(max(cost(number), 1e-300) / limit)

    low, high = least, 2.0 * least
    while (above := excess(high)) <= 0.0:
        low, high = high, 2.0 * high
    below = excess(low)
    while high > _CLOSE * low:
        share = min(max(below / (below - above), 0.1), 0.9)
        middle = low + share * (high - low)
        found = excess(middle)
        if found <= 0.0:
            low, below, above = middle, found, above / 2
        else:
            high, above, below = middle, found, below / 2
    return low


def _check_known(events: Sequence[Event]) -> None:
    for event in events:
        if not isinstance(event, _KNOWN):
            raise TypeError(f"unknown event of type {type(event).__name__}")


def _mu(events: Sequence[Event]) -> float:
    """Compose the Gaussian parts into one, rounded up."""
    parts = [event.mu for event in events if isinstance(event, GaussianEvent)]
    if len(parts) <= 1:
        return sum(parts)
    # Squares neither overflow nor vanish in hypot; its error is below one unit in the last place.
    return math.nextafter(math.hypot(*parts) * (1.0 + 2.0**-50), math.inf)


def _basic_delta(events: Sequence[Event], epsilon: float) -> float:
    """Add epsilons and deltas; the Gaussian parts take what epsilon the others leave."""
    costs = [event.epsilon for event in events if isinstance(event, _WITH_EPSILON)]
    costs += [_sum_of_choices(event) for event in events if isinstance(event, BoundedRangeEvent)]
    deltas = [e.delta for e in events if isinstance(e, ApproximateEvent | DeltaEvent)]
    # fsum is correctly rounded, so budgets that were split by halves still add up.
    if math.fsum(costs) > epsilon:
        return 1.0
    mu = _mu(events)
    if mu > 0.0:
        left = math.fsum((epsilon, *(-cost for cost in costs)))
        deltas.append(gaussian_delta(mu, max(0.0, math.nextafter(left, -math.inf))))
    return min(1.0, _sum_up(deltas))


def _sum_of_choices(event: BoundedRangeEvent) -> float:
    """Return the cost of choices by basic composition, rounded up."""
    if event.choices == 1:
        return event.epsilon
    return math.nextafter(event.epsilon * event.choices, math.inf)


def _sum_up(parts: Sequence[float]) -> float:
    """Add numbers and round the sum up."""
    total, exact = math.fsum(parts), sum(map(Fraction, parts), Fraction(0))
    return math.nextafter(total, math.inf) if total < exact else total


@lru_cache(maxsize=64)
@np.errstate(all="ignore")  # the library's numbers underflow
def _distribution_delta(events: tuple[Event, ...], epsilon: float) -> float:
    """Compose pessimistic privacy-loss distributions (dp-accounting); 1 if they reach too far."""
    choices = [event for event in events if isinstance(event, BoundedRangeEvent)]
    others = tuple(event for event in events if not isinstance(event, BoundedRangeEvent))
    if not _fits(others, choices):
        return 1.0
    parts = [_composed(others)] if others else []
    for event in choices:
        once = _choice_losses(event.epsilon)
        whole = once.self_compose(event.choices) if event.choices > 1 else once
        parts.append((whole, _points(whole), event.choices))
    whole, points, convolutions = parts[0]
    for part, own, more in parts[1:]:
        points = max(points, own, _points(whole) + _points(part))
        convolutions += more
        whole = whole.compose(part)
    if points > _MOST_POINTS:
        return 1.0
    # Its grid errs upward, the rounding of its sums and transforms need not.
    room = _TRANSFORM_ERROR * convolutions
    return min(1.0, float(whole.get_delta_for_epsilon(epsilon)) * (1.0 + 1e-6) + room)


# A search for the noise of one part asks for the others again and again.
@lru_cache(maxsize=4)
def _composed(events: tuple[Event, ...]) -> tuple[Any, int, int]:
    """Compose all but choices; return also the longest grid and the number of parts."""
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    parts = [
        pld.from_privacy_parameters(
            common.DifferentialPrivacyParameters(
                event.epsilon, event.delta if isinstance(event, ApproximateEvent) else 0.0
            ),
            value_discretization_interval=_LOSS_SPACING,
        )
        for event in events
        if isinstance(event, _WITH_EPSILON)
    ]
    mu = _mu(events)
    if mu > 0.0:
        parts.append(
            pld.from_gaussian_mechanism(
                min(1.0 / mu, _LARGEST_DEVIATION),
                pessimistic_estimate=True,
                value_discretization_interval=_LOSS_SPACING,
            )
        )
    whole = parts[0]
    points = _points(whole)
    for part in parts[1:]:
        points = max(points, _points(whole) + _points(part))
        whole = whole.compose(part)
    return whole, points, len(parts)


def _points(part: Any) -> int:  # noqa: ANN401 -- untyped library
    """Return the length of a distribution's grid, the larger of the two directions."""
    return max(int(part._pmf_remove.size), int(part._pmf_add.size))


def _fits(events: Sequence[Event], choices: Sequence[BoundedRangeEvent]) -> bool:
    """Return whether a grid is likely to be short, before it is made."""
    together = [event.epsilon for event in events if isinstance(event, _WITH_EPSILON)]
    together += [
        min(
            event.epsilon * event.choices,
            event.epsilon + _reach(event.epsilon * math.sqrt(event.choices) / 2),
        )
        for event in choices
    ]
    once = max((event.epsilon for event in choices), default=0.0)
    return max(_reach(_mu(events)) + sum(together), once) <= _LARGEST_LOSS


def _reach(mu: float) -> float:
    """Return roughly the largest loss of a Gaussian release that is worth counting."""
    return mu * mu / 2 + 10.0 * mu


def _choice_losses(epsilon: float) -> Any:  # noqa: ANN401 -- untyped library
    """Return the losses of one choice, from its deltas at the grid's points."""
    from dp_accounting.pld import pld_pmf
    from dp_accounting.pld import privacy_loss_distribution as pld

    last = math.ceil(epsilon / _LOSS_SPACING) + 1
    losses = np.arange(-last, last + 1) * _LOSS_SPACING
    # (1 - exp((loss - epsilon) / 2))^2 / (1 - exp(-epsilon)) between -epsilon and epsilon; below,
    # no delta can be larger than 1 - exp(loss).
    inner = np.expm1((losses.clip(-epsilon, epsilon) - epsilon) / 2) ** 2 / -math.expm1(-epsilon)
    deltas = np.where(losses < -epsilon, -np.expm1(losses), inner).clip(0.0, 1.0)
    return pld.PrivacyLossDistribution(
        pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(_LOSS_SPACING, -last, last, deltas)
    )
