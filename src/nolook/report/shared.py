"""The sections of every report: a new one is added to `sections` here."""

from __future__ import annotations

import re
from math import fsum

from attrs import fields

from nolook._unit import Unit
from nolook._version import __version__
from nolook.formats.files import one_line
from nolook.privacy.guarantee import (
    ApproximateEvent,
    BoundedRangeEvent,
    Event,
    GaussianEvent,
    PrivacyGuarantee,
    PureEvent,
    SampledGaussianEvent,
)
from nolook.report.findings import Findings, Origin, Section, Table
from nolook.report.wording import (
    certainty_in_words,
    count,
    number,
    rows_in_words,
    units_in_words,
)

__all__ = ["cards", "costs", "rows_used", "sections"]

_MECHANISMS: dict[type[Event], str] = {
    GaussianEvent: "Gaussian noise",
    PureEvent: "pure mechanism",
    ApproximateEvent: "approximate mechanism",
    SampledGaussianEvent: "Gaussian noise on random samples",
    BoundedRangeEvent: "exponential mechanism, one choice after another",
}
_ROWS = {
    "add-remove": "The number of {}s is protected too: if this page gives one, it is a noisy one.",
    "replace": "The number of {}s is not protected.",
}
_NEIGHBOURS = {"add-remove": "one {} added or removed", "replace": "one {} replaced by another"}
_COUNT = "number of rows"  # as events call it
_MISSING = {
    "error": "error (none are allowed)",
    "drop-row": "drop-row (rows with any are left out)",
    "zero": "zero (they count as 0)",
}


def sections(found: Findings) -> tuple[Section, ...]:
    """List the sections of a report, the release's own among those that all have."""
    origin = found.origin
    # What is not private has no guarantee; the banner says why.
    guarantee = (_guarantee(origin),) if origin.guarantee.private else ()
    return (*guarantee, *found.sections, _costs(origin), _settings(found))


def cards(found: Findings) -> tuple[tuple[str, str, str], ...]:
    """List the cards of a page: the guarantee, how many rows were used, the release's own."""
    rows: tuple[tuple[str, str, str], ...] = ()
    if found.rows is not None:
        noun = found.origin.guarantee.unit.counted
        about, error = rows_in_words(*found.rows, noun)
        head = f"{noun.capitalize()}s used"
        rows = ((head, about.removesuffix(f" {noun}s"), f"standard error {error}"),)
    return (_privacy_card(found.origin), *rows, *found.cards)


def rows_used(found: Findings) -> str | None:
    """Say how many rows were used, if they were counted."""
    if found.rows is None:
        return None
    unit = found.origin.guarantee.unit
    about, error = rows_in_words(*found.rows, unit.counted)
    if unit.whole > 1:
        about += f" ({one_line(unit.column)})"
    elif unit.column is not None:
        about += f", at most {unit.most_rows} of each unit ({one_line(unit.column)}),"
    return f"{about[:1].upper()}{about[1:]} used (standard error {error})."


def _privacy_card(origin: Origin) -> tuple[str, str, str]:
    guarantee = origin.guarantee
    if not guarantee.private:
        return "Privacy", "none", origin.why_not_private()[0]
    return (
        "Privacy loss",
        f"epsilon {number(guarantee.epsilon)}",
        f"delta {number(guarantee.delta)}",
    )


def _guarantee(origin: Origin) -> Section:
    guarantee = origin.guarantee
    words = guarantee.in_words(), certainty_in_words(guarantee)
    one = guarantee.unit.protected
    meaning = (
        f"The guarantee holds for any table, even against someone who knows all its other {one}s. "
        f"{_ROWS[guarantee.relation].format(one)} Facts about the population can still be learned: "
        "that is what the release is for."
    )
    notes = (*units_in_words(guarantee.unit), meaning)
    return Section("guarantee", "The guarantee", words, notes=notes)


def costs(guarantee: PrivacyGuarantee) -> tuple[tuple[str | float, ...], ...]:
    """List what a release consists of: name, mechanism, cost and, if it has one, share.

    Gaussian noise composes by the squares of its mu, pure mechanisms by the sum of their epsilons;
    where kinds are mixed shares would not add up, and there are none.
    """
    events = guarantee.mechanisms
    gaussian = [event.mu**2 for event in events if isinstance(event, GaussianEvent)]
    pure = [event.epsilon for event in events if isinstance(event, PureEvent)]
    weights = next((kind for kind in (gaussian, pure) if len(kind) == len(events)), [])
    total = sum(weights)
    shares = [(weight / total,) for weight in weights] if total > 0 else [()] * len(events)
    return tuple(
        (_released(event, guarantee.unit), *_mechanism_and_cost(event), *share)
        for event, share in zip(events, shares, strict=True)
    )


def _released(event: Event, unit: Unit) -> str:
    """Say what an event released: a count is of units where these count once each."""
    return f"number of {unit.counted}s" if event.name == _COUNT else event.name


def _mechanism_and_cost(event: Event) -> tuple[str, str]:
    parameters = (field.name for field in fields(type(event)) if field.name != "name")
    shown = (f"{name.replace('_', ' ')} = {number(getattr(event, name))}" for name in parameters)
    # A kind without words here is named by its class.
    own = re.sub("(?<=[a-z])(?=[A-Z])", " ", type(event).__name__.removesuffix("Event")).lower()
    return _MECHANISMS.get(type(event), own), ", ".join(shown)


def _costs(origin: Origin) -> Section:
    parts = [guarantee for _, guarantee in origin.parts]
    sums = ""
    if fsum(part.epsilon for part in parts) > origin.guarantee.epsilon:
        sums = "Together the parts cost less than the sum of their epsilons. "
    elif len(parts) > 1:
        sums = "The epsilons and the deltas of the parts add up. "
    if any(isinstance(event, GaussianEvent) for event in origin.guarantee.mechanisms):
        sums += "For Gaussian noise the squares of their mu add up. "
    free = "Everything else on this page was computed from these releases at no further cost."
    tables = tuple(_cost_table(*part) for part in origin.parts)
    return Section("costs", "What it cost", tables=tables, notes=(sums + free,), printed=tables)


def _cost_table(name: str, guarantee: PrivacyGuarantee) -> Table:
    listed = costs(guarantee)
    caption = (
        f"Cost of the {name}: {count(len(listed), 'noisy release')}"
        f"{', together' * (len(listed) > 1)} within epsilon = {number(guarantee.epsilon)}, "
        f"delta = {number(guarantee.delta)}"
    )
    heads = ("Released", "Mechanism", "Cost", "Share")
    return Table(caption, heads[: max(map(len, listed), default=3)], listed)


def _settings(found: Findings) -> Section:
    guarantee, origin = found.origin.guarantee, found.origin
    unit = guarantee.unit
    settings = (
        *found.settings,
        ("epsilon", repr(guarantee.epsilon)),
        ("delta", repr(guarantee.delta)),
        ("Neighbouring tables differ by", _NEIGHBOURS[guarantee.relation].format(unit.protected)),
        *_unit_settings(unit),
        ("Missing values", _MISSING.get(origin.missing, origin.missing)),
        ("Noise", "from the operating system's entropy")
        if guarantee.private
        else ("Not private because of", origin.why_not_private()[0]),
        ("Made with", f"nolook {__version__}"),
    )
    return Section("settings", "How it was made", settings=settings)


def _unit_settings(unit: Unit) -> tuple[tuple[str, str], ...]:
    """Return the column that names units and how their rows count; nothing where rows are units."""
    if unit.column is None:
        return ()
    rows = "weights that add up to one" if unit.whole > 1 else f"at most {unit.most_rows}, in full"
    return ("A unit is all rows with the same", unit.column), ("Rows of a unit", rows)
