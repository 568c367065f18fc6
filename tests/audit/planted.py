"""What every planted fault has in common: a release, its claim, and what an audit of it shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType

import numpy as np
import pytest

from nolook.algorithms import scaling
from nolook.audit.bounds import loss_bound
from nolook.privacy.noise import ByteSource, SeededSource

Scores = Sequence[np.ndarray]


@dataclass(frozen=True, eq=False)
class Release:
    """A release of the library on two neighbouring tables, and what it claims.

    Parameters
    ----------
    name : str
    tables : pair of ndarray of shape (rows,) or (rows, columns)
        The second has one row more than the first, or one row replaced.
    run : callable
        Takes a table, a number of draws and a source; returns scores of the outputs, one array for
        each kind of score. It looks up what may be planted as an attribute of a module.
    claim : float
        The epsilon claimed, or mu.
    draws : int
        Of each table.
    power : float
        What the audit shows of the right code at least, as a share of the claim.
    delta : float or None
        The delta claimed; None if the claim is a mu.
    """

    name: str
    tables: tuple[np.ndarray, np.ndarray]
    run: Callable[[np.ndarray, int, ByteSource], Scores]
    claim: float
    draws: int
    power: float
    delta: float | None = 0.0

    def bound(self, first: Scores, second: Scores) -> float:
        """Return the largest bound that any of the scores shows."""
        return max(loss_bound(*scores, self.delta) for scores in zip(first, second, strict=True))

    def audit(self) -> float:
        """Return what the draws prove about the two tables."""
        first, second = self.tables
        return self.bound(
            self.run(first, self.draws, SeededSource(1)),
            self.run(second, self.draws, SeededSource(2)),
        )

    def control(self) -> float:
        """Return what draws of the first table, twice, prove: nothing, if the audit is right."""
        draws = self.draws // 4
        return self.bound(
            self.run(self.tables[0], draws, SeededSource(3)),
            self.run(self.tables[0], draws, SeededSource(4)),
        )


@cache
def audit_of_the_right_code(release: Release) -> float:
    """Audit a release once for all faults planted in it."""
    return release.audit()


@dataclass(frozen=True, eq=False)
class Fault:
    """A fault to be planted into a release.

    Parameters
    ----------
    name : str
    release : Release
    plant : callable
        Takes a MonkeyPatch.
    truth : float
        What is known of the faulty version's privacy loss: it is not larger on these tables.
    """

    name: str
    release: Release
    plant: Callable[[pytest.MonkeyPatch], None]
    truth: float = float("inf")

    def audit(self) -> tuple[float, float]:
        """Return what the audit shows of the faulty version, and of one table drawn from twice."""
        with pytest.MonkeyPatch.context() as patch:
            self.plant(patch)
            return self.release.audit(), self.release.control()


def check_that_the_audit_catches(fault: Fault) -> None:
    """Assert that the audit shows the fault to break the claim, and the right code to keep it."""
    release = fault.release
    shown, of_one_table = fault.audit()
    assert release.claim < shown <= fault.truth
    # It is the row that does it, and not the way of counting.
    assert of_one_table < release.claim / 2
    right = audit_of_the_right_code(release)
    assert release.power * release.claim <= right <= release.claim


def rows_that_differ(first: np.ndarray, second: np.ndarray) -> int:
    """Count the rows that must be added to one table, removed or replaced to get the other."""
    if len(first) == len(second):
        return int(np.count_nonzero((first != second).reshape(len(first), -1).any(axis=1)))
    short, long = sorted((first, second), key=len)
    place = 0
    if len(short):
        unlike = (short != long[: len(short)]).reshape(len(short), -1).any(axis=1)
        place = int(unlike.argmax()) if unlike.any() else len(short)
    extra = len(long) - len(short)
    rest = np.concatenate([long[:place], long[place + extra :]])
    return extra if np.array_equal(rest, short) else len(long)


def halved(module: ModuleType, function: str) -> Callable[[pytest.MonkeyPatch], None]:
    """Plant half of a sensitivity."""
    exact = getattr(module, function)

    def half(*arguments: object, **options: object) -> float:
        return exact(*arguments, **options) / 2

    return lambda patch: patch.setattr(module, function, half)


def halved_bins(module: ModuleType) -> Callable[[pytest.MonkeyPatch], None]:
    """Plant half of the sensitivity of the histograms that a module releases."""

    def release(exact: np.ndarray, mu: float, whole: int, source: ByteSource) -> np.ndarray:
        half = whole * scaling.histograms_sensitivity(len(exact), "add-remove") / 2
        return scaling.gaussian_release(exact, half, mu, source).astype(np.float64) / whole

    return lambda patch: patch.setattr(module, "release_bins", release)


def choices(choose: Callable[[], int], draws: int) -> np.ndarray:
    """Call a function so many times."""
    return np.array([choose() for _ in range(draws)], dtype=np.float64)
