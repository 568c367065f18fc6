"""A release on one table, then on another with the same noisy answers.

What it asks for must then be the same, call by call; on neighbours, the exact values may differ by
the sensitivity at most. So nothing that was not released decides anything.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from nolook.algorithms.curves import Curve
from nolook.algorithms.glm import designs, frame
from nolook.algorithms.glm.clips import Clip
from nolook.algorithms.glm.counts import NoisyCounts
from nolook.algorithms.glm.estimate import Gradients
from nolook.algorithms.glm.families import Family
from nolook.algorithms.glm.frame import Frame, NoisyFrame
from nolook.algorithms.glm.linear import LinearRelease, NoisyRegression
from nolook.algorithms.glm.logistic import NoisyLogistic
from nolook.algorithms.glm.steps import Metric, Steps
from nolook.algorithms.node_counts import NoisyForest
from nolook.algorithms.scaling import Scaling
from nolook.algorithms.whitening import Spread
from nolook.privacy.mechanisms.gaussian import gaussian_release, symmetric_gaussian_release
from nolook.privacy.noise import SeededSource
from nolook.tables import Table

__all__ = ["Replay", "check_neighbours", "check_what_is_stated", "recorded", "replayed"]

MECHANISMS = (gaussian_release, symmetric_gaussian_release)
ATTRS = (
    NoisyFrame | NoisyForest | Clip | Gradients | Steps | Family | Metric | Scaling | Spread | Curve
)
Kind = Callable[[float], Frame]


@dataclass
class Replay:
    """What a release asked for, and what it gave."""

    asked: list[tuple[Any, ...]] = field(default_factory=list)
    exact: list[np.ndarray] = field(default_factory=list)
    answers: list[np.ndarray] = field(default_factory=list)
    models: list[list[float]] = field(default_factory=list)  # that statistics were taken at
    rooms: list[int] = field(default_factory=list)  # bytes of rows it decided to keep
    result: NoisyRegression | NoisyLogistic | NoisyCounts | Scaling | None = None


@contextmanager
def _watched(replay: Replay, answer: Callable[..., np.ndarray]) -> Iterator[None]:
    """Note all that a release asks for, and let `answer` give the answers."""

    def spy(mechanism: Callable[..., Any]) -> Callable[..., Any]:
        def call(values: np.ndarray, sensitivity: float, mu: float, source: Any) -> np.ndarray:
            replay.asked.append((mechanism.__name__, values.shape, sensitivity, mu))
            replay.exact.append(values.copy())
            replay.answers.append(answer(mechanism, values, sensitivity, mu, source))
            return replay.answers[-1]

        return call

    grid_model = designs.grid_model

    def noted_model(theta: np.ndarray, squared_radius: int) -> Any:
        replay.models.append(theta.tolist())
        return grid_model(theta, squared_radius)

    def noted_room(gram: Callable[..., Any]) -> Callable[..., Any]:
        def call(blocks: Any, mu: float, source: Any) -> Any:
            replay.rooms.append(blocks.room)
            return gram(blocks, mu, source)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for mechanism, module in product(MECHANISMS, list(sys.modules.values())):
            algorithm = module.__name__.startswith("nolook.algorithms.")
            if algorithm and vars(module).get(mechanism.__name__) is mechanism:
                patch.setattr(module, mechanism.__name__, spy(mechanism))
        patch.setattr(designs, "grid_model", noted_model)
        for module in (designs, frame):
            patch.setattr(module, "release_gram", noted_room(module.release_gram))
        yield


def recorded(table: Table, mu: float, *, noise: bool = True, kind: Kind = LinearRelease) -> Replay:
    """Run a release, with noise or with the exact values for answers."""

    def answer(mechanism: Any, values: np.ndarray, *arguments: Any) -> np.ndarray:
        return mechanism(values, *arguments) if noise else values

    replay = Replay()
    with _watched(replay, answer):
        replay.result = kind(mu).run(table, SeededSource(1), lambda _: None)
    return replay


def replayed(table: Table, mu: float, first: Replay, kind: Kind = LinearRelease) -> Replay:
    """Run it on another table, with the answers that the first one had."""
    answers = iter(first.answers)

    def answer(_: Any, values: np.ndarray, *_rest: Any) -> np.ndarray:
        given = next(answers, None)
        assert given is not None, "something else is asked for"
        assert given.shape == values.shape, "something else is asked for"
        return given

    replay = Replay()
    with _watched(replay, answer):
        replay.result = kind(mu).run(table, SeededSource(2), lambda _: None)
    assert replay.asked == first.asked, "something else is asked for"
    assert replay.models == first.models, "a model does not follow from the answers"
    assert replay.rooms == first.rooms, "the rows' number decides whether they are kept"
    assert plain(replay.result) == plain(first.result), "the result does not follow from answers"
    return replay


def check_neighbours(
    first: Table | Replay, second: Table, mu: float, rows: int = 1, kind: Kind = LinearRelease
) -> list[float]:
    """Assert that nothing tells two neighbours apart but exact values within the sensitivity.

    Or within so many times the sensitivity of a row. Of the first, what was recorded will do, to
    compare it with several. Returns the changes as shares of the sensitivity.
    """
    one = first if isinstance(first, Replay) else recorded(first, mu, kind=kind)
    other = replayed(second, mu, one, kind)
    shares = []
    for asked, *values in zip(one.asked, one.exact, other.exact, strict=True):
        before, after = (value.ravel().tolist() for value in values)
        moved = sum((a - b) ** 2 for a, b in zip(before, after, strict=True))
        sensitivity = rows * Fraction(asked[2])
        assert moved <= sensitivity**2, f"{asked[0]} of {asked[1]}: beyond the sensitivity"
        shares.append(float(moved / sensitivity**2) ** 0.5)
    return shares


def check_what_is_stated(table: Table, mu: float, kind: Kind = LinearRelease) -> None:
    """Assert that the squares of all draws add up to those of the events."""
    drawn = sum(asked[3] ** 2 for asked in recorded(table, mu, kind=kind).asked)
    stated = sum(event.mu**2 for event in kind(mu).events())
    assert drawn <= stated * (1 + 1e-12), "more is drawn than is stated"


def plain(result: Any) -> Any:
    """Return all that an object holds as bytes and text, to the last bit."""
    if isinstance(result, np.ndarray):
        return result.shape, result.tobytes()
    if isinstance(result, ATTRS):
        names = [attribute.name for attribute in type(result).__attrs_attrs__]
        return [plain(getattr(result, name)) for name in names]
    if isinstance(result, tuple):
        return [plain(each) for each in result]
    return repr(result)
