"""The one order of every release: check, charge, read, run, store."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import partial
from itertools import count
from types import FrameType
from typing import Any, TypeAlias, TypeVar, cast

from attrs import define, evolve

from nolook._language import parameter_name, usage_hint
from nolook._numerics import undisturbed, worker_threads
from nolook._strength import delta_too_large, too_weak
from nolook.algorithms.scaling import NoisyCount
from nolook.algorithms.weights import weighted
from nolook.errors import ParameterError, WeakPrivacyWarning
from nolook.privacy.guarantee import PrivacyGuarantee
from nolook.privacy.ledger import AnyLedger, ReleaseDetails, charge, require
from nolook.privacy.noise import byte_source
from nolook.privacy.release import OnStep, Plan, Release, for_unit
from nolook.tables import Table

__all__ = [
    "DryRun",
    "Progress",
    "dry_running",
    "of_library",
    "release",
    "warn_of_delta",
    "warn_user",
]

#: Called with a step's name, how many are done and how many there are.
Progress: TypeAlias = Callable[[str, int, int], None]

_LIBRARIES = ("nolook", "sklearn", "joblib")

# Whether a release is being made: its parts do not warn of what the whole warns of.
_RUNNING = ContextVar("running", default=False)

_Released = TypeVar("_Released")
_Stored = TypeVar("_Stored")

_DRY_RUNNING: ContextVar[bool] = ContextVar("dry_running", default=False)


@define
class DryRun(Exception):  # noqa: N818 -- requested, not an error
    """The charge of a release: raised by a dry run in place of the release."""

    purpose: str
    guarantee: PrivacyGuarantee
    release: object
    table: Table | None = None


@contextmanager
def dry_running() -> Iterator[None]:
    """Let every release of the block end, as `DryRun`, before it reads a row or is charged."""
    before = _DRY_RUNNING.set(True)
    try:
        yield
    finally:
        _DRY_RUNNING.reset(before)


def release(
    plan: Plan[_Released],
    open_rows: Callable[[], Table],
    purpose: str,
    store: Callable[[_Released, PrivacyGuarantee], _Stored],
    ledger: AnyLedger,
    progress: Progress | None,
) -> _Stored:
    """Check, charge, read, run and store, in this order; nothing else in the package charges a fit.

    Too small a budget is refused before the data are read. Once the first pass has read everything
    comes the charge, and only then the release gets what was read. `open_rows` checks against the
    declared columns only; `store` is post-processing. A dry run ends after all that is checked
    without a row. Relation "replace" is refused where rows may be left out.
    """
    require(ledger, plan.guarantee)
    worker_threads()  # raises if the environment's setting is none
    with undisturbed():
        rows = open_rows()
        if plan.guarantee.relation == "replace" and rows.may_drop_rows():
            raise ParameterError(
                f"{parameter_name('relation')} is 'replace', but rows may be left out, and their "
                f"number is private (use 'add-remove', or only {usage_hint('missing', 'zero')})"
            )
        about = rows.subject()
        guarantee = evolve(plan.guarantee, unit=rows.unit, table=about.table, where=about.where)
        weighting, release = rows.unit.weighting, cast("Release[Any]", plan.release)
        if weighting is not None:
            release = weighted(release, weighting)
            guarantee = evolve(guarantee, mechanisms=release.events())
        release = for_unit(release, rows.unit)
        step = _counted_steps(progress, release.progress_steps + 2)
        require(ledger, guarantee, rows.unit)
        if guarantee.private:
            warn(too_weak(guarantee.epsilon, guarantee.delta))
        if _DRY_RUNNING.get():
            raise DryRun(purpose, guarantee, release, rows)
        step("reading")
        table = guarantee.of_table or None
        columns = f"{about.columns}, weights {weighting.column}" if weighting else about.columns
        details = ReleaseDetails(table=table, schema=about.schema, about=columns)
        source = byte_source(plan.random_state)
        with ExitStack() as charged:
            charged.callback(_RUNNING.reset, _RUNNING.set(True))
            payment = charge(ledger, guarantee, purpose, details)
            rows = rows.charging(partial(charged.enter_context, payment))
            if rows.unit.column is not None and not rows.unit.is_shared:
                # From a source of its own, so that noise does not depend on how many there are.
                keys = byte_source(plan.random_state).words
                rows = rows.sample_rows(rows.unit.max_rows, keys)
            released = release.run(rows, source, step)
            if weighting is not None:
                weighting, released = released
                guarantee = evolve(guarantee, unit=evolve(rows.unit, weighting=weighting))
            rows.finish_first_pass()
        step("results")
        return store(released, guarantee)


def _counted_steps(progress: Progress | None, total: int) -> OnStep:
    """Return a function that reports each step to `progress` as it starts."""
    done = count()

    def step(name: str) -> None:
        if progress is not None:
            progress(name, next(done), total)

    return step


def warn_of_delta(guarantee: PrivacyGuarantee, rows: NoisyCount | None) -> None:
    """Warn of a delta too large for the rows of a release, if they were counted."""
    if guarantee.private and rows is not None:
        warn(delta_too_large(guarantee.delta, rows.value, guarantee.unit))


def warn(messages: Iterable[str]) -> None:
    """Warn of a weak guarantee, where the caller's own code asked for it."""
    if _RUNNING.get():
        return
    for words in messages:
        warn_user(words, WeakPrivacyWarning)


def of_library(frame: FrameType) -> bool:
    """Whether a frame is of a library, not of a user."""
    return frame.f_globals.get("__name__", "").partition(".")[0] in _LIBRARIES


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn where a user's code called, so that it is said once for each place."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and of_library(frame):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
