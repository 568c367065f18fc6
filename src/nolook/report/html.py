"""A release as one HTML page without outside resources, scripts or anything unescaped."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from nolook.estimators.catalogue import called
from nolook.estimators.pipeline import regression_of
from nolook.formats.files import one_line, write_text
from nolook.report._markup import count, named, row, section, table_of
from nolook.report._page import (
    banner,
    figures,
    guarantee_section,
    how_it_was_made,
    page,
    parameters_of,
    privacy_figure,
    selection_section,
    spending_section,
    words_of,
)
from nolook.report.origin import Origin
from nolook.report.picture import MOST_SHOWN, coefficient_picture, shortened
from nolook.report.summary import (
    CONFIDENCE,
    Coefficient,
    coefficients,
    estimate,
    has_intervals,
    interval,
    label_range_in_words,
    number,
    origin_of_scales,
)
from nolook.report.wording import NOT_ESTIMATED, failure_in_words

if TYPE_CHECKING:
    from nolook.estimators.base import PrivateRegressor

__all__ = ["render", "write_report"]


def write_report(model: PrivateRegressor, path: str | os.PathLike[str], *, table: str) -> None:
    """Write the report of a fitted model."""
    write_text(Path(path), render(model, table=table))


def render(model: PrivateRegressor, *, table: str) -> str:
    """Make the report of a fitted model: everything in it was released, nothing else is shown."""
    part, origin = regression_of(model), Origin.of_model(model)
    found = coefficients(part)
    label = part.scaling_.names[-1]
    kind = "Private linear model" if model.privacy_.private else "Linear model, not private,"
    body = [
        f"<h1>{kind} of {named(label)}</h1>",
        _lead(origin, table, label, len(found)),
        banner(origin),
        _failure(part),
        _figures(origin, part),
        guarantee_section(origin),
        selection_section(origin),
        _method(part),
        _coefficients(part, found, label),
        _fit(part, label),
        _scales(part),
        spending_section(origin),
        _settings(origin, part, table),
    ]
    return page(f"{kind} of {one_line(label)}", body)


def _lead(origin: Origin, table: str, label: str, columns: int) -> str:
    selection = origin.selector
    used = count(columns, "column")
    if selection is not None:
        used = f"{columns} of {count(selection.n_features_in_, 'column')}, chosen privately"
    return (
        f'<p class="quiet">From the table {named(table)}: how {named(label)} depends on {used}.</p>'
    )


def _failure(model: PrivateRegressor) -> str:
    failure = failure_in_words(model)
    return "" if failure is None else f'<p class="notice" role="status">{escape(failure)}</p>'


def _figures(origin: Origin, part: PrivateRegressor) -> str:
    shown = [privacy_figure(origin)]
    for head, short, value, ends in (
        ("Variance explained", "R²", part.r2_, part.r2_interval_),
        ("Typical error", "RMSE", part.rmse_, part.rmse_interval_),
    ):
        if value is None:
            shown.append((head, "unknown", NOT_ESTIMATED))
        else:
            small = f"interval {NOT_ESTIMATED}" if ends is None else interval(ends)
            shown.append((head, f"{short} {number(value)}", small))
    return figures(shown)


def _method(model: PrivateRegressor) -> str:
    words = words_of(model)
    return section("method", "The method", f"<p>{escape(words)}</p>") if words else ""


def _coefficients(model: PrivateRegressor, found: Sequence[Coefficient], label: str) -> str:
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


def _about_intervals(model: PrivateRegressor) -> str:
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


def _fit(model: PrivateRegressor, label: str) -> str:
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


def _scales(model: PrivateRegressor) -> str:
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


def _settings(origin: Origin, part: PrivateRegressor, table: str) -> str:
    return how_it_was_made(
        origin,
        [
            ("Table", table),
            ("Label", part.scaling_.names[-1]),
            ("Columns", ", ".join(part.scaling_.names[:-1])),
            ("Method", called(part)),
            *parameters_of(part, "Parameters of the method"),
        ],
    )
