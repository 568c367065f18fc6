"""A release, two neighbouring tables, and draws from both."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from nolook._arrays import Vector
from nolook.privacy.noise import ByteSource

__all__ = [
    "FEWER_RUNS",
    "RUNS",
    "Case",
    "Draws",
    "Vector",
    "gaussian_case",
    "ignore",
    "on_both",
    "one_by_one",
    "outcomes",
    "projected",
    "pure_case",
    "table_by_table",
]

#: Draws from each table in a full audit.
RUNS = 200_000
#: Where exact laws tell what is lost, and draws only that they are the mechanism's.
FEWER_RUNS = 50_000

_CHUNK = 2**21  # entries drawn at once

#: Takes a number of runs and a source.
Draws: TypeAlias = Callable[[int, ByteSource], tuple[Vector, Vector]]


@frozen
class Case:
    """A release and a pair of neighbouring tables that tell much about it."""

    name: str  # unique: words joined by hyphens
    neighbours: str  # how the two tables differ, in words
    relation: Literal["add-remove", "replace"]
    measure: Literal["epsilon", "mu"]  # what the claim bounds
    claim: float
    covers: tuple[str, ...]  # names of the functions or classes audited
    #: Returns a score of each output on both tables, the better it tells them apart the better.
    #: With a `law`, the outcomes' numbers.
    draw: Draws
    delta: float = 0.0  # of the claim; 0 with mu
    #: Returns the exact laws of the outcomes on both tables.
    law: Callable[[], tuple[Vector, Vector]] | None = None
    runs: int = RUNS  # on each table, in a full audit
    power: float = 0.6  # share of the claim that a full audit must reach
    protects: Literal["row", "unit"] = "row"  # what the claim is for: a unit has several rows


def pure_case(epsilon: float) -> partial[Case]:
    """Return a maker of cases that claim an epsilon, by default for a row added."""
    return partial(Case, relation="add-remove", measure="epsilon", claim=epsilon)


def gaussian_case(mu: float) -> partial[Case]:
    """Return a maker of cases that claim a mu, by default for a row added."""
    return partial(Case, relation="add-remove", measure="mu", claim=mu)


def ignore(_: str) -> None:
    """Do nothing with the name of a pass."""


def table_by_table(scores: Callable[[int, int, ByteSource], Vector]) -> Draws:
    """Draw all scores of a table at once; `scores` is told the table, 0 or 1, and the runs."""
    return lambda runs, source: (scores(0, runs, source), scores(1, runs, source))


def one_by_one(one: Callable[[int, ByteSource], float]) -> Draws:
    """Draw scores one run at a time; `one` is told which table it sees: 0 or 1."""
    return table_by_table(
        lambda table, runs, source: np.fromiter(
            (one(table, source) for _ in range(runs)), np.float64, runs
        )
    )


def outcomes(noisy: NDArray[Any], limit: int) -> Vector:
    """Return the outcomes' numbers; the last axis holds the entries of one, clipped to a limit."""
    clipped = noisy.clip(-limit, limit).astype(np.int64) + limit
    powers = (2 * limit + 1) ** np.arange(clipped.shape[-1])[::-1]
    return (clipped @ powers).astype(np.float64)


def on_both(law: Callable[[int], Vector]) -> Callable[[], tuple[Vector, Vector]]:
    """Return a case's laws; `law` is told which table it is of: 0 or 1."""
    return lambda: (law(0), law(1))


def projected(
    release: Callable[[NDArray[np.int64], ByteSource], NDArray[np.object_] | NDArray[np.int64]],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
) -> Draws:
    """Draw many noisy copies at once, and project them on the difference of the exact values.

    Against Gaussian noise of one size this is the best test (Neyman and Pearson). `release` takes
    exact values of shape (copies, entries).
    """
    touched = first != second  # elsewhere both tables have the same noise alone
    shift = (first - second)[touched].astype(np.float64)
    copies = max(1, _CHUNK // len(shift))

    def scores(table: int, runs: int, source: ByteSource) -> Vector:
        exact = (first, second)[table][touched]
        parts = []
        for start in range(0, runs, copies):
            tiled = np.tile(exact, (min(copies, runs - start), 1))
            parts.append(release(tiled, source).astype(np.float64) @ shift)
        return np.concatenate(parts)

    return table_by_table(scores)
