"""The sections of every report: a new one is added to `sections` here."""

from __future__ import annotations

import re
from itertools import starmap
from math import fsum

from attrs import fields

from nolook._strength import (
    INDEPENDENT,
    Strength,
    attack_in_words,
    delta_too_large,
    strength,
    too_weak,
)
from nolook._version import __version__
from nolook.privacy.guarantee import (
    ApproximateEvent,
    BoundedRangeEvent,
    DeltaEvent,
    Event,
    GaussianEvent,
    PrivacyGuarantee,
    PureEvent,
)
from nolook.report.findings import Findings, Name, Section, Table, Text
from nolook.report.ledger_status import UNKNOWN, LedgerStatus
from nolook.report.sentences import phrase, sentence
from nolook.report.wording import count, loss_in_words, number, rows_in_words

__all__ = [
    "cards",
    "cautions",
    "cost_table",
    "costs",
    "in_short",
    "rows_described",
    "rows_used",
    "sections",
    "verdict",
]

_MUCH = 0.2  # of the rows: a larger loss is said first
_SURELY = 3.0  # deviations of the noise by which rows left out must stand out

_MECHANISMS: dict[type[Event], str] = {
    GaussianEvent: "Gaussian noise",
    PureEvent: "pure mechanism",
    ApproximateEvent: "approximate mechanism",
    DeltaEvent: "levels of one person, shown by chance",
    BoundedRangeEvent: "exponential mechanism, one choice after another",
}
_NEIGHBOURS = {"add-remove": "one {} added or removed", "replace": "one {} replaced by another"}
_MISSING = {
    "drop-row": "drop-row (rows with any are left out)",
    "zero": "zero (they count as 0)",
    "centre": "centre (a gap counts as its column's private centre)",
}


def sections(found: Findings) -> tuple[Section, ...]:
    """List the sections of a report, the release's own among those that all have."""
    guarantee = found.guarantee
    # What is not private has no guarantee; the banner says why.
    promised = (_guarantee(guarantee), _limits(guarantee)) if guarantee.private else ()
    return (*found.sections, *promised, _costs(found), _settings(found))


def in_short(found: Findings, ledger_status: LedgerStatus = UNKNOWN) -> Section:
    """Return the answers for a reader who reads nothing else."""
    # A kind without a question of its own says what it is.
    asked: Text = found.question or (f": {found.what} ", Name(found.of))
    asked = (asked,) if isinstance(asked, str) else asked
    guarantee = found.guarantee
    table = (" ", Name(guarantee.of_table)) if guarantee.of_table else ()
    cost = sentence("guarantee.loss", guarantee=guarantee)
    charged = ledger_status.charged if guarantee.private else ()
    answers = (
        ("What was asked", (("Table", *table, *asked, "."),)),
        ("What came out", found.conclusion),
        ("How sure it is", (*found.certainty, *rows_described(found))),
        ("What it cost", (cost, *ledger_status.made, *charged)),
        (f"How well each {guarantee.unit.protected} is protected", _protected(guarantee)),
    )
    return Section("short", "In short", answers=tuple(pair for pair in answers if pair[1]))


def _protected(guarantee: PrivacyGuarantee) -> tuple[Text, ...]:
    if not guarantee.private:
        return ("Not at all.",)
    column, one = guarantee.unit.column, guarantee.unit.protected
    unit: Text = INDEPENDENT
    if column is not None:
        unit = sentence("guarantee.unit", column=column, one=one)
    words = attack_in_words(guarantee.epsilon, guarantee.delta, guarantee.relation, one)
    return sentence("guarantee.publish", attack=words), unit


def verdict(guarantee: PrivacyGuarantee) -> Strength | None:
    """Return the strength of a guarantee, or None where there is none."""
    return strength(guarantee.epsilon, guarantee.delta) if guarantee.private else None


def cautions(found: Findings) -> tuple[str, ...]:
    """List the warnings a reader must see first: on the guarantee, then the release's own."""
    guarantee, rows = found.guarantee, found.rows
    weak = (
        *too_weak(guarantee.epsilon, guarantee.delta),
        *(() if rows is None else delta_too_large(guarantee.delta, rows.value, guarantee.unit)),
    )
    said = (f"{words[:1].upper()}{words[1:]}." for words in weak if guarantee.private)
    return (*said, *_much_lost(found), *found.cautions)


def cards(found: Findings) -> tuple[tuple[str, str, str], ...]:
    """List the cards of a page: the guarantee, how many rows were used, the release's own."""
    guarantee, word = found.guarantee, verdict(found.guarantee)
    unit = guarantee.unit
    cards = [("Privacy", "none", "nothing is promised")]
    if word is not None:
        cards = [(f"Protection of each {unit.protected}", word, loss_in_words(guarantee))]
    if found.rows is not None:
        about, error = rows_in_words(found.rows.value, found.rows.error, unit.counted)
        used = about.removesuffix(f" {unit.counted}s")
        head = f"{unit.tally}{' used' * (unit.weighting is None)}"
        cards.append((head, used, f"noise: standard error {error}"))
    return *cards, *found.cards


def rows_used(found: Findings) -> str | None:
    """State the number of rows used, if they were counted."""
    rows = found.rows
    return rows if rows is None else phrase("release.used", rows=rows, unit=found.guarantee.unit)


def rows_described(found: Findings) -> tuple[str, ...]:
    """State what weights describe and dates count, and rows left out or of undeclared values."""
    unit, rows = found.guarantee.unit, found.rows
    said = [phrase("release.dated", column=name, day=day) for name, day in found.dates.items()]
    if unit.weighting:
        said.append(phrase("release.units", unit=unit))
    if rows is None or rows.lost_error is None:
        return tuple(said)
    # A unit is left out with all its rows.
    left_out = rows.left_out, rows.lost_error, unit.protected
    for (number_of, error, noun), name, known in (
        (left_out, "left_out", {"weighted": unit.weighting, "logarithms": found.logarithms}),
        ((rows.undeclared, unit.row_weight * rows.lost_error, unit.counted), "undeclared", {}),
    ):
        if number_of and number_of > _SURELY * error:
            words, _ = rows_in_words(number_of, error, noun)
            said.append(phrase(f"release.{name}", rows=words, **known))
    return tuple(said)


def _much_lost(found: Findings) -> tuple[str, ...]:
    """Name the columns that can have cost more than about a fifth of the rows."""
    unit, rows = found.guarantee.unit, found.rows
    if rows is None or rows.left_out is None or rows.lost_error is None or unit.weighting:
        return ()
    all_rows, names = rows.left_out + rows.value, [*found.needed, *filter(None, [unit.column])]
    if rows.left_out - 2.0 * rows.lost_error < _MUCH * all_rows:
        return ()
    share = f"{100.0 * rows.left_out / all_rows:.0f}"
    return (phrase("release.lost", share=share, names=names, guarantee=found.guarantee),)


def _guarantee(guarantee: PrivacyGuarantee) -> Section:
    whom = phrase("release.units", unit=guarantee.unit)
    notes = (*filter(None, (whom,)), phrase("release.meaning", guarantee=guarantee))
    return Section("guarantee", "The guarantee", (guarantee.in_words(),), notes=notes, printed=())


def _limits(guarantee: PrivacyGuarantee) -> Section:
    """List the limits of the guarantee."""
    public = ("number",) * (guarantee.relation == "replace")
    names = "general", "several", "others", *public, "settings", "time"
    points = tuple(sentence(f"guarantee.{name}", unit=guarantee.unit) for name in names)
    return Section("limits", "What is not protected", points=points)


def costs(guarantee: PrivacyGuarantee) -> tuple[tuple[str | float, ...], ...]:
    """List the mechanisms of a release: name, mechanism, cost and, if it has one, share.

    Gaussian noise composes by the squares of its mu, pure mechanisms by the sum of their epsilons;
    where kinds are mixed shares would not add up, and there are none. What is released several
    times at the same cost, as by the fits of a cross-validation, is one line.
    """
    events = guarantee.mechanisms
    gaussian = [event.mu**2 for event in events if isinstance(event, GaussianEvent)]
    pure = [event.epsilon for event in events if isinstance(event, PureEvent)]
    weights = next((kind for kind in (gaussian, pure) if len(kind) == len(events)), [])
    total = sum(weights)
    shares = [weight / total for weight in weights] if total else [0.0] * len(events)
    alike: dict[tuple[str, str, str], list[float]] = {}
    for event, share in zip(events, shares, strict=True):
        # A count is of units where these count once each.
        name = event.name.replace("number of rows", f"number of {guarantee.unit.counted}s")
        alike.setdefault((name, *_mechanism_and_cost(event)), []).append(share)
    return tuple(
        (f"{name}, {len(own)} times" if len(own) > 1 else name, mechanism, cost)
        + (fsum(own),) * (total > 0)
        for (name, mechanism, cost), own in alike.items()
    )


def _mechanism_and_cost(event: Event) -> tuple[str, str]:
    parameters = (field.name for field in fields(type(event)) if field.name != "name")
    shown = (f"{name.replace('_', ' ')} = {number(getattr(event, name))}" for name in parameters)
    # A kind without words here is named by its class.
    own = re.sub("(?<=[a-z])(?=[A-Z])", " ", type(event).__name__.removesuffix("Event")).lower()
    return _MECHANISMS.get(type(event), own), ", ".join(shown)


def _costs(found: Findings) -> Section:
    note = phrase(
        "guarantee.sums",
        several=len(found.parts) > 1,
        less=fsum(part.epsilon for _, part in found.parts) > found.guarantee.epsilon,
        gaussian=any(isinstance(one, GaussianEvent) for one in found.guarantee.mechanisms),
        where=found.guarantee.where,
    )
    tables = tuple(starmap(cost_table, found.parts))
    return Section("costs", "What it cost", tables=tables, notes=(note,), printed=tables)


def cost_table(name: str, guarantee: PrivacyGuarantee) -> Table:
    """Return the table of the costs of a part of a release."""
    listed, releases = costs(guarantee), len(guarantee.mechanisms)
    caption = (
        f"Cost of the {name}: {count(releases, 'noisy release')}"
        f"{', together' * (releases > 1)} within epsilon = {number(guarantee.epsilon)}, "
        f"delta = {number(guarantee.delta)}"
    )
    heads = ("Released", "Mechanism", "Cost", "Share")
    return Table(caption, heads[: max(map(len, listed), default=3)], listed)


def _settings(found: Findings) -> Section:
    """List the settings that have a value."""
    guarantee, unit, one = found.guarantee, found.guarantee.unit, found.guarantee.unit.protected
    rows = "weights that add up to one" if unit.is_shared else f"at most {unit.max_rows}, in full"
    settings = (
        *found.settings,
        ("epsilon", repr(guarantee.epsilon)),
        ("delta", repr(guarantee.delta)),
        ("Neighbouring tables differ by", _NEIGHBOURS[guarantee.relation].format(one)),
        ("Weights", unit.weighting.column if unit.weighting else None),
        (f"A {one} is all rows with the same", unit.column),
        (f"Rows of a {one}", unit.column and rows),
        ("Columns read", ", ".join(found.columns)),
        ("Rows", guarantee.where),
        ("Missing values", _MISSING.get(found.missing, found.missing)),
        ("Noise", guarantee.private and "from the operating system's entropy"),
        ("Made with", f"nolook {__version__}"),
    )
    known = tuple((head, value) for head, value in settings if value)
    return Section("settings", "How it was made", settings=known)
