"""Reports of columns whose scales were found privately."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nolook._arrays import Flags, Vector
from nolook.estimators._chosen import offered_columns
from nolook.estimators.scaler import QuantileScaler
from nolook.report.distribution_findings import what_was_found
from nolook.report.findings import Findings, Table, Text, findings_of
from nolook.report.sentences import phrase, sentence
from nolook.report.wording import count, number, span

__all__ = ["SCALE_HEADS", "scale_findings", "scale_rows"]

SCALE_HEADS: tuple[str, ...] = ("Column", "Centre", "Scale", "Range")


def scale_findings(scaler: QuantileScaler) -> Findings:
    """Return the findings of a scaler: centre and scale of each column."""
    names = offered_columns(scaler)
    ends = scaler.low_, scaler.high_
    rows = scale_rows(names, scaler.detected_, scaler.center_, scaler.scale_, *ends)
    caption = "Centre and scale of each column, from noisy histograms"
    table = Table(caption, SCALE_HEADS, tuple(rows))
    said = ("clipped", "guessed")[: 2 - bool(scaler.detected_.all())]
    notes = tuple(phrase(f"release.{name}") for name in said)
    features = scaler.read_options_["features"]
    return findings_of(
        scaler,
        what="scales of",
        of=count(scaler.n_features_in_, "column"),
        sections=(what_was_found(table, notes),),
        settings=(("Columns", ", ".join(features)),),
        question=sentence("questions.values", names=features),
        conclusion=_seen(scaler, names),
        certainty=(phrase("release.accuracy"),),
    )


def scale_rows(names: Sequence[str], seen: Flags, *numbers: Vector) -> Iterator[tuple[str, ...]]:
    """Yield the name, centre, scale and range of columns, starred where noise hid them.

    `numbers` are centres, scales, lower and upper ends.
    """
    for name, known, *own in zip(names, seen, *numbers, strict=True):
        centre, scale, low, high = map(float, own)
        yield name if known else f"{name} *", number(centre), number(scale), span((low, high))


def _seen(scaler: QuantileScaler, names: list[str]) -> tuple[Text, ...]:
    """Name the columns that did not stand out from the noise, and count the others."""
    hidden = [name for name, seen in zip(names, scaler.detected_, strict=True) if not seen]
    words = phrase("release.stood_out", seen=len(names) - len(hidden), columns=len(names))
    return (words, *((sentence("release.hidden_scales", names=hidden),) if hidden else ()))
