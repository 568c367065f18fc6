"""A release as one HTML page without outside resources, scripts or anything unescaped."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

import nolook
from nolook.privacy.guarantee import GaussianEvent
from nolook.report._markup import count, meter, named, row, section, table_of
from nolook.report.files import one_line, write_text
from nolook.report.methods import (
    FittedModel,
    method_of,
    own_parameters,
    recipe_of,
)
from nolook.report.picture import MOST_SHOWN, coefficient_picture, shortened
from nolook.report.summary import (
    CONFIDENCE,
    Coefficient,
    certainty_in_words,
    coefficients,
    estimate,
    has_intervals,
    interval,
    label_range_in_words,
    number,
    origin_of_scales,
    spending,
)
from nolook.report.wording import (
    NOT_ESTIMATED,
    failure_in_words,
    method_in_words,
    why_not_private,
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
        f"<h1>{kind} of {named(label)}</h1>",
        _lead(table, label, len(found)),
        "" if model.privacy_.private else _banner(model),
        _failure(model),
        _figures(model),
        _guarantee(model),
        _method(model),
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
        f'<p class="quiet">From the table {named(table)}: how {named(label)} depends on '
        f"{count(columns, 'column')}.</p>"
    )


def _banner(model: FittedModel) -> str:
    _, reason = why_not_private(model)
    return (
        '<div class="banner" role="alert"><strong>NOT PRIVATE</strong>'
        f"<p>{escape(reason)} This page is for experiments with public data; "
        "do not give it out as a private release.</p></div>"
    )


def _failure(model: FittedModel) -> str:
    failure = failure_in_words(model)
    return "" if failure is None else f'<p class="notice" role="status">{escape(failure)}</p>'


def _figures(model: FittedModel) -> str:
    guarantee = model.privacy_
    if guarantee.private:
        privacy = "Privacy loss", f"epsilon {number(guarantee.epsilon)}"
        shown = [(*privacy, f"delta {number(guarantee.delta)}")]
    else:
        shown = [("Privacy", "none", escape(why_not_private(model)[0]))]
    for head, short, value, ends in (
        ("Variance explained", "R²", model.r2_, model.r2_interval_),
        ("Typical error", "RMSE", model.rmse_, model.rmse_interval_),
    ):
        if value is None:
            shown.append((head, "unknown", NOT_ESTIMATED))
        else:
            small = f"interval {NOT_ESTIMATED}" if ends is None else interval(ends)
            shown.append((head, f"{short} {number(value)}", small))
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
    return section(
        "guarantee",
        "The guarantee",
        f"<p>{escape(guarantee.in_words())}</p>",
        f"<p>{escape(certainty_in_words(guarantee))}</p>" if guarantee.private else "",
        f'<p class="quiet">{meaning}</p>' if guarantee.private else "",
        kind="guarantee",
    )


def _method(model: FittedModel) -> str:
    words = method_in_words(model)
    return section("method", "The method", f"<p>{escape(words)}</p>") if words else ""


def _coefficients(model: FittedModel, found: Sequence[Coefficient], label: str) -> str:
    axis = f"change of {shortened(one_line(label), 30)} when a column grows by its scale"
    omitted = "" if len(found) <= MOST_SHOWN else f" The {MOST_SHOWN} largest are drawn."
    known = has_intervals(model)
    cells = [(one.name, number(one.value), one.ends, number(one.effect)) for one in found]
    ends = model.intercept_interval_
    rows = [
        row(name, (value, interval(own), effect) if known else (value, effect))
        for name, value, own, effect in cells
    ]
    constant = number(model.intercept_)
    last = (constant, interval(ends), "") if known else (constant, "")
    rows.append(row("intercept", last, "intercept"))
    heads = ["Column", "Coefficient", "Times the column's scale"]
    if known:
        heads.insert(2, f"{CONFIDENCE} interval")
    return section(
        "coefficients",
        "Coefficients",
        '<figure>\n<div class="scroll" tabindex="0" role="region" aria-label="Picture of the '
        f'coefficients">\n{coefficient_picture(found, axis)}\n</div>',
        "<figcaption>Each coefficient times the scale of its column, so that columns in different "
        f"units compare. {_about_intervals(model)}{omitted}</figcaption>\n</figure>",
        table_of(
            "Coefficients in the table's own units: change of the label for one unit of the column",
            heads,
            rows,
        ),
    )


def _about_intervals(model: FittedModel) -> str:
    if model.coef_interval_ is None:
        return (
            "This method estimates no intervals: how far sampling and privacy noise may have moved "
            "a coefficient is not known."
        )
    return (
        f"Lines are {CONFIDENCE} intervals, for sampling and privacy noise together. A filled "
        "point has an interval without 0, a hollow one may be noise; an arrow stands for an "
        "interval that leaves the picture."
    )


def _fit(model: FittedModel, label: str) -> str:
    measures = (
        (
            "R², share of the label's variance that the model explains",
            model.r2_,
            model.r2_interval_,
        ),
        ("RMSE, typical error in units of the label", model.rmse_, model.rmse_interval_),
    )
    limits = f"Predictions of {named(label)} {label_range_in_words(model)}."
    if all(value is None for _, value, _ in measures):
        silent = (
            "This method does not estimate how well the model fits. To measure it on the table "
            "would be another release, with a cost of its own."
        )
        parts = [f"<p>{silent}</p>", f'<p class="note">{limits}</p>']
    else:
        clipped = math.isfinite(model.scaling_.limit)
        rows = "the training rows as they were clipped to the ranges below"
        parts = [
            table_of(
                "Estimated from the same noisy sums as the model, at no further cost",
                ("Measure", "Estimate", f"{CONFIDENCE} interval"),
                [row(name, (estimate(value), interval(ends))) for name, value, ends in measures],
            ),
            f'<p class="note">They are of {rows if clipped else "the training rows"}. {limits}</p>',
        ]
    return section("fit", "How well it fits", *parts)


def _scales(model: FittedModel) -> str:
    scaling = model.scaling_
    values = zip(scaling.center, scaling.scale, scaling.low, scaling.high, strict=True)
    marked = zip(scaling.names, scaling.visible, values, strict=True)
    rows = [
        row(name if visible else f"{name} *", [_limit(float(value)) for value in four])
        for name, visible, four in marked
    ]
    hidden = (
        '<p class="note">* The values of this column did not stand out from the noise: the table '
        "has too few rows for this budget, and the scale is a guess.</p>"
    )
    shrunk = (
        f'<p class="note">A row is shrunk where the norm of 1 and its scaled columns is above '
        f"{number(model.row_norm_)}, in training and in predictions.</p>"
    )
    heading, source = origin_of_scales(model)
    clipped = (
        "values are clipped to the range"
        if math.isfinite(scaling.limit)
        else "columns are not clipped one by one"
    )
    return section(
        "scales",
        heading,
        table_of(
            f"{source}, {clipped}; the label is last",
            ("Column", "Centre", "Scale", "Lower end", "Upper end"),
            rows,
        ),
        shrunk if math.isfinite(model.row_norm_) else "",
        "" if all(scaling.visible) else hidden,
    )


def _limit(value: float) -> str:
    return number(value) if math.isfinite(value) else "none"


def _spending(model: FittedModel) -> str:
    parts = spending(model.privacy_)
    squares = (
        "The parts of Gaussian noise compose: the squares of their mu add up. "
        if any(isinstance(event, GaussianEvent) for event in model.privacy_.mechanisms)
        else ""
    )
    rows = (row(part.name, (part.mechanism, part.cost, meter(part.share))) for part in parts)
    return section(
        "spending",
        "What was spent on what",
        table_of(
            f"{count(len(parts), 'noisy release')}, which together stay within the budget",
            ("Released", "Mechanism", "Cost", "Share of the budget"),
            rows,
        ),
        f'<p class="note">{squares}'
        "Everything else on this page was computed from these releases and costs nothing.</p>",
    )


def _settings(model: FittedModel, table: str) -> str:
    guarantee = model.privacy_
    origin = (
        ("Noise", "operating system's entropy")
        if guarantee.private
        else ("Not private because of", why_not_private(model)[0])
    )
    settings = [
        ("Table", table),
        ("Label", model.scaling_.names[-1]),
        ("Columns", ", ".join(model.scaling_.names[:-1])),
        ("Method", method_of(model) or type(model).__name__),
        *_parameters(model),
        ("epsilon", repr(guarantee.epsilon)),
        ("delta", repr(guarantee.delta)),
        ("Neighbouring tables", f"{guarantee.relation} of one {guarantee.unit}"),
        ("Missing values", recipe_of(model)["missing"]),
        origin,
        ("Made with", f"nolook {nolook.__version__}"),
    ]
    entries = "\n".join(f"<dt>{head}</dt><dd>{named(str(value))}</dd>" for head, value in settings)
    return section("settings", "How it was made", f'<dl class="settings">\n{entries}\n</dl>')


def _parameters(model: FittedModel) -> list[tuple[str, str]]:
    own = ", ".join(f"{name}={value!r}" for name, value in own_parameters(model).items())
    return [("Parameters of the method", own)] if own else []
