"""A release as one HTML page without outside resources, scripts or anything unescaped."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

import nolook
from nolook.report.files import one_line, write_text
from nolook.report.methods import FittedModel, method_of, recipe_of
from nolook.report.picture import MOST_SHOWN, coefficient_picture, shortened
from nolook.report.summary import (
    CONFIDENCE,
    Coefficient,
    certainty_in_words,
    coefficients,
    interval,
    number,
    spending,
)

__all__ = ["render", "write_report"]


_POLICY = (
    '<meta http-equiv="Content-Security-Policy" '
    "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
)


def write_report(model: FittedModel, path: str | os.PathLike[str], *, table: str) -> None:
    """Write the report of a fitted model.

    Parameters
    ----------
    model : fitted estimator
    path : path-like
        The HTML file; it appears whole or not at all.
    table : str
        What the table is called in the report.

    Raises
    ------
    NolookError
        If the file cannot be written.
    """
    write_text(Path(path), render(model, table=table))


def render(model: FittedModel, *, table: str) -> str:
    """Make the report of a fitted model: everything in it was released, nothing else is shown.

    Parameters
    ----------
    model : fitted estimator
    table : str
        What the table is called in the report.

    Returns
    -------
    str
        A whole HTML page.
    """
    found = coefficients(model)
    label = model.scaling_.names[-1]
    kind = "Private linear model" if model.privacy_.private else "Linear model, not private,"
    title = f"{kind} of {one_line(label)}"
    body = [
        '<p class="kicker">nolook report</p>',
        f"<h1>{kind} of {_name(label)}</h1>",
        _lead(table, label, len(found)),
        "" if model.privacy_.private else _banner(),
        _figures(model),
        _guarantee(model),
        _coefficients(model, found, label),
        _fit(model, label),
        _scales(model),
        _spending(model),
        _settings(model, table),
    ]
    style = files("nolook.report").joinpath("report.css").read_text(encoding="utf-8")
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            # Nothing may be loaded or run, whatever a column is called.
            _POLICY,
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"<style>\n{style}</style>",
            "</head>",
            "<body>",
            "<main>",
            *filter(None, body),
            "</main>",
            "</body>",
            "</html>",
            "",
        ]
    )


def _lead(table: str, label: str, columns: int) -> str:
    return (
        f'<p class="quiet">From the table {_name(table)}: how {_name(label)} depends on '
        f"{_count(columns, 'column')}.</p>"
    )


def _name(text: str) -> str:
    """Escape a name and keep its writing direction to itself."""
    return f"<bdi>{escape(one_line(text))}</bdi>"


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _section(name: str, heading: str, *parts: str, kind: str = "") -> str:
    styled = f' class="{kind}"' if kind else ""
    inside = "\n".join(parts)
    return (
        f'<section{styled} aria-labelledby="{name}">\n<h2 id="{name}">{escape(heading)}</h2>\n'
        f"{inside}\n</section>"
    )


def _table(caption: str, heads: Sequence[str], rows: Iterable[str]) -> str:
    first, *others = heads
    columns = f'<th scope="col">{escape(first)}</th>' + "".join(
        f'<th scope="col" class="number">{escape(head)}</th>' for head in others
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}">\n'
        f"<table>\n<caption>{escape(caption)}</caption>\n<thead><tr>{columns}</tr></thead>\n<tbody>\n"
        + "\n".join(rows)
        + "\n</tbody>\n</table>\n</div>"
    )


def _row(name: str, cells: Iterable[str], kind: str = "") -> str:
    styled = f' class="{kind}"' if kind else ""
    numbers = "".join(f'<td class="number">{cell}</td>' for cell in cells)
    return f'<tr{styled}><th scope="row">{_name(name)}</th>{numbers}</tr>'


def _banner() -> str:
    return (
        '<div class="banner" role="alert"><strong>NOT PRIVATE</strong>'
        "<p>The noise of this release was drawn from a known seed (random_state), so it can be "
        "drawn again and taken away. This page is for experiments with public data; "
        "do not give it out as a private release.</p></div>"
    )


def _figures(model: FittedModel) -> str:
    guarantee = model.privacy_
    budget = f"epsilon {number(guarantee.epsilon)}", f"delta {number(guarantee.delta)}"
    shown = [
        ("Privacy loss", *budget) if guarantee.private else ("Privacy", "none", "a known seed"),
        ("Variance explained", f"R² {number(model.r2_)}", interval(model.r2_interval_)),
        ("Typical error", f"RMSE {number(model.rmse_)}", interval(model.rmse_interval_)),
    ]
    cards = "\n".join(
        f'<div><dt>{head}</dt><dd><span class="big">{big}</span><br>'
        f'<span class="quiet">{small}</span></dd></div>'
        for head, big, small in shown
    )
    return f'<dl class="figures">\n{cards}\n</dl>'


def _guarantee(model: FittedModel) -> str:
    guarantee = model.privacy_
    meaning = (
        "The guarantee holds for any table and against someone who knows all of its other rows. "
        "The number of rows is protected too, which is why this page does not tell it. What is "
        "true of the population can still be learned: that is what the model is for."
    )
    return _section(
        "guarantee",
        "The guarantee",
        f"<p>{escape(guarantee.in_words())}</p>",
        f"<p>{escape(certainty_in_words(guarantee))}</p>" if guarantee.private else "",
        f'<p class="quiet">{meaning}</p>' if guarantee.private else "",
        kind="guarantee",
    )


def _coefficients(model: FittedModel, found: Sequence[Coefficient], label: str) -> str:
    axis = f"change of {shortened(one_line(label), 30)} when a column grows by its scale"
    omitted = "" if len(found) <= MOST_SHOWN else f" The {MOST_SHOWN} largest are drawn."
    rows = [
        _row(
            one.name,
            (number(one.value), interval((one.low, one.high)), number(one.effect)),
        )
        for one in found
    ]
    rows.append(
        _row(
            "intercept",
            (number(model.intercept_), interval(model.intercept_interval_), ""),
            "intercept",
        )
    )
    return _section(
        "coefficients",
        "Coefficients",
        '<figure>\n<div class="scroll" tabindex="0" role="region" aria-label="Picture of the '
        f'coefficients">\n{coefficient_picture(found, axis)}\n</div>',
        f"<figcaption>Each coefficient times the private scale of its column, so that columns in "
        f"different units compare. Lines are {CONFIDENCE} intervals, for sampling and privacy "
        "noise together. A filled point has an interval without 0, a hollow one may be noise; an "
        f"arrow stands for an interval that leaves the picture.{omitted}</figcaption>\n</figure>",
        _table(
            "Coefficients in the table's own units: change of the label for one unit of the column",
            ("Column", "Coefficient", f"{CONFIDENCE} interval", "Times the column's scale"),
            rows,
        ),
    )


def _fit(model: FittedModel, label: str) -> str:
    low, high = model.label_range_
    return _section(
        "fit",
        "How well it fits",
        _table(
            "Estimated from the same noisy sums as the model, at no further cost",
            ("Measure", "Estimate", f"{CONFIDENCE} interval"),
            (
                _row(
                    "R², share of the label's variance that the model explains",
                    (number(model.r2_), interval(model.r2_interval_)),
                ),
                _row(
                    "RMSE, typical error in units of the label",
                    (number(model.rmse_), interval(model.rmse_interval_)),
                ),
            ),
        ),
        '<p class="note">Both are of the training rows as they were clipped to the ranges below. '
        f"Predictions of {_name(label)} stay between {number(low)} and {number(high)}.</p>",
    )


def _scales(model: FittedModel) -> str:
    scaling = model.scaling_
    values = zip(scaling.center, scaling.scale, scaling.low, scaling.high, strict=True)
    marked = zip(scaling.names, scaling.visible, values, strict=True)
    rows = [
        _row(name if visible else f"{name} *", [number(float(value)) for value in four])
        for name, visible, four in marked
    ]
    hidden = (
        '<p class="note">* The values of this column did not stand out from the noise: the table '
        "has too few rows for this budget, and the scale is a guess.</p>"
    )
    return _section(
        "scales",
        "Scales found privately",
        _table(
            "Nobody gave bounds: centre and scale come from noisy histograms, values are "
            "clipped to the range; the label is last",
            ("Column", "Centre", "Scale", "Lower end", "Upper end"),
            rows,
        ),
        "" if all(scaling.visible) else hidden,
    )


def _spending(model: FittedModel) -> str:
    parts = spending(model.privacy_)
    rows = (_row(part.name, (part.mechanism, part.cost, _meter(part.share))) for part in parts)
    return _section(
        "spending",
        "What was spent on what",
        _table(
            f"{_count(len(parts), 'noisy release')}, which together stay within the budget",
            ("Released", "Mechanism", "Cost", "Share of the budget"),
            rows,
        ),
        '<p class="note">The parts of Gaussian noise compose: the squares of their mu add up. '
        "Everything else on this page was computed from these releases and costs nothing.</p>",
    )


def _meter(share: float | None) -> str:
    if share is None:
        return ""
    return (
        f'<span class="meter">{100 * share:.0f} %<svg width="80" height="10" aria-hidden="true">'
        '<rect class="back" width="80" height="10" rx="5"/>'
        f'<rect class="part" width="{80 * share:.1f}" height="10" rx="5"/></svg></span>'
    )


def _settings(model: FittedModel, table: str) -> str:
    guarantee = model.privacy_
    settings = [
        ("Table", table),
        ("Label", model.scaling_.names[-1]),
        ("Columns", ", ".join(model.scaling_.names[:-1])),
        ("Method", method_of(model) or type(model).__name__),
        ("epsilon", repr(guarantee.epsilon)),
        ("delta", repr(guarantee.delta)),
        ("Neighbouring tables", f"{guarantee.relation} of one {guarantee.unit}"),
        ("Missing values", recipe_of(model)["missing"]),
        ("Noise", "operating system's entropy" if guarantee.private else "a seed: not private"),
        ("Made with", f"nolook {nolook.__version__}"),
    ]
    entries = "\n".join(f"<dt>{head}</dt><dd>{_name(str(value))}</dd>" for head, value in settings)
    return _section("settings", "How it was made", f'<dl class="settings">\n{entries}\n</dl>')
