"""What an audit found: bounds beside claims, and a verdict."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Literal, TypeAlias
from zlib import crc32

import numpy as np

from nolook.audit.bounds import epsilon_bound, mu_bound
from nolook.audit.case import Case, Vector
from nolook.audit.catalogue import catalogue
from nolook.audit.laws import exact_epsilon, fit_chance
from nolook.privacy.noise import ByteSource, byte_source

__all__ = ["Finding", "Verdict", "audit", "audit_all"]

Verdict: TypeAlias = Literal["kept", "broken", "not the law", "too weak"]

# Of an exact loss: for the rounding of its computation.
_ROOM = 1e-9
# Draws from the law fit it worse with this chance on either table.
_UNFIT = 1e-6


@dataclass(frozen=True, slots=True)
class Finding:
    """What the draws of one case showed.

    Parameters
    ----------
    case : Case
    runs : int
        Draws on each table.
    bound : float
        The privacy loss is larger, with probability 1 - 1e-5.
    exact : float or None
        The loss of the exact laws, where they are known.
    fit : float or None
        The chance that draws from the exact laws fit them worse, the smaller of both tables.
    seconds : float
    """

    case: Case
    runs: int
    bound: float
    exact: float | None
    fit: float | None
    seconds: float

    @property
    def power(self) -> float:
        """Share of the claim that was shown to be lost."""
        return max(self.bound, self.exact or 0.0) / self.case.claim

    @property
    def verdict(self) -> Verdict:
        """What follows: too weak is judged for a full audit only."""
        if self.bound > self.case.claim or (self.exact or 0.0) > self.case.claim * (1 + _ROOM):
            return "broken"
        if self.fit is not None and self.fit < _UNFIT:
            return "not the law"
        if self.runs >= self.case.runs and self.power < self.case.power:
            return "too weak"
        return "kept"


def audit(case: Case, source: ByteSource, runs: int | None = None) -> Finding:
    """Draw from both tables of a case, and bound what is lost.

    Parameters
    ----------
    case : Case
    source : ByteSource
    runs : int, optional
        Draws on each table, at most those of a full audit, which are the default.

    Returns
    -------
    Finding
    """
    runs = case.runs if runs is None else min(runs, case.runs)
    start = time.perf_counter()
    first, second = case.draw(runs, source)
    exact, fit = None, None
    if case.law is not None:
        laws = case.law()
        exact = exact_epsilon(*laws, case.delta)
        outcomes = first.astype(np.int64), second.astype(np.int64)
        fit = min(fit_chance(*pair) for pair in zip(outcomes, laws, strict=True))
        ratios = _log_ratios(*laws)
        first, second = ratios[outcomes[0]], ratios[outcomes[1]]
    if case.measure == "mu":
        bound = mu_bound(first, second)
    else:
        bound = epsilon_bound(first, second, case.delta)
    return Finding(case, runs, bound, exact, fit, time.perf_counter() - start)


def _log_ratios(first: Vector, second: Vector) -> Vector:
    """Return how much likelier each outcome is on the first table: the best score of all."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios: Vector = np.log(first) - np.log(second)
    return np.nan_to_num(ratios, nan=0.0)


def audit_all(
    names: Sequence[str],
    parameter: float,
    runs: int | None,
    random_state: int | None,
    workers: int,
) -> Iterator[Finding]:
    """Audit cases, several in processes of their own, and yield each finding when it is there.

    Parameters
    ----------
    names : sequence of str
        Keys of :func:`nolook.audit.catalogue.catalogue`.
    parameter : float
        As for the catalogue.
    runs : int or None
        As for :func:`audit`.
    random_state : int or None
        None: the operating system's entropy. An int repeats every case's draws.
    workers : int

    Yields
    ------
    Finding
    """
    cases = catalogue(parameter)
    ask = partial(_figures, parameter=parameter, runs=runs, random_state=random_state)
    if len(names) == 1 or workers == 1:
        yield from (Finding(cases[name], *ask(name)) for name in names)
        return
    # The longest first, so that none is left over at the end.
    names = sorted(names, key=lambda name: -cases[name].runs)
    with ProcessPoolExecutor(min(workers, len(names)), get_context("spawn")) as processes:
        pending = {processes.submit(ask, name): name for name in names}
        for done in as_completed(pending):
            yield Finding(cases[pending[done]], *done.result())


def _figures(
    name: str, parameter: float, runs: int | None, random_state: int | None
) -> tuple[int, float, float | None, float | None, float]:
    """Audit one case; what it returns can be sent between processes, which a case cannot."""
    # Cases do not share random numbers, whatever the others are.
    seed = None if random_state is None else random_state << 32 | crc32(name.encode())
    found = audit(catalogue(parameter)[name], byte_source(seed), runs)
    return found.runs, found.bound, found.exact, found.fit, found.seconds
