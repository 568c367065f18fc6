"""Published versions of what nolook releases, for reproduction: README.md says what stands where.

Nothing in nolook imports them. Where the published guarantee does not hold for rows, `privacy_` of
the fitted estimator says that the result is not private, and no ledger takes it.
"""

from __future__ import annotations

from typing import TypeVar

from attrs import evolve

from nolook.privacy.release import Plan

__all__ = ["not_private"]

_Released = TypeVar("_Released")


def not_private(plan: Plan[_Released]) -> Plan[_Released]:
    """Promise nothing for what a plan releases; its events state what the paper claims."""
    return evolve(plan, guarantee=evolve(plan.guarantee, private=False))
