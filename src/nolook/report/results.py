"""Presentation of each kind of release: the one table behind `content`, `summary` and the rest.

A new kind of release is a row in `_CONTENT`. `nolook.estimators.result` finds this module by name.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from attrs import evolve

from nolook._validation import check_path
from nolook.errors import ParameterError
from nolook.report.distribution_findings import ecdf_findings, quantiles_findings
from nolook.report.evaluation_findings import evaluation_findings
from nolook.report.findings import Findings
from nolook.report.folds_findings import folds_findings
from nolook.report.group_findings import comparison_findings, survival_findings
from nolook.report.ledger_status import UNKNOWN, LedgerStatus
from nolook.report.model_findings import model_findings
from nolook.report.model_words import WORDS
from nolook.report.page import write_page
from nolook.report.plots import draw_on
from nolook.report.scale_findings import scale_findings
from nolook.report.score_findings import calibration_findings, calibration_picture, roc_findings
from nolook.report.selection_findings import selection_findings
from nolook.report.summary import summary_of
from nolook.report.tabulation_findings import description_findings, tabulation_findings
from nolook.report.terminal import lines

if TYPE_CHECKING:
    from nolook.estimators.result import Result, Summary
    from nolook.privacy.ledger import Ledger

__all__ = ["content", "plot", "report", "summary"]

_EXAMPLE = "report.html"
_CONTENT: dict[str, Callable[[Any], Findings]] = {
    **dict.fromkeys([*WORDS, "pipeline"], model_findings),
    "selection": selection_findings,
    "scales": scale_findings,
    "distribution": ecdf_findings,
    "quantiles": quantiles_findings,
    "ROC curve": roc_findings,
    "calibration": calibration_findings,
    "evaluation": evaluation_findings,
    "cross-validation": folds_findings,
    "tabulation": tabulation_findings,
    "description": description_findings,
    "group comparison": comparison_findings,
    "survival curve": survival_findings,
}
# What is a picture and no more.
_PICTURES = {"calibration curve": calibration_picture}


def content(release: Result) -> Findings:
    """Return the content of a release's report."""
    _ = release.privacy  # an error before there is a release
    return _CONTENT[release.kind](release)


def summary(release: Result) -> Summary:
    """Return the summary of a release on one screen."""
    return summary_of(lines(release.content()))


def plot(release: Any, ax: Any = None) -> Any:  # noqa: ANN401 -- a result; matplotlib's own types
    """Draw a picture, or the first one of a release's report."""
    if release.kind in _PICTURES:
        return draw_on(_PICTURES[release.kind](release), ax)
    sections = content(release).sections
    pictures = [figure.picture for section in sections for figure in section.figures]
    if not pictures:
        raise ParameterError(
            f"plot has nothing to draw of this {type(release).__name__} (summary() and to_frame() "
            "show it)"
        )
    return draw_on(pictures[0], ax)


def report(
    release: Result,
    path: str | os.PathLike[str],
    ledger: Ledger | None = None,
    title: str = "",
) -> None:
    """Write the page of a release."""
    place, found = check_path(path, _EXAMPLE), evolve(release.content(), title=title)
    write_page(found, place, UNKNOWN if ledger is None else LedgerStatus.of(ledger))
