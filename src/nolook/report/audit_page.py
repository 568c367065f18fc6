"""Findings of an audit as a Markdown page."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nolook.audit.findings import Finding

__all__ = ["audit_page", "cells"]

_LIBRARIES = ("nolook", "numpy", "scipy", "numba", "dp-accounting")
_COLUMNS = ("release", "relation", "claim", "shown by draws", "exact", "power", "draws", "verdict")

_PAIR = ("release", "audits", "the second table has, or the rows differ by")

_PAGE = """\
# Audit of the guarantees

Every release is drawn many times from two neighbouring tables, chosen so that one row, or
all rows of one unit, reveals the most. The draws bound the privacy loss from below:

- **shown by draws**: the loss is larger than this with probability 1 - 1e-5. The event is chosen on
  one half of the draws and counted on the other (Clopper-Pearson). A number above the claim would
  be a fault of nolook.
- **exact**: the loss of the two exact output distributions, where they can be computed without the
  mechanism's code. The draws must then also follow these distributions (chi-square, 1e-6).
- **relation**: how the tables differ: by a row, or by a unit with all its rows where it says so.
- **power**: the larger of both, divided by the claim. Below 0.6 the audit of a mechanism counts as
  too weak, unless no pair of tables can show more and the case states its own limit. Estimators
  show less, since their budget is split over parts, and have no limit: at 0.00 the fits are too few
  to show one row among hundreds, and the audits of the parts are the evidence.

Claims in epsilon hold at the delta given, or 0; claims in mu are those of Gaussian differential
privacy. `make audit` repeats all of this, `nolook audit NAME` one release.

{kept} of {cases} cases kept their claim, on {today} with
{libraries}; Python {python}.

{findings}

## The pairs of tables

{pairs}
"""


def audit_page(findings: Sequence[Finding]) -> str:
    """Return findings as a page of Markdown."""
    shown = sorted(findings, key=lambda finding: (-finding.case.runs, finding.case.name))
    cases = [finding.case for finding in shown]
    pairs = [(case.name, ", ".join(case.covers), case.neighbours) for case in cases]
    return _PAGE.format(
        today=datetime.now(tz=UTC).date().isoformat(),
        cases=len(cases),
        kept=sum(finding.verdict == "kept" for finding in shown),
        libraries=", ".join(f"{name} {version(name)}" for name in _LIBRARIES),
        python=platform.python_version(),
        findings=_table(_COLUMNS, map(cells, shown)),
        pairs=_table(_PAIR, pairs),
    )


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = (heads, ["---"] * len(heads), *rows)
    return "\n".join(f"| {' | '.join(entries)} |" for entries in lines)


def cells(finding: Finding) -> tuple[str, ...]:
    """Return the cells of one finding in the page's table."""
    case = finding.case
    claim = f"{case.measure} {case.claim:.4g}" + (f", delta {case.delta:g}" if case.delta else "")
    return (
        case.name,
        case.relation + ", a unit" * (case.protects == "unit"),
        claim,
        f"{finding.bound:.3f}",
        "-" if finding.exact is None else f"{finding.exact:.3f}",
        f"{finding.power:.2f}",
        f"{finding.runs:,}",
        finding.verdict,
    )
