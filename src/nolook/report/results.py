"""Presentation of each kind of release: the one table behind `content`, `summary` and the rest.

A new kind of release is a row in `_CONTENT`. `nolook.estimators.result` finds this module by name.
"""

from __future__ import annotations

import os
from pkgutil import resolve_name
from typing import Any

from attrs import evolve

from nolook._validation import check_path
from nolook.errors import ParameterError
from nolook.estimators.result import Result, Summary
from nolook.formats.files import write_text
from nolook.formats.model_file import from_dict, to_dict
from nolook.privacy.ledger import AnyLedger, open_ledger
from nolook.report.findings import Findings
from nolook.report.ledger_status import UNKNOWN, LedgerStatus
from nolook.report.page import render_page
from nolook.report.plots import draw_on
from nolook.report.summary import summary_of
from nolook.report.terminal import lines
from nolook.tables.derived import FUNCTIONS
from nolook.tables.design import Feature
from nolook.tables.formula import interactions
from nolook.tables.schema import as_schema

__all__ = ["content", "plot", "report", "summary"]

_MODEL = "model_findings:model_findings"
# Functions by the kind of release, loaded when there is one to show.
_CONTENT = {
    **dict.fromkeys(("linear model", "logistic model", "count model", "pipeline"), _MODEL),
    **dict.fromkeys(("additive model", "additive logistic model", "additive count model"), _MODEL),
    "selection": "selection_findings:selection_findings",
    "scales": "scale_findings:scale_findings",
    "distribution": "distribution_findings:ecdf_findings",
    "quantiles": "distribution_findings:quantiles_findings",
    "ROC curve": "score_findings:roc_findings",
    "calibration": "score_findings:calibration_findings",
    "evaluation": "evaluation_findings:evaluation_findings",
    "cross-validation": "folds_findings:folds_findings",
    "tabulation": "tabulation_findings:tabulation_findings",
    "description": "tabulation_findings:description_findings",
    "group comparison": "group_findings:comparison_findings",
    "survival curve": "group_findings:survival_findings",
}
# Where the file of a release names columns: lists or texts, and keys.
_NAMES = {"features", "target", "names", "column", "by", "value", "time", "event", "level_sets"}
_NAMES |= {"chosen", "exposure", "score", "straight", *FUNCTIONS}
_KEYED = {"categories", "columns", "grids", "monotone"}


def content(release: Result) -> Findings:
    """Return the content of a release's report, its columns called by their labels."""
    _ = release.privacy  # an error before there is a release
    found: Findings = resolve_name(f"nolook.report.{_CONTENT[release.kind]}")(_labelled(release))
    return found


def _labelled(release: Result) -> Any:  # noqa: ANN401 -- of the same class
    """Return a release whose columns have the labels of its schema for names."""
    options = release.read_options
    labels = as_schema(options.get("schema")).labels
    if not labels or release.kind == "scales":  # of which there is no file
        return release
    called = dict(labels)
    for name, levels in options["categories"].items():
        own = (Feature(each, tuple(levels)).names for each in (name, labels.get(name, name)))
        called |= zip(*own, strict=True)
    for name, factors in interactions(options).items():
        called[name] = ":".join(called.get(each, each) for each in factors)

    def renamed(value: Any, place: str) -> Any:  # noqa: ANN401 -- any JSON
        if isinstance(value, dict):
            keys = called if place in _KEYED else {}
            return {keys.get(k, k): renamed(each, "" if keys else k) for k, each in value.items()}
        if isinstance(value, list | tuple):
            return [renamed(each, place) for each in value]
        return called.get(value, value) if isinstance(value, str) and place in _NAMES else value

    return from_dict(renamed(to_dict(release), ""))


def summary(release: Result) -> Summary:
    """Return the summary of a release on one screen."""
    return summary_of(lines(release.content()))


def plot(release: Result, ax: Any = None) -> Any:  # noqa: ANN401 -- matplotlib's own types
    """Draw the first picture of a release's report."""
    pictures = [each.picture for section in content(release).sections for each in section.figures]
    if not pictures:
        raise ParameterError(
            f"a {type(release).__name__} has no picture (use summary() or to_frame())"
        )
    return draw_on(pictures[0], ax)


def report(
    release: Result, path: str | os.PathLike[str], ledger: AnyLedger = None, title: str = ""
) -> None:
    """Write the page of a release."""
    status = UNKNOWN
    if ledger is not None:
        with open_ledger(ledger) as opened:
            status = LedgerStatus.of(opened)
    page = render_page(evolve(release.content(), title=title), status)
    write_text(check_path(path, "report.html"), page)
