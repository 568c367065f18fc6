"""The accountant next to Google's dp_accounting and OpenDP.

    python -m contrib.audits.composition

prints the smallest epsilon of compositions at delta 1e-6: nolook's, a bound from below and one from
above by dp_accounting, and one from above by OpenDP. Then what a ledger charges for six releases.

The bound from below composes, optimistically rounded, the worst mechanism that an event allows: a
Gaussian one, a randomised response, or a choice between two results whose losses differ by the
event's range. nolook may never be below it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import opendp.prelude as dp
from dp_accounting.pld import privacy_loss_distribution as pld

import nolook
from nolook.privacy.accounting import smallest_epsilon
from nolook.privacy.guarantee import (
    ApproximateEvent,
    BoundedRangeEvent,
    DeltaEvent,
    Event,
    GaussianEvent,
    PureEvent,
)

dp.enable_features("contrib")

DELTA = 1e-6
SPACING = 1e-4  # of the grid on which losses are rounded down
SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)  # of a choice's range, the loss of its first result

#: Compositions of every kind of event.
COMPOSITIONS: dict[str, list[Event]] = {
    "one Gaussian, mu 1": [GaussianEvent("g", 1.0)],
    "20 Gaussians, mu 0.2": [GaussianEvent("g", 0.2)] * 20,
    "one Laplace, epsilon 1": [PureEvent("p", 1.0)],
    "20 Laplaces, epsilon 0.1": [PureEvent("p", 0.1)] * 20,
    "100 Laplaces, epsilon 0.02": [PureEvent("p", 0.02)] * 100,
    "top 5, each choice 0.2": [BoundedRangeEvent("c", 0.2, 5)],
    "top 50, each choice 0.1": [BoundedRangeEvent("c", 0.1, 50)],
    "top 10, 0.1; Gaussian, mu 0.3": [BoundedRangeEvent("c", 0.1, 10), GaussianEvent("g", 0.3)],
    "5 Laplaces, 0.1; 5 Gaussians, mu 0.1": [PureEvent("p", 0.1), GaussianEvent("g", 0.1)] * 5,
    "all three": [
        *[PureEvent("p", 0.05)] * 4,
        *[GaussianEvent("g", 0.15)] * 4,
        BoundedRangeEvent("c", 0.05, 20),
    ],
}


def _two_results(loss: float, other: float, lost: float = 0.0) -> Any:
    """Return the losses of a choice between two results; `lost` shows the table as it is."""
    first = math.expm1(other) / (math.exp(other) - math.exp(loss)) * math.exp(loss)
    kept = math.log1p(-lost)
    upper = {1: math.log(first) + kept, 2: math.log1p(-first) + kept}
    lower = {1: upper[1] - loss, 2: upper[2] - other}
    if lost:
        upper[3] = lower[4] = math.log(lost)
    return pld.from_two_probability_mass_functions(
        lower, upper, pessimistic_estimate=False, value_discretization_interval=SPACING,
        symmetric=False,
    )  # fmt: skip


def _losses(event: Event, share: float) -> Any:
    """Return the losses, rounded down, of the worst mechanism that an event allows."""
    if isinstance(event, GaussianEvent):
        return pld.from_gaussian_mechanism(
            1.0 / event.mu, pessimistic_estimate=False, value_discretization_interval=SPACING,
            use_connect_dots=False,
        )  # fmt: skip
    if isinstance(event, BoundedRangeEvent):
        return _two_results(share * event.epsilon, (share - 1.0) * event.epsilon)
    if isinstance(event, DeltaEvent):
        return _two_results(SPACING, -SPACING, event.delta)
    lost = event.delta if isinstance(event, ApproximateEvent) else 0.0
    return _two_results(event.epsilon, -event.epsilon, lost)


def least_epsilon(events: Sequence[Event], delta: float) -> float:
    """Return an epsilon, by dp_accounting, that releases are not below at a delta."""
    found = 0.0
    for share in SHARES if any(isinstance(one, BoundedRangeEvent) for one in events) else (0.5,):
        losses = ((_losses(event, share), count) for event, count in _counted(events))
        found = max(found, _composed(losses, delta))
    return found


def _counted(events: Sequence[Event]) -> Iterator[tuple[Event, int]]:
    for event, count in Counter(events).items():
        yield event, count * getattr(event, "choices", 1)


def _composed(losses: Iterable[tuple[Any, int]], delta: float) -> float:
    whole, *others = (one.self_compose(n) if n > 1 else one for one, n in losses)
    for other in others:
        whole = whole.compose(other)
    return float(whole.get_epsilon_for_delta(delta))


def most_epsilon(events: Sequence[Event], delta: float) -> float:
    """Return an epsilon, by dp_accounting, that they are not above; a choice counts as pure."""
    return _composed(
        (
            (
                pld.from_gaussian_mechanism(1.0 / event.mu)
                if isinstance(event, GaussianEvent)
                else pld.from_randomized_response(2.0 / (1.0 + math.exp(event.epsilon)), 2),
                count,
            )
            for event, count in _counted(events)
        ),
        delta,
    )


def opendp_epsilon(events: Sequence[Event], delta: float) -> float:
    """Return an epsilon, by OpenDP's rules for zCDP, that they are not above."""
    number = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    scores = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int)
    rho = 0.0
    for event in events:
        if isinstance(event, GaussianEvent):
            rho += dp.m.make_gaussian(*number, scale=1.0 / event.mu).map(1.0)
        elif isinstance(event, BoundedRangeEvent):
            measure = dp.zero_concentrated_divergence()
            choice = dp.m.make_noisy_max(*scores, measure, scale=2.0 / event.epsilon)
            rho += event.choices * choice.map(1)
        else:
            pure = dp.m.make_laplace(*number, scale=1.0 / event.epsilon)
            rho += dp.c.make_pureDP_to_zCDP(pure).map(1.0)
    whole = dp.m.make_gaussian(*number, scale=math.sqrt(0.5 / rho))
    return float(dp.c.make_zCDP_to_approxDP(whole).map(1.0).epsilon(delta))


def charged(path: Path) -> tuple[float, float, list[Event]]:
    """Charge six releases to a ledger; return its epsilon and delta, and their events."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(2000, 3))
    y = X @ [1.0, 0.5, 0.0] + generator.normal(size=2000)
    budget = nolook.Budget(10.0, 1e-5)
    with nolook.Ledger.create(path, budget, name="table") as ledger:
        releases = [
            nolook.ECDF(0.5).fit(X[:, 0], ledger=ledger),
            nolook.KendallSelector(2, 0.5).fit(X, y, ledger=ledger),
            *(nolook.LinearRegression(0.5, DELTA).fit(X, y, ledger=ledger) for _ in range(3)),
            nolook.LogisticRegression(0.5, DELTA).fit(X, y > 0.0, ledger=ledger),
        ]
        spent = ledger.spent
    events = [event for release in releases for event in release.privacy_.mechanisms]
    return spent.epsilon, spent.delta, events


def report() -> Iterator[str]:
    """Yield the lines of a table."""
    yield "| composition | nolook | at least | by dp_accounting | by OpenDP | above the least |"
    yield "|---|---:|---:|---:|---:|---:|"
    for name, events in COMPOSITIONS.items():
        ours, least = smallest_epsilon(events, DELTA), least_epsilon(events, DELTA)
        others = most_epsilon(events, DELTA), opendp_epsilon(events, DELTA)
        cells = [f"{one:.4f}" for one in (ours, least, *others)]
        yield f"| {name} | {' | '.join(cells)} | {ours / least - 1:.1%} |"
    with TemporaryDirectory() as folder:
        epsilon, delta, events = charged(Path(folder) / "table.ledger")
    least = least_epsilon(events, delta)
    cells = f"{epsilon:.4f} | {least:.4f} | | | {epsilon / least - 1:.1%}"
    yield f"| six releases charged to a ledger | {cells} |"


if __name__ == "__main__":
    print(*report(), sep="\n")
