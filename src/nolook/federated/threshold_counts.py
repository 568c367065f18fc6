"""Private counts up to chosen thresholds, as a JSON file and in words."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nolook._version import __version__
from nolook.formats.files import write_json
from nolook.report.distribution_findings import what_was_found
from nolook.report.findings import Findings, Origin, Table
from nolook.report.wording import grid_in_words, number

if TYPE_CHECKING:
    from nolook.federated.batch import Batch
    from nolook.privacy.guarantee import PrivacyGuarantee

_MOST_TOLD = 3  # thresholds with a sentence of their own

__all__ = ["Counts", "counts_findings", "write_counts"]


@dataclass(frozen=True, slots=True)
class Counts:
    """How many of all rows have a value up to each of some thresholds."""

    batch: Batch
    rows: int
    thresholds: NDArray[np.float64]
    counts: NDArray[np.float64]
    errors: NDArray[np.float64]  # standard errors of the noise
    privacy: PrivacyGuarantee  # of all that is ever answered about the batch


def write_counts(found: Counts, path: Path) -> None:
    """Write counts and what they cost; an older file of the name is replaced, as a whole."""
    document = {
        "format": "nolook-counts",
        "schema_version": 1,
        "nolook_version": __version__,
        "batch": found.batch.content(),
        "rows": found.rows,
        # null stands for the last threshold of all, above every number.
        "thresholds": [t if np.isfinite(t) else None for t in found.thresholds.tolist()],
        "counts": found.counts.tolist(),
        "standard_errors": found.errors.tolist(),
        "privacy": found.privacy.to_dict(),
    }
    write_json(path, document)


def counts_findings(found: Counts) -> Findings:
    """Return the counts as a report shows them."""
    columns = zip(found.thresholds, found.counts, found.errors, strict=True)
    rows = tuple(
        (f"up to {number(t, 6)}" if np.isfinite(t) else "any value", f"{c:,.0f}", number(e, 2))
        for t, c, e in columns
    )
    said = (
        f"Of {found.rows:,} values {counted} are {name}."
        for name, counted, _ in [row for row in rows if row[0] != "any value"][:_MOST_TOLD]
    )
    table = Table(
        "How many values there are up to each threshold",
        ("Threshold", "Values", "Standard error"),
        rows,
    )
    notes = ("Standard errors cover the noise that protects the rows.",)
    return Findings(
        kind="counts",
        what="counts of",
        of=found.batch.name,
        origin=Origin.of_one("counts", found.privacy, found.batch.recipe()),
        cards=(("Rows", f"{found.rows:,}", "public"),),
        sections=(what_was_found(table, notes),),
        settings=(("Thresholds", grid_in_words(found.batch.grid)),),
        question=": how many values there are up to some thresholds",
        conclusion=tuple(said) or ("Nothing was asked.",),
        certainty=(
            f"Standard errors are at most {number(float(found.errors.max()), 2)}.",
            *notes,
        ),
    )
