"""A file that keeps the releases of one data set within a total budget. Standard library only.

What is promised and why is in ``ledger.md``.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from types import TracebackType
from typing import Self, get_args

from nolook._validation import check_choice, check_path
from nolook.errors import BudgetExceededError, LedgerError, ParameterError
from nolook.privacy._ledger_file import (
    Contents,
    LedgerFile,
    amount_text,
    check_cost,
    check_line,
    create_file,
    decimal,
    now,
    plainly,
    read_budget,
    rounded,
)
from nolook.privacy.guarantee import Budget, PrivacyGuarantee, Relation

__all__ = ["Amount", "Ledger", "LedgerEntry", "Reservation", "amount_text", "charge", "require"]

_EXAMPLE = "people.ledger"


@dataclass(frozen=True, slots=True)
class Amount:
    """A sum of costs, or what is left; unlike a budget it may be zero."""

    epsilon: float
    delta: float


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One release in a ledger.

    Parameters
    ----------
    id : int
        In the order of reservation, from 1.
    time : str
        When it was reserved, in UTC, ISO 8601.
    description : str
    cost : Budget
        What was charged, under the ledger's relation.
    relation : {"add-remove", "replace"}
        That of the release itself.
    state : {"reserved", "complete", "refunded"}
        Reserved entries are charged; one that stays so belongs to a process that failed or died.
    """

    id: int
    time: str
    description: str
    cost: Budget
    relation: str
    state: str


class Reservation:
    """A cost that is charged already; made by :meth:`Ledger.reserve`."""

    def __init__(self, ledger: Ledger, entry: int) -> None:
        self._ledger = ledger
        self._entry = entry

    def complete(self) -> None:
        """Mark the release as made. It stays charged."""
        self._ledger._settle(self._entry, "complete", None)

    def charged(self) -> bool:
        """Whether the ledger's file still holds the charge."""
        return self._ledger._holds(self._entry)

    def refund(self, reason: str) -> None:
        """Give the cost back.

        ONLY for a release that stops on its own released output, whose privacy proof says that
        stopping there costs nothing. A failure that depends on the data in any other way must
        stay charged.

        Parameters
        ----------
        reason : str
            Kept in the file.
        """
        check_line(reason, "reason")
        self._ledger._settle(self._entry, "refunded", reason)


class Ledger:
    """The budget of one data set and all releases charged to it.

    Parameters
    ----------
    path : path-like
        A file made by :meth:`create`.

    Attributes
    ----------
    path : Path
    name : str
        Of the data set.
    budget : Budget
        The total.
    relation : {"add-remove", "replace"}
        Which tables are neighbours.

    Raises
    ------
    LedgerError
        If there is no such file or it is no ledger.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = check_path(path, _EXAMPLE)
        with plainly(self.path):
            if not self.path.is_file():
                raise LedgerError(
                    f"{str(self.path)!r} is not a file; expected a ledger (make one with "
                    "'nolook ledger create FILE' or Ledger.create)"
                )
            self._file = LedgerFile(self.path)
            try:
                with self._file.reading() as contents:
                    self.name, epsilon, delta, self.relation, _ = contents.terms
                    self.budget = read_budget(epsilon, delta)
                    check_choice("relation", self.relation, get_args(Relation))
                    _sums(contents)
            except BaseException:
                self.close()
                raise

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        budget: Budget,
        *,
        name: str,
        relation: Relation = "add-remove",
    ) -> Self:
        """Create a ledger; an existing file is never touched.

        Parameters
        ----------
        path : path-like
            Where; its folder must exist.
        budget : Budget
            The total for all releases together.
        name : str
            Of the data set.
        relation : {"add-remove", "replace"}
            Which tables are neighbours.

        Returns
        -------
        Ledger

        Raises
        ------
        LedgerError
            If the file exists or cannot be written.
        """
        check_choice("relation", relation, get_args(Relation))
        place = check_path(path, _EXAMPLE)
        check_cost(budget, "budget")
        check_line(name, "name")
        with plainly(place):
            create_file(place, budget, name, relation)
        return cls(place)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. Nothing is pending: every change was durable when it was made."""
        self._file.close()

    @property
    def spent(self) -> Amount:
        """What is charged so far, rounded up."""
        with self._file.reading() as contents:
            epsilon, delta = _sums(contents)
        return Amount(rounded(epsilon, math.inf), rounded(delta, math.inf))

    @property
    def remaining(self) -> Amount:
        """What is left, rounded down."""
        with self._file.reading() as contents:
            return self._left(contents)

    def history(self) -> tuple[LedgerEntry, ...]:
        """List all releases in the order of their reservation."""
        with self._file.reading() as contents:
            return tuple(
                LedgerEntry(entry, time, text, read_budget(e, d), relation, state)
                for entry, time, text, e, d, relation, state, _ in contents.releases
            )

    def require(self, cost: Budget, *, relation: Relation) -> None:
        """Refuse a release that could not be reserved now; nothing is charged.

        Parameters
        ----------
        cost : Budget
        relation : {"add-remove", "replace"}

        Raises
        ------
        BudgetExceededError
            If too little is left.
        LedgerError
            If the release's relation has no proved conversion to the ledger's.
        """
        charged = self._converted(cost, relation)
        with self._file.reading() as contents:
            self._affordable(contents, charged)

    def reserve(self, cost: Budget, *, relation: Relation, description: str) -> Reservation:
        """Charge a release before it is made.

        The charge is on disk when this returns, and stays if the process dies.

        Parameters
        ----------
        cost : Budget
            Of the release.
        relation : {"add-remove", "replace"}
            Under which it was proved.
        description : str
            Kept in the file.

        Returns
        -------
        Reservation

        Raises
        ------
        BudgetExceededError
            If too little is left. Nothing is charged.
        LedgerError
            If the release's relation has no proved conversion to the ledger's, or the file cannot
            be written. Nothing may be released; where a disk failed in the last step of writing,
            the charge can stay.
        """
        check_line(description, "description")
        charged = self._converted(cost, relation)
        with self._file.writing() as contents:
            # No other process can write between the reading of the contents and the charge.
            self._affordable(contents, charged)
            entry = len(contents.releases) + 1
            self._file.database.execute(
                "INSERT INTO release VALUES (?, ?, ?, ?, ?, ?, 'reserved', NULL)",
                (entry, now(), description, charged.epsilon.hex(), charged.delta.hex(), relation),
            )
        return Reservation(self, entry)

    def charge_once(self, cost: Budget, *, relation: Relation, description: str) -> None:
        """Charge a release that is the same whenever a crash makes it repeat, as :meth:`reserve`.

        Parameters
        ----------
        cost, relation
            As there.
        description : str
            Names this release alone: an entry of this name that was not refunded is its charge.
        """
        for entry in self.history():
            if entry.description == description and entry.state != "refunded":
                if entry.state == "reserved":
                    Reservation(self, entry.id).complete()
                return
        self.reserve(cost, relation=relation, description=description).complete()

    def _settle(self, entry: int, state: str, reason: str | None) -> None:
        with self._file.writing():
            changed = self._file.database.execute(
                "UPDATE release SET state = ?, reason = ? WHERE id = ? AND state = 'reserved'",
                (state, reason, entry),
            ).rowcount
            if changed != 1:
                raise LedgerError(f"release {entry} is settled already; expected a reserved one")

    def _holds(self, entry: int) -> bool:
        with self._file.reading() as contents:
            states = [row[6] for row in contents.releases]
        return len(states) >= entry and states[entry - 1] != "refunded"

    def _left(self, contents: Contents) -> Amount:
        epsilon, delta = _sums(contents)
        return Amount(
            rounded(decimal(self.budget.epsilon) - epsilon, -math.inf),
            rounded(decimal(self.budget.delta) - delta, -math.inf),
        )

    def _affordable(self, contents: Contents, cost: Budget) -> None:
        epsilon, delta = _sums(contents)
        epsilon += decimal(cost.epsilon)
        delta += decimal(cost.delta)
        if epsilon > decimal(self.budget.epsilon) or delta > decimal(self.budget.delta):
            left = self._left(contents)
            raise BudgetExceededError(
                f"the release costs epsilon {amount_text(cost.epsilon, up=True)} and delta "
                f"{amount_text(cost.delta, up=True)}; the ledger {str(self.path)!r} has epsilon "
                f"{amount_text(left.epsilon, up=False)} and delta "
                f"{amount_text(left.delta, up=False)} left"
            )

    def _converted(self, cost: Budget, relation: Relation) -> Budget:
        check_choice("relation", relation, get_args(Relation))
        check_cost(cost, "cost")
        if relation == self.relation:
            return cost
        if relation == "replace":
            raise LedgerError(
                f"the release is proved for the relation 'replace', the ledger {str(self.path)!r} "
                "is for 'add-remove'; expected a release for 'add-remove'"
            )
        # Replacing a record removes one and adds one (the proof is in ledger.md).
        factor = 1.0 + math.exp(cost.epsilon) if cost.epsilon < 700.0 else math.inf
        epsilon = 2.0 * cost.epsilon
        raised = cost.delta * factor * (1.0 + 2.0**-50)
        delta = math.nextafter(raised, math.inf) if cost.delta else 0.0
        if epsilon == math.inf or not delta < 1.0:
            raise LedgerError(
                f"the release has no useful guarantee under 'replace', the relation of the ledger "
                f"{str(self.path)!r}; expected a smaller cost than {cost}"
            )
        return Budget(epsilon, delta)


def _sums(contents: Contents) -> tuple[Fraction, Fraction]:
    costs = [read_budget(row[3], row[4]) for row in contents.releases if row[6] != "refunded"]
    epsilon = sum((decimal(cost.epsilon) for cost in costs), Fraction(0))
    return epsilon, sum((decimal(cost.delta) for cost in costs), Fraction(0))


def require(ledger: Ledger | None, guarantee: PrivacyGuarantee) -> None:
    """Refuse at once what :func:`charge` would refuse; without a ledger do nothing."""
    if ledger is None:
        return
    if not guarantee.private:
        raise ParameterError(
            "the result would not be private; expected a private release for a ledger (leave "
            "random_state out, and settings that are for reproduction only)"
        )
    ledger.require(guarantee.budget, relation=guarantee.relation)


@contextmanager
def charge(ledger: Ledger | None, guarantee: PrivacyGuarantee, description: str) -> Iterator[None]:
    """Charge a release before the block runs; if the block fails the charge stays.

    A failure may depend on the data. Without a ledger nothing happens.

    Raises
    ------
    ParameterError
        If the release is not private.
    BudgetExceededError
        If the ledger has too little left.
    """
    require(ledger, guarantee)
    if ledger is None:
        yield
        return
    reservation = ledger.reserve(
        guarantee.budget, relation=guarantee.relation, description=description
    )
    yield
    try:
        reservation.complete()
    except LedgerError:
        # The release is paid for; only a charge that can no longer be seen withholds it.
        if not reservation.charged():
            raise
