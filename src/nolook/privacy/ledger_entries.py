"""What is read off a ledger: its entries, and their sum."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass, replace
from fractions import Fraction
from typing import Any

from nolook.privacy._ledger_file import Contents, as_line, decimal, read_budget, rounded
from nolook.privacy.guarantee import Budget

__all__ = [
    "Amount",
    "LedgerEntry",
    "ReleaseDetails",
    "detail_texts",
    "entry_of",
    "left",
    "spent",
    "total",
    "under_replacement",
]


@dataclass(frozen=True, slots=True)
class Amount:
    """A sum of costs, or what is left of a budget; unlike a budget it may be zero."""

    epsilon: float
    delta: float


@dataclass(frozen=True, slots=True)
class ReleaseDetails:
    """What a ledger keeps of a release beside its cost, for its reader; None is not known.

    Names of the `table` and of the `output` file, without folders; a digest of the declared
    `schema`; the columns the release is `about`; the `unit` that the guarantee protects. Whatever
    they hold, the file gets one line of each.
    """

    table: str | None = None
    schema: str | None = None
    about: str | None = None
    output: str | None = None
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One release in a ledger.

    Entries are numbered from 1 in the order of reservation; `time` (UTC, ISO 8601) is when it was
    reserved. `cost` is what was charged, under the ledger's relation, and `relation` that of the
    release itself. A `reserved` entry is charged; one that stays so belongs to a process that
    failed or died.
    """

    id: int
    time: str
    description: str
    cost: Budget
    relation: str
    state: str
    details: ReleaseDetails


def entry_of(row: tuple[Any, ...]) -> LedgerEntry:
    """Return a row of the file as an entry."""
    entry, time, text, epsilon, delta, relation, state, _, *details = row
    cost = read_budget(epsilon, delta)
    return LedgerEntry(entry, time, text, cost, relation, state, ReleaseDetails(*details))


def spent(contents: Contents) -> tuple[Fraction, Fraction]:
    """Add up all charges, exactly: epsilon and delta."""
    costs = [read_budget(row[3], row[4]) for row in contents.releases if row[6] != "refunded"]
    epsilon = sum((decimal(cost.epsilon) for cost in costs), Fraction(0))
    return epsilon, sum((decimal(cost.delta) for cost in costs), Fraction(0))


def total(contents: Contents) -> Amount:
    """Return the sum of all charges, rounded up."""
    epsilon, delta = spent(contents)
    return Amount(rounded(epsilon, math.inf), rounded(delta, math.inf))


def left(contents: Contents, budget: Budget) -> Amount:
    """Return what the charges leave of a budget, rounded down."""
    epsilon, delta = spent(contents)
    return Amount(
        rounded(decimal(budget.epsilon) - epsilon, -math.inf),
        rounded(decimal(budget.delta) - delta, -math.inf),
    )


def detail_texts(details: ReleaseDetails | None, output: str | None) -> tuple[str | None, ...]:
    """Return details as the file keeps them; `output` is what they have if they name none."""
    known = ReleaseDetails() if details is None else details
    return tuple(map(as_line, astuple(replace(known, output=known.output or output))))


def under_replacement(cost: Budget) -> Budget | None:
    """Return what a release proved under add-remove costs under replacement, None if no use.

    Replacing a row removes one and adds one; the proof is in ``ledger.md``.
    """
    factor = 1.0 + math.exp(cost.epsilon) if cost.epsilon < 700.0 else math.inf
    epsilon = 2.0 * cost.epsilon
    raised = cost.delta * factor * (1.0 + 2.0**-50)
    delta = math.nextafter(raised, math.inf) if cost.delta else 0.0
    return None if epsilon == math.inf or not delta < 1.0 else Budget(epsilon, delta)
