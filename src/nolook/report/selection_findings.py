"""Reports of a private selection of columns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from nolook.algorithms.moment_selection import largest_of
from nolook.estimators._chosen import chosen_columns, offered_columns
from nolook.estimators.catalogue import called, name_of, own_parameters
from nolook.privacy.guarantee import BoundedRangeEvent, PureEvent
from nolook.report.findings import Findings, Section, Table, findings_of
from nolook.report.reference_levels import level_labels
from nolook.report.sentences import phrase, sentence
from nolook.report.wording import count, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nolook.algorithms.scaling import NoisyCount
    from nolook.estimators._selector import PrivateSelector
    from nolook.estimators.base import PrivateEstimator

__all__ = [
    "explanation_of",
    "hardly_any",
    "parameters_of",
    "selection_findings",
    "selection_section",
    "selection_settings",
]

_FEW_ROWS = 20  # hardly any, however exactly they were counted ...
_SURELY = 3.0  # ... as may be a number that so many of its standard errors reach down to 0


def selection_findings(selector: PrivateSelector) -> Findings:
    """Return the findings of a selection: the columns chosen to explain a target."""
    target = selector.target_name_
    offered = count(selector.n_features_in_, "column")
    chosen = _in_words(selector, chosen_columns(selector)[0])
    return findings_of(
        selector,
        target,
        what="selection of columns for",
        of=target,
        sections=(selection_section(selector),),
        settings=(("Target", target), *selection_settings(selector)),
        question=sentence("questions.selection", offered=offered, target=target),
        conclusion=(
            sentence(
                "questions.chosen",
                offered=offered,
                names=chosen,
                one=selector.privacy_.unit.counted if hardly_any(selector.rows) else "",
            ),
        ),
        certainty=(how_strong(selector), _doubts(selector)),
    )


def hardly_any(rows: NoisyCount | None) -> bool:
    """Tell whether hardly any row was usable, as far as the private count tells."""
    return rows is not None and rows.value < max(_FEW_ROWS, _SURELY * rows.error)


def selection_section(selector: PrivateSelector) -> Section:
    """List the columns that were chosen."""
    chosen, ordered = chosen_columns(selector)
    sample = f" {phrase('release.sampled')}" * (getattr(selector, "sample", None) is not None)
    columns: dict[str, Sequence[str]] = {"Column": _in_words(selector, chosen)}
    if ordered:
        columns["Place"] = [str(place) for place, _ in enumerate(chosen, 1)]
    if ordered and selector.strengths_ is not None:
        strengths = [f"{number(one, 2)} standard deviations" for one in selector.strengths_]
        columns["Stands out by"] = strengths
    offered = count(selector.n_features_in_, "column")
    order = "in the order they were chosen" if ordered else "in the table's order"
    rows = tuple(zip(*columns.values(), strict=True))
    table = Table(f"{len(chosen)} of {offered}, {order}", tuple(columns), rows)
    about = tuple(words + sample for words in explanation_of(selector))
    strong = how_strong(selector)
    notes = _doubts(selector), strong
    printed = f"selector: {called(selector)}", table, strong
    return Section("selection", "The columns chosen", about, (), (table,), notes, printed=printed)


def _in_words(selector: PrivateSelector, names: Sequence[str]) -> list[str]:
    """Return the names of columns, and of levels as those of their column."""
    labels = level_labels(selector.read_options_)
    return [labels.get(name, name) for name in names]


def _doubts(selector: PrivateSelector) -> str:
    return phrase("release.doubts", one=selector.privacy_.unit.counted)


def how_strong(selector: PrivateSelector) -> str:
    """Explain the strength of the choices, from released and public numbers."""
    left = selector.n_features_in_ - selector.k_ + 1
    known = {"left": left, "largest": largest_of(left), "lead": _lead(selector)}
    return phrase("release.strength", selector=selector, **known)


def _lead(selector: PrivateSelector) -> float | None:
    """Return the difference of two rank correlations that decides 19 choices in 20."""
    rows, unit = selector.rows, selector.privacy_.unit
    choices = [
        each
        for each in selector.privacy_.mechanisms
        if isinstance(each, PureEvent | BoundedRangeEvent) and each.name == "features"
    ]
    if called(selector) != "kendall" or not choices or rows is None:
        return None
    if selector.sample is not None or unit.max_rows > 1:
        return None
    from nolook.statistics.kendall import KENDALL_UNIT, kendall_sensitivity  # loads Numba

    each = choices[0].epsilon / (selector.k_ if isinstance(choices[0], PureEvent) else 1)
    # A score is n/2 times a rank correlation, and wins with odds exp(each difference / 2 S).
    lead = 2.0 * math.log(19.0) * kendall_sensitivity(selector.k_ - 1) / KENDALL_UNIT / each
    return 2.0 * lead / max(rows.value - 2.0 * rows.error, 1.0)


def selection_settings(selector: PrivateSelector) -> tuple[tuple[str, str], ...]:
    """Return the way columns were chosen, and the candidates."""
    return (
        ("Chosen from", ", ".join(_in_words(selector, offered_columns(selector)))),
        ("Selector", called(selector)),
        parameters_of(selector, "Parameters of the selector"),
    )


def explanation_of(estimator: PrivateEstimator) -> tuple[str, ...]:
    """Describe a method or selector; empty for one that is not in the catalogue."""
    of_units = estimator.privacy_.unit.column is not None
    words = phrase("methods.method", name=name_of(estimator), of_units=of_units)
    return (words,) if words else ()


def parameters_of(estimator: PrivateEstimator, head: str) -> tuple[str, str]:
    """Return the settings apart from the budget as one setting, empty if there are none."""
    given = own_parameters(estimator).items()
    return head, ", ".join(f"{name}={value!r}" for name, value in given if value is not None)
