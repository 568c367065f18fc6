"""A release: what it costs and what it runs, in one object; and the plan of a fit made of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeAlias, TypeVar

from attrs import evolve, frozen

from nolook._language import parameter_name
from nolook._validation import check_random_state
from nolook.errors import ParameterError
from nolook.privacy import accounting
from nolook.privacy.budgets import row_share

if TYPE_CHECKING:
    from nolook._unit import Unit
    from nolook.privacy.guarantee import Budget, Event, PrivacyGuarantee, Relation
    from nolook.privacy.noise import ByteSource

__all__ = ["GaussianRelease", "OnStep", "Plan", "Release", "for_rows_per_unit", "for_unit"]

#: Called with the name of each step before it starts.
OnStep: TypeAlias = Callable[[str], None]

_Released_co = TypeVar("_Released_co", covariant=True)


class Release(Protocol[_Released_co]):
    """A release: its cost and the code that runs it in one object, so that they cannot differ.

    An implementer owes: `events` states every draw of `run`, with the very numbers `run` draws
    with, and neither it nor `progress_steps` depends on a table. No table makes `run` raise. What
    `run` returns, and whether it ends before its last step, depends on the table through these
    draws only. All checks are made when the release is made.

    One that can protect a unit with several rows also has a method ``for_rows_per_unit(most)``: it
    returns the release that costs a unit of at most that number of rows what this one costs a row;
    its `run` reads rows with their weights.
    """

    @property
    def progress_steps(self) -> int:
        """The number of progress steps of `run`."""

    def events(self) -> tuple[Event, ...]:
        """State everything that will be released."""

    def run(self, table: Any, source: ByteSource, progress: OnStep) -> _Released_co:  # noqa: ANN401
        """Read the table, draw the noise, return what is released."""


@frozen
class GaussianRelease:
    """A release of Gaussian noise only: its mu, the first parameter, adds up over rows.

    Parameters
    ----------
    mu : float
        GDP parameter of the whole.
    """

    mu: float

    def for_rows_per_unit(self, most: int) -> Self:
        """Return the release that costs a unit of `most` rows what this one costs a row."""
        return evolve(self, mu=row_share(self.mu, most))


def for_unit(release: Release[_Released_co], unit: Unit) -> Release[_Released_co]:
    """Return the release to run where a unit is protected, at the cost that `release` states.

    Raises ParameterError if there is none.
    """
    return release if unit.column is None else for_rows_per_unit(release, unit.max_rows)


def for_rows_per_unit(release: Release[_Released_co], most: int) -> Release[_Released_co]:
    """Return a release for units of at most that many rows; refuse one without a proof for them."""
    adapted: Callable[[int], Release[_Released_co]] | None = getattr(
        release, "for_rows_per_unit", None
    )
    if adapted is None:
        raise ParameterError(
            f"{parameter_name('unit')} is given, but this method has no proof for units of several "
            "rows (choose another method, or leave it out to protect rows)"
        )
    return adapted(most)


@frozen
class Plan(Generic[_Released_co]):
    """The planned release of a fit, built from checked parameters without data.

    The guarantee is computed from the release's events; a `random_state` other than None, a seed of
    the noise, makes it not private.
    """

    release: Release[_Released_co]
    guarantee: PrivacyGuarantee
    random_state: int | None

    @classmethod
    def of(
        cls,
        release: Release[_Released_co],
        budget: Budget,
        random_state: object,
        *,
        relation: Relation = "add-remove",
    ) -> Self:
        """Promise a budget for a release; raise if it costs more, or for a bad seed."""
        seed = check_random_state(random_state)
        guarantee = accounting.guarantee(
            release.events(), budget, relation=relation, private=seed is None
        )
        return cls(release, guarantee, seed)
