"""Findings of an audit as a Markdown page."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING

from nolook.report._templates import template

if TYPE_CHECKING:
    from nolook.audit.findings import Finding

__all__ = ["audit_page", "cells"]

_LIBRARIES = ("nolook", "numpy", "scipy", "numba", "dp-accounting")


def audit_page(findings: Sequence[Finding]) -> str:
    """Return findings as a page of Markdown."""
    shown = sorted(findings, key=lambda finding: (-finding.case.runs, finding.case.name))
    return template("audit.jinja").render(
        findings=shown,
        kept=sum(finding.verdict == "kept" for finding in shown),
        rows=[*map(cells, shown)],
        today=datetime.now(tz=UTC).date().isoformat(),
        libraries=", ".join(f"{name} {version(name)}" for name in _LIBRARIES),
        python=platform.python_version(),
    )


def cells(finding: Finding) -> tuple[str, ...]:
    """Return the cells of one finding in the page's table."""
    case = finding.case
    return (
        case.name,
        f"{case.relation}{', a unit' * (case.protects == 'unit')}",
        f"{case.measure} {case.claim:.4g}{f', delta {case.delta:g}' * bool(case.delta)}",
        f"{finding.bound:.3f}",
        "-" if finding.exact is None else f"{finding.exact:.3f}",
        f"{finding.power:.2f}",
        f"{finding.runs:,}",
        finding.verdict,
    )
