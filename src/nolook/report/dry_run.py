"""The cost of a release, as a dry run shows it."""

from __future__ import annotations

from fractions import Fraction

from attrs import astuple, evolve
from rich.console import Console

from nolook.estimators.releasing import DryRun
from nolook.formats.files import one_line
from nolook.planning.noise import group_noise
from nolook.privacy.guarantee import PrivacyGuarantee
from nolook.privacy.ledger import Amount, Ledger
from nolook.privacy.ledger_entries import converted
from nolook.report._console import say
from nolook.report.findings import Section, columns_read, plain
from nolook.report.ledger_status import amounts
from nolook.report.sections import cost_table
from nolook.report.sentences import phrase
from nolook.report.terminal import print_table
from nolook.report.wording import count, number
from nolook.tables import Table as Rows

__all__ = ["dry_run_section", "print_dry_run"]


def dry_run_section(found: DryRun, ledger: Ledger | None, *, elsewhere: str = "") -> Section:
    """Return the cost of a release and the balance of a ledger after it.

    `elsewhere` says who would be charged where that is no ledger of this command.
    """
    guarantee = found.guarantee
    within = (
        f"It would make {count(len(guarantee.mechanisms), 'noisy release')} within epsilon = "
        f"{number(guarantee.epsilon)}, delta = {number(guarantee.delta)}, protecting a "
        f"{one_line(guarantee.unit.in_words())}:"
    )
    notes = elsewhere or _balance(guarantee, ledger), *_expected(found)
    table = evolve(cost_table("", guarantee), caption="Noisy releases")
    return Section("costs", "Cost", (within,), tables=(table,), notes=notes)


def print_dry_run(
    console: Console, planned: DryRun, ledger: Ledger | None, *, elsewhere: str = ""
) -> None:
    """Print what would be released, and `dry_run_section`."""
    found, guarantee = dry_run_section(planned, ledger, elsewhere=elsewhere), planned.guarantee
    table = f" of {one_line(guarantee.of_table)}" if guarantee.of_table else ""
    say(
        console,
        f"Dry run: {one_line(planned.purpose)}{table}. No row was read, nothing was charged.",
        "bold",
    )
    if planned.table is not None:
        say(console, f"It would read {one_line(', '.join(_columns(planned.table)))}.")
    say(console, plain(*found.sentences))
    print_table(console, evolve(found.tables[0], caption=""))
    if not guarantee.private:
        say(console, "It would NOT be private: the seed of its noise is known.", "bold red")
    say(console, " ".join(map(plain, found.notes)))


def _columns(table: Rows) -> tuple[str, ...]:
    """Return the columns in use: the features, and others with their use."""
    unit = table.unit
    weights = unit.weighting and unit.weighting.column
    uses = {"target": table.target_name, "survey weights": weights, "unit": unit.column}
    named = (f"{name} ({use})" for use, name in uses.items() if name is not None)
    return (*columns_read(table.read_options()), *named)


def _expected(found: DryRun) -> tuple[str, ...]:
    """Return the noise of counts and means by groups."""
    release = found.release
    weighted, noise = hasattr(release, "release"), group_noise(release, found.table)
    return (phrase("dry_run.noise", of=noise, weighted=weighted),) if noise else ()


def _balance(guarantee: PrivacyGuarantee, ledger: Ledger | None) -> str:
    """Return the charge and the balance after it."""
    if ledger is None:
        return "No ledger is given: it would be charged to none (--ledger FILE)."
    cost = converted(guarantee.budget, guarantee.relation, ledger.relation, ledger.path)
    pairs = zip(astuple(ledger.remaining), astuple(cost), strict=True)
    after = (max(0.0, float(Fraction(repr(has)) - Fraction(repr(takes)))) for has, takes in pairs)
    charge, left = amounts(cost, up=True), amounts(Amount(*after), up=False)
    return (
        f"The ledger {one_line(ledger.name)} would be charged epsilon {charge[0]}, delta "
        f"{charge[1]}; epsilon {left[0]}, delta {left[1]} would be left."
    )
