"""The cost of a release, as a dry run shows it."""

from __future__ import annotations

from fractions import Fraction

from attrs import astuple, evolve
from rich.console import Console

from nolook.estimators.releasing import DryRun
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
from nolook.tables import Table as Rows

__all__ = ["dry_run_section", "print_dry_run"]


def dry_run_section(found: DryRun, ledger: Ledger | None, *, elsewhere: str = "") -> Section:
    """Return the cost of a release and the balance of a ledger after it.

    `elsewhere` says who would be charged where that is no ledger of this command.
    """
    guarantee = found.guarantee
    within = phrase("before.within", guarantee=guarantee)
    notes = elsewhere or _balance(guarantee, ledger), *_expected(found)
    table = evolve(cost_table("", guarantee), caption="Noisy releases")
    return Section("costs", "Cost", (within,), tables=(table,), notes=notes)


def print_dry_run(
    console: Console, planned: DryRun, ledger: Ledger | None, *, elsewhere: str = ""
) -> None:
    """Print what would be released, and `dry_run_section`."""
    found, guarantee = dry_run_section(planned, ledger, elsewhere=elsewhere), planned.guarantee
    what = {"purpose": planned.purpose, "table": guarantee.of_table}
    say(console, phrase("before.dry_run", **what), "bold")
    if planned.table is not None:
        say(console, phrase("before.reads", columns=", ".join(_columns(planned.table))))
    say(console, plain(*found.sentences))
    print_table(console, evolve(found.tables[0], caption=""))
    if not guarantee.private:
        say(console, phrase("before.seeded"), "bold red")
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
    return (phrase("before.noise", of=noise, weighted=weighted),) if noise else ()


def _balance(guarantee: PrivacyGuarantee, ledger: Ledger | None) -> str:
    """Return the charge and the balance after it."""
    if ledger is None:
        return phrase("before.no_ledger")
    cost = converted(guarantee.budget, guarantee.relation, ledger.relation, ledger.path)
    pairs = zip(astuple(ledger.remaining), astuple(cost), strict=True)
    after = (max(0.0, float(Fraction(repr(has)) - Fraction(repr(takes)))) for has, takes in pairs)
    charge, left = amounts(cost, up=True), amounts(Amount(*after), up=False)
    return phrase("before.balance", name=ledger.name, charge=charge, left=left)
