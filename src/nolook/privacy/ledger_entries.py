"""The entries of a ledger, and their sum."""

from __future__ import annotations

import getpass
import math
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

from attrs import astuple, evolve, frozen

from nolook._unit import ROW
from nolook._validation import check_choice
from nolook.errors import BudgetExceededError, LedgerError
from nolook.privacy._ledger_file import (
    Contents,
    amount_text,
    as_line,
    check_budget,
    decimal,
    read_budget,
    rounded,
)
from nolook.privacy.guarantee import Budget, Relation

__all__ = [
    "Amount",
    "LedgerEntry",
    "ReleaseDetails",
    "check_affordable",
    "check_unit",
    "converted",
    "detail_texts",
    "entry_of",
    "left",
    "spent",
    "total",
    "under_replacement",
    "unit_of",
]


@frozen
class Amount:
    """A sum of costs, or what is left of a budget; unlike a budget it may be zero."""

    epsilon: float
    delta: float


@frozen
class ReleaseDetails:
    """The details of a release that a ledger keeps in addition to its cost; None is unknown.

    Names of the `table` and of the `output` file, without folders; a digest of the declared
    `schema`; the columns the release is `about`; `who` charged it, by the name of the account; the
    `unit` that the guarantee protects. Whatever they hold, the file gets one line of each.
    """

    table: str | None = None
    schema: str | None = None
    about: str | None = None
    output: str | None = None
    who: str | None = None
    unit: str | None = None


@frozen
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


def unit_of(contents: Contents) -> str | None:
    """Return the unit that the charges protect, None if there are none.

    One that names no unit protects a row.
    """
    units = (row[-1] or ROW.in_words() for row in contents.releases if row[6] != "refunded")
    return next(units, None)


def check_affordable(contents: Contents, cost: Budget, budget: Budget, path: Path) -> None:
    """Refuse a release that costs more than the charges leave of a budget."""
    epsilon, delta = spent(contents)
    epsilon += decimal(cost.epsilon)
    delta += decimal(cost.delta)
    if epsilon > decimal(budget.epsilon) or delta > decimal(budget.delta):
        rest = left(contents, budget)
        raise BudgetExceededError(
            f"the release costs epsilon {amount_text(cost.epsilon, up=True)} and delta "
            f"{amount_text(cost.delta, up=True)}; the ledger {str(path)!r} has "
            f"epsilon {amount_text(rest.epsilon, up=False)} and delta "
            f"{amount_text(rest.delta, up=False)} left (reduce the budget of the release; "
            "a ledger's total cannot be raised)"
        )


def check_unit(contents: Contents, details: ReleaseDetails | None, path: Path) -> None:
    """Refuse a release that protects something else than those before it."""
    unit = (details and details.unit) or ROW.in_words()
    known = unit_of(contents)
    if known not in {None, unit}:
        raise LedgerError(
            f"the release protects a {unit}; those of the ledger {str(path)!r} protect a {known} "
            "(create a ledger for each; what both spend adds up for people who are in both)"
        )
    if as_line(unit) != unit:
        raise LedgerError(
            "the release's unit has too long a name for a ledger; expected a column of a shorter "
            "name (rename it)"
        )


def converted(cost: Budget, relation: Relation, wanted: Relation, path: Path) -> Budget:
    """Return the cost to a ledger of a release that was proved for another relation."""
    check_choice("relation", relation, get_args(Relation))
    check_budget(cost, "cost")
    if relation == wanted:
        return cost
    if relation == "replace":
        raise LedgerError(
            f"the release is proved for the relation 'replace', the ledger {str(path)!r} is for "
            "'add-remove'; expected a release for 'add-remove'"
        )
    replaced = under_replacement(cost)
    if replaced is None:
        raise LedgerError(
            f"the release has no useful guarantee under 'replace', the relation of the ledger "
            f"{str(path)!r}; expected a smaller cost than {cost}"
        )
    return replaced


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
    """Return the rest of a budget after the charges, rounded down."""
    epsilon, delta = spent(contents)
    return Amount(
        rounded(decimal(budget.epsilon) - epsilon, -math.inf),
        rounded(decimal(budget.delta) - delta, -math.inf),
    )


def detail_texts(details: ReleaseDetails | None, output: str | None) -> tuple[str | None, ...]:
    """Return details as the file keeps them; `output` is what they have if they name none."""
    known = ReleaseDetails() if details is None else details
    who = None
    with suppress(OSError, KeyError):  # an account without a name
        who = getpass.getuser()
    own = evolve(known, output=known.output or output, who=known.who or who)
    return tuple(map(as_line, astuple(own)))


def under_replacement(cost: Budget) -> Budget | None:
    """Return the cost under replacement of a release proved under add-remove, None if useless.

    Replacing a row removes one and adds one; the proof is in ``ledger.md``.
    """
    factor = 1.0 + math.exp(cost.epsilon) if cost.epsilon < 700.0 else math.inf
    epsilon = 2.0 * cost.epsilon
    raised = cost.delta * factor * (1.0 + 2.0**-50)
    delta = math.nextafter(raised, math.inf) if cost.delta else 0.0
    return None if epsilon == math.inf or not delta < 1.0 else Budget(epsilon, delta)
