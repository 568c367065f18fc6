"""``nolook audit``: draw releases of neighbouring tables, and bound what one row changes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from nolook._validation import check_epsilon, check_random_state, refusal
from nolook.cli._declared import with_options
from nolook.cli._release import console
from nolook.formats.files import check_outputs, write_text

_LEAST_RUNS = 100


@with_options(
    {
        "--runs N": "Draws on each table; by default a full audit's.",
        "--epsilon E": "Privacy parameter the mechanisms run with.",
        "--output -o FILE": "A Markdown page of the findings.",
    }
)
def audit(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...", help="Releases to audit, or `all`; without any, their list."
        ),
    ] = None,
    runs: int | None = None,
    epsilon: float = 1.0,
    output: Path | None = None,
    random_state: int | None = None,
    quiet: bool = False,
) -> None:
    """Bound the privacy loss of releases from below; reads no table of yours."""
    check_epsilon(epsilon, "--epsilon")
    check_random_state(random_state, "--random-state")
    if runs is not None and runs < _LEAST_RUNS:
        raise refusal("--runs", runs, f"at least {_LEAST_RUNS}", f"for example {_LEAST_RUNS}")
    check_outputs([("--output", output)])
    from nolook.audit.catalogue import catalogue
    from nolook.audit.findings import audit_all
    from nolook.report.audit_page import audit_page
    from nolook.report.audit_terminal import print_cases, print_finding

    cases = catalogue(epsilon)
    if not names:
        print_cases(console(), list(cases.values()))
        return
    unknown = next((name for name in names if name not in {*cases, "all"}), None)
    if unknown is not None:
        raise refusal("NAME", unknown, "a release from the list", "see nolook audit")
    wanted = list(cases) if "all" in names else list(dict.fromkeys(names))
    findings = []
    for finding in audit_all(wanted, epsilon, runs, random_state, os.cpu_count() or 1):
        findings.append(finding)
        if not quiet:
            print_finding(console(), finding)
    if output is not None:
        write_text(output, audit_page(findings))
    if any(finding.verdict != "kept" for finding in findings):
        raise typer.Exit(1)
