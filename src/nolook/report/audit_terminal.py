"""Findings of an audit in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nolook.report._console import empty_table, say
from nolook.report.audit_page import cells

if TYPE_CHECKING:
    from rich.console import Console

    from nolook.audit.audit_case import Case
    from nolook.audit.findings import Finding

__all__ = ["print_cases", "print_finding"]


def print_finding(console: Console, finding: Finding) -> None:
    """Print one finding on a line."""
    name, relation, claim, bound, exact, power, draws, verdict = cells(finding)
    shown = f"{name} ({relation}): {claim}; shown {bound}, exact {exact}, power {power}, "
    say(console, f"{shown}{draws} draws: {verdict}", whole=True)


def print_cases(console: Console, cases: Sequence[Case]) -> None:
    """Print the names of all cases, and what they audit."""
    table = empty_table("Releases", ("name", "audits"))
    for case in cases:
        table.add_row(case.name, ", ".join(case.covers))
    console.print(table)
