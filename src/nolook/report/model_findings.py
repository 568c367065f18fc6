"""What a report says of a private regression, perhaps of columns chosen privately."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from nolook.algorithms.scaling import ScaleSearch
from nolook.estimators.catalogue import called, own_parameters, unproved_settings
from nolook.estimators.pipeline import regression_of, selection_of
from nolook.report.contrasts import HOW_TO_READ, contrasts
from nolook.report.findings import Figure, Findings, Name, Origin, Section, Table, plain, rows_of
from nolook.report.picture import MOST_SHOWN, Coefficient, coefficient_picture
from nolook.report.selection_findings import (
    explanation_of,
    parameters_of,
    selection_section,
    selection_settings,
)
from nolook.report.wording import CONFIDENCE, NOT_ESTIMATED, Ends, count, interval, number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nolook.estimators._selector import PrivateSelector
    from nolook.estimators.base import PrivateRegressor
    from nolook.report.findings import Text

__all__ = ["coefficients", "constant_in_words", "model_findings", "why_not_visible"]

_MOST_PRINTED = 20  # rows of coefficients
_MOST_NAMED = 5  # columns in a sentence
_FEW_ROWS = 20  # hardly any, however exactly they were counted ...
_SURELY = 3.0  # ... as may be a number that so many of its standard errors reach down to 0
_STILL_FEW = 200  # rows that may be there even so
_INTERVAL = f"{CONFIDENCE} interval"
_WHEN = " when a column grows by its scale"
_GIVEN = " Everything below takes these columns as given"
_SEARCH = frozenset(event.name for event in ScaleSearch(1.0).events())


def model_findings(model: PrivateRegressor) -> Findings:
    """Say what a fitted model found."""
    selector, part = selection_of(model), regression_of(model)
    target = part.scaling_.names[-1]
    settings: tuple[tuple[str, str], ...] = ()
    before: list[Section] = []
    used = count(len(part.coef_), "column")
    if selector is not None:
        before.append(selection_section(selector, _given(part)))
        settings = selection_settings(selector)
        offered = count(selector.n_features_in_, "column")
        used = f"{len(part.coef_)} of {offered}, chosen privately"
    if words := explanation_of(part):
        before.append(Section("method", "The method", words))
    return Findings(
        kind="model",
        what="linear model of",
        of=target,
        origin=_origin(model, selector, part),
        cards=_cards(part),
        sections=(*before, *_regression(part), *_scales(part)),
        settings=(
            ("Target", target),
            ("Columns", ", ".join(part.scaling_.names[:-1])),
            ("Method", called(part)),
            *parameters_of(part, "Parameters of the method"),
            *settings,
        ),
        rows=rows_of(part),
        question=(": how ", Name(target), f" depends on {used}"),
        cautions=constant_in_words(part),
    )


def _given(part: PrivateRegressor) -> str:
    return f"{_GIVEN}{', including the intervals' * (part.coef_interval_ is not None)}."


def _origin(
    model: PrivateRegressor, selector: PrivateSelector | None, part: PrivateRegressor
) -> Origin:
    made_by = [("regression", part)]
    if selector is not None:
        made_by.insert(0, ("selection", selector))
    return Origin(
        model.privacy_,
        model.recipe_["missing"],
        tuple((name, one.privacy_) for name, one in made_by),
        tuple(s for _, one in made_by for s in unproved_settings(own_parameters(one))),
    )


def constant_in_words(model: PrivateRegressor) -> tuple[str, ...]:
    """Say that a model is only a constant, if it is, and why."""
    if not model.visible_:
        why = why_not_visible(model)
        words = (
            "There is no regression: the target did not stand out from the noise. "
            f"{why[:1].upper()}{why[1:]}{'' if why.endswith('?') else '.'} The model predicts the "
            f"same number for every row, {number(model.intercept_)}, a guess at where the target "
            "lies. The budget is spent in full."
        )
        return (words,)
    if not model.failed_:
        return ()
    words = (
        "The private test of this fit failed or found too few rows, so there is no regression: "
        f"the model predicts the same number for every row, {number(model.intercept_)}, the "
        "private median of the target."
    )
    return (words,)


def why_not_visible(model: PrivateRegressor) -> str:
    """Say why the target did not stand out from the noise, as far as the private count tells."""
    too_few = "there are too few rows for this budget to see how it varies"
    rows, error = rows_of(model) or (math.inf, 0.0)
    if rows >= max(_FEW_ROWS, _SURELY * error):
        return too_few
    if rows + 2.0 * error <= _STILL_FEW:
        return "hardly any row was usable: is every column numbers?"
    return f"hardly any row was usable (is every column numbers?), or {too_few}"


def _cards(model: PrivateRegressor) -> tuple[tuple[str, str, str], ...]:
    if not model.visible_:
        return ()
    return (
        _card("Variance explained", "R²", model.r2_, model.r2_interval_),
        _card("Typical error", "RMSE", model.rmse_, model.rmse_interval_),
    )


def _card(
    head: str, short: str, value: float | None, ends: NDArray[np.float64] | None
) -> tuple[str, str, str]:
    if value is None:
        return head, "unknown", NOT_ESTIMATED
    small = f"interval {NOT_ESTIMATED}" if ends is None else interval(ends)
    return head, f"{short} {number(value)}", small


def coefficients(model: PrivateRegressor) -> tuple[Coefficient, ...]:
    """List the coefficients of a fitted model in its columns' order, without dropped columns."""
    scale = model.scaling_.scale[:-1]
    ends: list[Ends | None] = [None] * len(scale)
    effect_ends = ends
    with np.errstate(over="ignore"):
        effects = np.nan_to_num(model.coef_ * scale)
        if model.coef_interval_ is not None:
            ends = [(low, high) for low, high in model.coef_interval_.tolist()]
            both = np.nan_to_num(model.coef_interval_ * scale[:, None])
            effect_ends = [(low, high) for low, high in both.tolist()]
    columns = (model.scaling_.names[:-1], model.coef_.tolist(), ends, effects.tolist(), effect_ends)
    kept = (~_dropped(model)).tolist()
    return tuple(Coefficient(*one) for one in compress(zip(*columns, strict=True), kept))


def _dropped(model: PrivateRegressor) -> NDArray[np.bool_]:
    """Tell which features the model leaves out, because nothing in them stood out."""
    left_out: NDArray[np.bool_] = ~model.scaling_.visible[:-1] & (model.coef_ == 0.0)
    return left_out


def _regression(model: PrivateRegressor) -> tuple[Section, ...]:
    return (_coefficients(model), _fit(model)) if model.visible_ else ()


def _coefficients(model: PrivateRegressor) -> Section:
    found = coefficients(model)
    target = model.scaling_.names[-1]
    omitted = "" if len(found) <= MOST_SHOWN else f" The {MOST_SHOWN} largest are drawn."
    figure = None
    if found:
        words = (
            "Across is the change in ",
            Name(target),
            f"{_WHEN}, so that columns in different units can be compared. ",
            f"{_about_intervals(model)}{omitted}",
        )
        figure = Figure(coefficient_picture(found, f"The change in {target}{_WHEN}"), words)
    compared = contrasts(model)
    known = model.coef_interval_ is not None or model.intercept_interval_ is not None
    table = shown = _coefficient_table(model, found, compared, known=known)
    if len(found) > _MOST_PRINTED:
        kept = sorted(found, key=lambda one: -abs(one.effect))[: _MOST_PRINTED - 1]
        rows = tuple(_row(one, compared, known=known) for one in found if one in kept)
        left = f"... {len(found) - len(kept)} smaller effects"
        shown = replace(table, rows=(*rows, (left,)))
    unknown = () if known else (_about_intervals(model),)
    dropped = _dropped_in_words(model)
    return Section(
        "coefficients",
        "Coefficients",
        figure=figure,
        tables=(table,),
        notes=(*((HOW_TO_READ,) if compared else ()), *dropped),
        printed=(f"method: {called(model)}", shown, *unknown, *map(plain, dropped)),
    )


def _coefficient_table(
    model: PrivateRegressor,
    found: tuple[Coefficient, ...],
    compared: dict[str, str],
    *,
    known: bool,
) -> Table:
    ends = (interval(model.intercept_interval_),) if known else ()
    heads = ("Column", "Coefficient", *((_INTERVAL,) if known else ()))
    caption = "Coefficients: the change in the target for one unit of the column"
    intercept = ("intercept", number(model.intercept_), *ends)
    if not found:
        return Table(caption, heads, (intercept,))
    rows = tuple(_row(one, compared, known=known) for one in found)
    return Table(caption, (*heads, "Times scale"), rows, (*intercept, ""))


def _dropped_in_words(model: PrivateRegressor) -> tuple[Text, ...]:
    names = list(compress(model.scaling_.names, _dropped(model).tolist()))
    if not names:
        return ()
    listed = [piece for name in names[:_MOST_NAMED] for piece in (", ", Name(name))]
    more = len(names) - _MOST_NAMED
    last = f" and {more} more" if more > 0 else ""
    return (("Dropped: nothing stood out from the noise in ", *listed[1:], f"{last}."),)


def _row(one: Coefficient, compared: dict[str, str], *, known: bool) -> tuple[str, ...]:
    ends = (interval(one.ends),) if known else ()
    return compared.get(one.name, one.name), number(one.value), *ends, number(one.effect)


def _about_intervals(model: PrivateRegressor) -> str:
    if model.coef_interval_ is None:
        return (
            "This method estimates no intervals, so how far sampling and privacy noise have moved "
            "a coefficient is unknown."
        )
    return (
        f"Lines are {CONFIDENCE} intervals that cover sampling and privacy noise. A filled point's "
        "interval leaves out 0; a hollow point may be noise. An arrow marks an interval that runs "
        "off the picture."
    )


def _fit(model: PrivateRegressor) -> Section:
    measures = (
        ("R², share of the target's variance explained", model.r2_, model.r2_interval_),
        ("RMSE, typical error in units of the target", model.rmse_, model.rmse_interval_),
    )
    limits = (" Predictions of ", Name(model.scaling_.names[-1]), f" {_range_in_words(model)}.")
    heading = "How well it fits"
    if model.r2_ is None and model.rmse_ is None:
        silent = (
            "This method does not estimate how well the model fits. Measuring that on the table "
            "would be another release, with its own cost."
        )
        return Section("fit", heading, (silent,), notes=(limits,), printed=(silent,))
    clipped = ", clipped to the ranges below" if math.isfinite(model.scaling_.limit) else ""
    table = Table(
        "Estimated from the same noisy sums as the model, at no further cost",
        ("Measure", "Estimate", _INTERVAL),
        tuple((name, number(value), interval(ends)) for name, value, ends in measures),
    )
    about = f"The estimates describe the training rows{clipped}."
    return Section("fit", heading, tables=(table,), notes=((about, *limits),), printed=(table,))


def _range_in_words(model: PrivateRegressor) -> str:
    low, high = model.target_range_
    if low == -math.inf and high == math.inf:
        return "have no limits"
    if low == -math.inf:
        return f"stay at or below {number(high)}"
    if high == math.inf:
        return f"stay at or above {number(low)}"
    return f"stay between {number(low)} and {number(high)}"


def _scales(model: PrivateRegressor) -> tuple[Section, ...]:
    """Tell where the columns used were found to lie; files of version 0.1 used guesses too."""
    scaling = model.scaling_
    used = [*(~_dropped(model)).tolist(), model.visible_]
    if not any(used):
        return ()
    values = zip(scaling.center, scaling.scale, scaling.low, scaling.high, strict=True)
    columns = zip(scaling.names, scaling.visible, values, strict=True)
    rows = tuple(
        (name if visible else f"{name} *", *(_limit(float(value)) for value in four))
        for name, visible, four in compress(columns, used)
    )
    notes, hidden = [], []
    if math.isfinite(model.row_norm_):
        notes.append(
            "A row is shrunk where the norm of 1 and its scaled columns is above "
            f"{number(model.row_norm_)}, in training and in predictions."
        )
    if guesses := sum(compress(~scaling.visible, used)):
        hidden.append(
            f"{guesses} of {len(scaling.names)} columns did not stand out from the noise: the "
            "table has too few rows for this budget, and their scale is a guess."
        )
    heading, source = _origin_of_scales(model)
    clipped = (
        "Values are clipped to the range"
        if math.isfinite(scaling.limit)
        else "The columns are not clipped one by one"
    )
    heads = ("Column", "Centre", "Scale", "Lower end", "Upper end")
    last = " The target is last." * model.visible_
    table = Table(f"{source}. {clipped}.{last}", heads, rows)
    section = Section(
        "scales",
        heading,
        tables=(table,),
        notes=(*notes, *(f"* {words}" for words in hidden)),
        printed=tuple(hidden),
    )
    return (section,)


def _origin_of_scales(model: PrivateRegressor) -> tuple[str, str]:
    if not _SEARCH.isdisjoint(event.name for event in model.privacy_.mechanisms):
        return (
            "Scales found privately",
            "No bounds were given: centre and scale come from noisy histograms",
        )
    if unproved_settings({"bounds": own_parameters(model).get("bounds")}):
        return "Scales read off the table", "The scales were read off the table without any noise"
    return "Scales set beforehand", "Centre and scale were set without looking at the table"


def _limit(value: float) -> str:
    return number(value) if math.isfinite(value) else "none"
