"""When a report was made, and what its release left of a ledger's budget.

Imports nothing numeric.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Self

from attrs import evolve, frozen

from nolook._strength import attack_in_words
from nolook.errors import LedgerError
from nolook.privacy.guarantee import Budget
from nolook.privacy.ledger import Amount, Ledger, amount_text
from nolook.report.findings import Text
from nolook.report.sentences import sentence

__all__ = ["UNKNOWN", "LedgerStatus", "amounts", "attack_on"]


def amounts(cost: Amount | Budget, *, up: bool) -> tuple[str, str]:
    """Return epsilon and delta with six digits, rounded up (spent) or down (left)."""
    return amount_text(cost.epsilon, up=up), amount_text(cost.delta, up=up)


def attack_on(ledger: Ledger, amount: Amount | Budget) -> str:
    """Return the most an attacker can learn from all releases of a ledger that cost an amount."""
    # The first release decides what is protected.
    one = (ledger.unit or "row or unit").split(" named by ")[0]
    known = amount.epsilon, amount.delta, ledger.relation, one
    return attack_in_words(*known, "all releases together")


@frozen
class LedgerStatus:
    """The day of a release and the ledger it was charged to, as far as they are known.

    `left` holds pairs of what is left and of how much: of epsilon, and of delta; `whole` states
    what its whole budget means.
    """

    day: date | None = None
    ledger: str | None = None
    left: tuple[tuple[str, str], ...] = ()
    whole: str = ""

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
        whole = attack_on(ledger, ledger.budget)
        return cls(None, ledger.name, tuple(zip(left, budget, strict=True)), whole)

    @property
    def made(self) -> tuple[Text, ...]:
        """State the day, if it is known."""
        return () if self.day is None else (sentence("guarantee.made", day=self.day),)

    @property
    def charged(self) -> tuple[Text, ...]:
        """State what is left of the ledger, and what its whole budget means."""
        if self.ledger is None:
            return (sentence("guarantee.no_ledger"),)
        known = {"name": self.ledger, "left": self.left, "made": self.day is not None}
        return sentence("guarantee.charged", **known), sentence("guarantee.whole", words=self.whole)


#: Of a release read from its file, which keeps neither.
UNKNOWN = LedgerStatus()
