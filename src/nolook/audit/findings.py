"""The findings of an audit: bounds next to claims, and a verdict."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from typing import Literal, TypeAlias
from zlib import crc32

import numpy as np
from attrs import frozen

from nolook.audit.audit_case import Case
from nolook.audit.bounds import loss_bound
from nolook.audit.catalogue import catalogue
from nolook.audit.exact_laws import exact_epsilon, exact_mu, fit_chance, log_ratios
from nolook.privacy.noise import ByteSource, byte_source

__all__ = ["Finding", "Verdict", "audit", "audit_all"]

Verdict: TypeAlias = Literal["kept", "broken", "not the law", "too weak"]

# An exact loss may exceed its claim by rounding.
_ROOM = 1e-9
# Draws from the law fit it worse with this chance, on each table.
_UNFIT = 1e-6


@frozen
class Finding:
    """The bounds from the draws of one case."""

    case: Case
    runs: int  # on each table
    bound: float  # the privacy loss is larger, with probability 1 - 1e-5
    exact: float | None  # the loss of the exact laws, if they are known
    #: The chance that draws from the exact laws fit them worse, the smaller of both tables'.
    fit: float | None
    seconds: float

    @property
    def power(self) -> float:
        """The share of the claim that the audit proved to be lost."""
        return max(self.bound, self.exact or 0.0) / self.case.claim

    @property
    def verdict(self) -> Verdict:
        """The verdict; only a full audit can be too weak."""
        if self.bound > self.case.claim or (self.exact or 0.0) > self.case.claim * (1 + _ROOM):
            return "broken"
        if self.fit is not None and self.fit < _UNFIT:
            return "not the law"
        if self.runs >= self.case.runs and self.power < self.case.power:
            return "too weak"
        return "kept"


def audit(case: Case, source: ByteSource, runs: int | None = None) -> Finding:
    """Draw from both tables of a case and bound the loss; by default the draws of a full audit."""
    runs = case.runs if runs is None else min(runs, case.runs)
    start = time.perf_counter()
    first, second = (case.draw(table, runs, source) for table in (0, 1))
    exact, fit = None, None
    if case.law is not None:
        laws = case.law(0), case.law(1)
        exact = exact_mu(*laws) if case.measure == "mu" else exact_epsilon(*laws, case.delta)
        outcomes = first.astype(np.int64), second.astype(np.int64)
        fit = min(fit_chance(*pair) for pair in zip(outcomes, laws, strict=True))
        ratios = log_ratios(*laws)
        first, second = ratios[outcomes[0]], ratios[outcomes[1]]
    bound = loss_bound(first, second, None if case.measure == "mu" else case.delta)
    return Finding(case, runs, bound, exact, fit, time.perf_counter() - start)


def audit_all(
    names: Sequence[str], parameter: float, runs: int | None, random_state: int | None, workers: int
) -> Iterator[Finding]:
    """Audit cases of the catalogue, several at once; yield each finding when it is there.

    With `random_state` None draws come from the operating system's entropy; an int repeats them.
    """
    cases = catalogue(parameter)
    ask = partial(_figures, parameter=parameter, runs=runs, random_state=random_state)
    if len(names) == 1 or workers == 1:
        yield from (Finding(cases[name], *ask(name)) for name in names)
        return
    # The longest first, so that none remains at the end.
    names = sorted(names, key=lambda name: -cases[name].runs)
    with ProcessPoolExecutor(min(workers, len(names)), get_context("spawn")) as processes:
        pending = {processes.submit(ask, name): name for name in names}
        for done in as_completed(pending):
            yield Finding(cases[pending[done]], *done.result())


def _figures(
    name: str, parameter: float, runs: int | None, random_state: int | None
) -> tuple[int, float, float | None, float | None, float]:
    """Audit one case; return what, unlike a case, can be sent between processes."""
    # Each case has random numbers of its own, whatever the other cases are.
    seed = None if random_state is None else random_state << 32 | crc32(name.encode())
    found = audit(catalogue(parameter)[name], byte_source(seed), runs)
    return found.runs, found.bound, found.exact, found.fit, found.seconds
