"""Reports of columns whose scales were found privately."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nolook.estimators._chosen import offered_columns
from nolook.report.distribution_findings import what_was_found
from nolook.report.findings import Findings, Table, findings_of, listed
from nolook.report.wording import count, number, span

if TYPE_CHECKING:
    from nolook.estimators.scaler import QuantileScaler
    from nolook.report.findings import Text

__all__ = ["scale_findings"]

_MOST_NAMED = 5  # columns in a sentence
_GUESSED = (
    "* This column did not stand out from the noise: its centre and scale are a guess, and it is "
    "better left out."
)
_CLIPPED = "Values are clipped to the range. What is scaled is as confidential as the table."


def scale_findings(scaler: QuantileScaler) -> Findings:
    """Return the findings of a scaler: centre and scale of each column."""
    names = offered_columns(scaler)
    columns = zip(
        names,
        scaler.detected_,
        scaler.center_,
        scaler.scale_,
        zip(scaler.low_, scaler.high_, strict=True),
        strict=True,
    )
    rows = tuple(
        (name if seen else f"{name} *", number(float(centre)), number(float(scale)), span(ends))
        for name, seen, centre, scale, ends in columns
    )
    table = Table(
        "Centre and scale of each column, from noisy histograms",
        ("Column", "Centre", "Scale", "Range"),
        rows,
    )
    notes = (_CLIPPED, *([] if scaler.detected_.all() else [_GUESSED]))
    features = scaler.read_options_["features"]
    return findings_of(
        scaler,
        what="scales of",
        of=count(scaler.n_features_in_, "column"),
        cards=(("Columns", str(scaler.n_features_in_), "centred and scaled"),),
        sections=(what_was_found(table, notes),),
        settings=(("Columns", ", ".join(features)),),
        question=(": how the values of ", *listed(features, _MOST_NAMED), " are distributed"),
        conclusion=_seen(scaler, names),
        certainty=(
            "The accuracy of a centre or a scale is not known; neither is a result by itself.",
        ),
    )


def _seen(scaler: QuantileScaler, names: list[str]) -> tuple[Text, ...]:
    """Name the columns that did not stand out from the noise, and count the others."""
    hidden = [name for name, seen in zip(names, scaler.detected_, strict=True) if not seen]
    words = f"{len(names) - len(hidden)} of {count(len(names), 'column')} stood out from the noise."
    if not hidden:
        return (words,)
    return words, ("Not known: ", *listed(hidden, _MOST_NAMED), ".")
