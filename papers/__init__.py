"""Published versions of what nolook releases, for reproduction: README.md says what stands where.

Nothing in nolook imports them. Where the published guarantee does not hold for rows, `privacy_` of
the fitted estimator says that the result is not private, and no ledger takes it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from attrs import asdict, evolve

from nolook.algorithms.selection_plan import Selection
from nolook.errors import ParameterError
from nolook.privacy.budgets import with_room
from nolook.privacy.release import Plan

__all__ = ["not_private", "only_choices"]

_Released = TypeVar("_Released")
_Published = TypeVar("_Published", bound=Selection)


def not_private(plan: Plan[_Released]) -> Plan[_Released]:
    """Promise nothing for what a plan releases; its events state what the paper claims."""
    return evolve(plan, guarantee=evolve(plan.guarantee, private=False))


def only_choices(own: Selection, published: Callable[..., _Published]) -> _Published:
    """Spend on the choice of features what nolook keeps for the number of rows, as published.

    Raises ParameterError where the number of features is not given.
    """
    if not own.k:
        raise ParameterError("k is 'auto'; expected a number of features, as in the paper")
    features = evolve(own.features, epsilon=with_room(own.budget.epsilon))
    return published(**asdict(evolve(own, rows=None, features=features), recurse=False))
