"""A release with two neighbouring tables, and what is drawn from both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nolook.privacy.noise import ByteSource

__all__ = [
    "FEWER_RUNS",
    "RUNS",
    "Case",
    "Draws",
    "Vector",
    "gaussian_case",
    "ignore",
    "one_by_one",
    "projected",
    "pure_case",
]

#: Draws from each table in a full audit.
RUNS = 200_000
#: Where exact laws tell what is lost, and draws only that they are the mechanism's.
FEWER_RUNS = 50_000

_CHUNK = 2**21  # entries drawn at once

Vector: TypeAlias = NDArray[np.float64]
Draws: TypeAlias = Callable[[int, ByteSource], tuple[Vector, Vector]]


@dataclass(frozen=True, slots=True)
class Case:
    """One release and a pair of neighbouring tables that tells much about it.

    Parameters
    ----------
    name : str
        Unique: words joined by hyphens.
    neighbours : str
        How the two tables differ, in words.
    relation : {"add-remove", "replace"}
    measure : {"epsilon", "mu"}
        What is bounded.
    claim : float
        What is promised of it.
    covers : tuple of str
        Names of the functions or classes audited.
    draw : callable
        From a number of runs and a source to the scores of the outputs on both tables, the better
        a score tells them apart the better. With a `law`, the numbers of the outcomes.
    delta : float
        Of the promise; 0 with mu.
    law : callable, optional
        Gives the exact laws of the outcomes on both tables.
    runs : int
        On each table, in a full audit.
    power : float
        Share of the claim that a full audit must reach.
    """

    name: str
    neighbours: str
    relation: Literal["add-remove", "replace"]
    measure: Literal["epsilon", "mu"]
    claim: float
    covers: tuple[str, ...]
    draw: Draws
    delta: float = 0.0
    law: Callable[[], tuple[Vector, Vector]] | None = None
    runs: int = RUNS
    power: float = 0.6


def pure_case(epsilon: float) -> partial[Case]:
    """Return cases of a promised epsilon, by keyword; they are of records added unless they say."""
    return partial(Case, relation="add-remove", measure="epsilon", claim=epsilon)


def gaussian_case(mu: float) -> partial[Case]:
    """Return cases of a promised mu, likewise."""
    return partial(Case, relation="add-remove", measure="mu", claim=mu)


def ignore(_: str) -> None:
    """Take the name of a pass and do nothing."""


def one_by_one(one: Callable[[int, ByteSource], float]) -> Draws:
    """Draw scores one run at a time; `one` is told which of the tables it sees: 0 or 1."""

    def draw(runs: int, source: ByteSource) -> tuple[Vector, Vector]:
        first, second = (
            np.fromiter((one(table, source) for _ in range(runs)), np.float64, runs)
            for table in (0, 1)
        )
        return first, second

    return draw


def projected(
    release: Callable[[NDArray[np.int64], ByteSource], NDArray[np.object_] | NDArray[np.int64]],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
) -> Draws:
    """Draw many noisy copies at once, and project them on what sets the tables apart.

    Against Gaussian noise of one size this is the best test (Neyman and Pearson).

    Parameters
    ----------
    release : callable
        From exact values of shape (copies, entries) and a source to noisy ones.
    first, second : ndarray of int64, shape (entries,)
        The exact statistics of both tables.

    Returns
    -------
    callable
    """
    touched = first != second  # elsewhere there is noise alone, the same on both tables
    shift = (first - second)[touched].astype(np.float64)
    copies = max(1, _CHUNK // len(shift))

    def scores(exact: NDArray[np.int64], runs: int, source: ByteSource) -> Vector:
        parts = []
        for start in range(0, runs, copies):
            tiled = np.tile(exact[touched], (min(copies, runs - start), 1))
            parts.append(release(tiled, source).astype(np.float64) @ shift)
        return np.concatenate(parts)

    def draw(runs: int, source: ByteSource) -> tuple[Vector, Vector]:
        return scores(first, runs, source), scores(second, runs, source)

    return draw
