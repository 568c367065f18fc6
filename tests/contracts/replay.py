"""The replay attack: a release on one table, then on a neighbour with the same noisy answers.

Whatever the answers are, both must ask for the same, their exact values may differ by the
sensitivity at most, all differences together may cost what the guarantee states, and what comes out
must be the same. So nothing that was not released decides anything, for this pair of tables.
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from attrs import Factory, define

import nolook
from nolook.algorithms import per_unit_sampling
from nolook.estimators import releasing
from nolook.privacy.guarantee import PrivacyGuarantee
from nolook.privacy.noise import SeededSource
from tests.contracts.test_costs import ANSWERS, plain, replace_everywhere

__all__ = ["Replay", "attack", "drawn_and_stated", "recorded"]

#: What choices compare; a score may move by the sensitivity up or down.
CHOICES = (
    *("exponential_choice", "permute_and_flip"),
    *("peeling", "bounded_range_peeling", "canonical_lipschitz"),
)


class Prefixes:
    """Bits of which each call gets the beginning of a stream of its own.

    So rows have the same ones in a table and in that with a row more at its end.
    """

    private = True

    def __init__(self, *_: object) -> None:
        self._calls = 0

    def words(self, n: int) -> np.ndarray:
        """Return the first n words of the next stream."""
        self._calls += 1
        bits = np.random.Philox(key=self._calls)
        return bits.random_raw(n) if n else np.empty(0, np.uint64)


@define
class Call:
    """A mechanism's name, all that it was asked for but the values, and these."""

    name: str
    asked: dict[str, Any]
    values: np.ndarray

    @property
    def public(self) -> str:
        """What must be the same for neighbours."""
        return repr((self.name, self.values.shape, plain(self.asked)))

    @property
    def costs(self) -> tuple[float, float]:
        """The square of mu, and epsilon."""
        if "rule" in self.asked:
            rule = self.asked["rule"]
            return 0.0, rule.epsilon_test + rule.epsilon_sample
        if "mu" in self.asked:
            return self.asked["mu"] ** 2, 0.0
        choices = self.asked["k"] if self.name == "bounded_range_peeling" else 1
        return 0.0, choices * self.asked["epsilon"]

    def share(self, other: Call) -> float:
        """Return how far the values are from another table's, in sensitivities."""
        if self.name == "tukey_release":
            return float((self.values != other.values).any(axis=1).sum())
        changed = self.values != other.values
        pairs = zip(self.values[changed].tolist(), other.values[changed].tolist(), strict=True)
        moved = [Fraction(one) - Fraction(two) for one, two in pairs] or [Fraction(0)]
        sensitivity = Fraction(self.asked["sensitivity"])
        if self.name in CHOICES:
            moved += [Fraction(0)] * (not changed.all())
            return float((max(moved) - min(moved)) / (2 * sensitivity))
        if self.name == "laplace_release":
            return float(sum(map(abs, moved)) / sensitivity)
        weights = self.asked.get("weights")
        if weights is not None and changed.any():
            moved = [one / Fraction(w) for one, w in zip(moved, weights[changed], strict=True)]
        return math.sqrt(sum(one**2 for one in moved) / sensitivity**2)


@define
class Replay:
    """What a release asked for, what it was answered, and what came out."""

    calls: list[Call] = Factory(list)
    answers: list[Any] = Factory(list)
    result: str = ""
    guarantee: PrivacyGuarantee | None = None


@contextmanager
def _watched(replay: Replay, answers: Iterator[Any] | None) -> Iterator[None]:
    """Note what is asked for; answer with noise, or with what is given."""
    inside: list[Any] = []

    def spy(mechanism: Callable[..., Any]) -> Callable[..., Any]:
        def call(*positional: Any, **named: Any) -> Any:
            if inside:
                return mechanism(*positional, **named)
            asked = inspect.signature(mechanism).bind(*positional, **named).arguments
            source, first = asked.pop("source"), next(iter(asked))
            values = np.array(asked.pop(first), copy=True)
            replay.calls.append(Call(mechanism.__name__, dict(asked), values))
            if answers is None:
                source = SeededSource(len(replay.calls))
                inside.append(mechanism)
                given = mechanism(values, **asked, source=source)
                inside.pop()
            else:
                given = next(answers, None)
            replay.answers.append(given)
            return given

        return call

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", nolook.WeakPrivacyWarning)
        replace_everywhere({mechanism: spy(mechanism) for mechanism in ANSWERS}, patch)
        patch.setattr(releasing, "byte_source", Prefixes)
        patch.setattr(per_unit_sampling, "SystemEntropy", Prefixes)
        yield


def recorded(
    release: Callable[[nolook.Table], Any], table: nolook.Table, answers: list[Any] | None = None
) -> Replay:
    """Make a release, with noise or with the answers that another one had."""
    replay = Replay()
    with _watched(replay, None if answers is None else iter(answers)):
        try:
            made = release(table)
        except nolook.PrivateFitFailed as error:
            replay.result = repr(error)
        else:
            replay.result = repr(plain(made))
            replay.guarantee = getattr(made, "privacy_", None) or made.privacy
    return replay


def attack(
    release: Callable[[nolook.Table], Any], first: nolook.Table, second: nolook.Table
) -> Replay:
    """Assert that nothing tells two neighbours apart but what the guarantee states."""
    one = recorded(release, first)
    other = recorded(release, second, one.answers)
    for ours, theirs in zip(one.calls, other.calls, strict=False):
        assert ours.public == theirs.public, "something else is asked for"
    assert len(one.calls) == len(other.calls) > 0, "something else is asked for"
    most = first.unit.max_rows
    squares = epsilons = 0.0
    for ours, theirs in zip(one.calls, other.calls, strict=True):
        share = ours.share(theirs)
        assert share <= most * (1 + 1e-12), f"{ours.name} of {ours.values.shape}: {share}"
        square, epsilon = ours.costs
        squares, epsilons = squares + share**2 * square, epsilons + share * epsilon
    if one.guarantee is not None:
        stated = _stated(one.guarantee)
        assert squares <= stated[0] * (1 + 1e-9), "the differences cost more than is stated"
        assert epsilons <= stated[1] * (1 + 1e-9), "the differences cost more than is stated"
    assert one.result == other.result, "the result does not follow from the answers"
    return one


def _stated(guarantee: PrivacyGuarantee) -> tuple[float, float]:
    events = guarantee.mechanisms
    return (
        math.fsum(event.mu**2 for event in events if hasattr(event, "mu")),
        math.fsum(getattr(e, "epsilon", 0.0) * getattr(e, "choices", 1) for e in events),
    )


def drawn_and_stated(replay: Replay) -> list[tuple[float, float]]:
    """Return the squares of mu, and the epsilons, of all draws next to those of the events."""
    costs = np.array([call.costs for call in replay.calls]).reshape(-1, 2)
    return list(zip(costs.sum(axis=0).tolist(), _stated(replay.guarantee), strict=True))
