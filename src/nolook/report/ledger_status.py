"""When a report was made, and what its release left of a ledger's budget.

Imports nothing numeric.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Self

from attrs import evolve, frozen

from nolook.errors import LedgerError
from nolook.privacy.ledger import Amount, Ledger, amount_text

if TYPE_CHECKING:
    from pathlib import Path

    from nolook.privacy.guarantee import Budget
    from nolook.report.findings import Text

__all__ = ["UNKNOWN", "LedgerStatus", "amounts"]


def amounts(cost: Amount | Budget, *, up: bool) -> tuple[str, str]:
    """Return epsilon and delta with six digits, rounded up (spent) or down (left)."""
    return amount_text(cost.epsilon, up=up), amount_text(cost.delta, up=up)


@frozen
class LedgerStatus:
    """The day of a release and the ledger it was charged to, as far as they are known.

    `left` holds pairs of what is left and of how much: of epsilon, and of delta.
    """

    day: date | None = None
    ledger: str | None = None
    left: tuple[tuple[str, str], ...] = ()

    @classmethod
    def now(cls, ledger: Path | None) -> Self:
        """Return the status of the ledger after a release; unknown without a ledger."""
        today = datetime.now(UTC).date()
        if ledger is None:
            return cls(today)
        try:
            with Ledger(ledger) as charged:
                return evolve(cls.of(charged), day=today)
        except LedgerError:  # the release is made and stays so
            return cls(today)

    @classmethod
    def of(cls, ledger: Ledger) -> Self:
        """Return the status of a ledger, no matter when a release was made."""
        left, budget = (amounts(each, up=False) for each in (ledger.remaining, ledger.budget))
        return cls(None, ledger.name, tuple(zip(left, budget, strict=True)))

    def in_words(self) -> tuple[Text, ...]:
        """Say when it was, and what is left."""
        from nolook.report.findings import Name

        day = (
            "The day it was made is not recorded here."
            if self.day is None
            else f"Made on {self.day.day} {self.day:%B %Y}."
        )
        if self.ledger is None:
            alone = "No ledger is known here: the costs of all releases of the same data add up."
            return day, alone
        (epsilon, of_epsilon), (delta, of_delta) = self.left
        has = f"has epsilon {epsilon} of {of_epsilon} and delta {delta} of {of_delta} left."
        if self.day is None:
            return day, ("The ledger ", Name(self.ledger), f" {has}")
        return day, ("Charged to the ledger ", Name(self.ledger), f", which {has}")


#: Of a release read from its file, which keeps neither.
UNKNOWN = LedgerStatus()
