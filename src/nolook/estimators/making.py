"""The one order of every release: check, charge, read, run, store."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from attrs import evolve

from nolook._language import named
from nolook._numerics import undisturbed, worker_threads
from nolook.errors import ParameterError
from nolook.privacy.ledger import Ledger, ReleaseDetails, charge, require
from nolook.privacy.noise import byte_source
from nolook.privacy.release import Announce, Plan, for_unit
from nolook.tables import Table
from nolook.tables.scored import ScoredTable, subject_of

if TYPE_CHECKING:
    from nolook.privacy.guarantee import PrivacyGuarantee

__all__ = ["Progress", "Rows", "make_release"]

#: Called with a stage's name, how many stages are done and how many there are.
Progress: TypeAlias = Callable[[str, int, int], None]

_Released = TypeVar("_Released")
_Stored = TypeVar("_Stored")

#: What a release reads: a table, or one whose columns are a score and a class.
Rows: TypeAlias = Table | ScoredTable


def make_release(
    plan: Plan[_Released],
    open_rows: Callable[[], Rows],
    purpose: str,
    *,
    ledger: Ledger | None,
    progress: Progress | None,
    store: Callable[[_Released, PrivacyGuarantee], _Stored],
) -> _Stored:
    """Check, charge, read, run and store, in this order; nothing else in the package charges a fit.

    Too small a budget is refused before the data are read. The first pass finds missing values, an
    error outside the guarantee; then comes the charge, and only then the release gets what was
    read. `open_rows` checks against the declared columns only; `store` is post-processing. Relation
    "replace" is refused where rows may be left out.
    """
    require(ledger, plan.guarantee)
    worker_threads()  # raises if the environment's setting is none
    announce = _counted_stages(progress, plan.release.stages + 2)
    with undisturbed():
        rows = open_rows()
        if plan.guarantee.relation == "replace" and rows.may_drop_rows():
            raise ParameterError(
                f"{named('relation')} is 'replace', but the table may leave out rows with missing "
                "values, whose number is private; expected 'add-remove' (or leave missing values "
                "an error)"
            )
        guarantee = evolve(plan.guarantee, unit=rows.unit)
        release = for_unit(plan.release, rows.unit)
        require(ledger, guarantee, rows.unit)
        announce("missing values")
        name, about, schema = subject_of(rows)
        details = ReleaseDetails(table=name, schema=schema, about=about)
        source = byte_source(plan.random_state)
        with ExitStack() as charged:
            payment = charge(ledger, guarantee, purpose, details)
            rows = rows.paid_by(partial(charged.enter_context, payment))
            if rows.unit.column is not None and rows.unit.whole == 1:
                # From a source of its own, so that noise does not depend on how many there are.
                keys = byte_source(plan.random_state).words
                rows = rows.limited(rows.unit.most_rows, keys)
            released = release.run(rows, source, announce)
            rows.settle()
        announce("results")
        return store(released, guarantee)


def _counted_stages(progress: Progress | None, total: int) -> Announce:
    """Return a function that tells `progress` of each stage as it starts."""
    done = 0

    def announce(name: str) -> None:
        nonlocal done
        if progress is not None:
            progress(name, done, total)
        done += 1

    return announce
