"""What a report says of a private regression, perhaps of columns chosen privately."""

from __future__ import annotations

import math
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from nolook.algorithms.scaling import ScaleSearch
from nolook.estimators.catalogue import called
from nolook.estimators.pipeline import regression_of, selection_of
from nolook.report.coefficient_findings import (
    coefficient_section,
    features_used,
    knows_intervals,
)
from nolook.report.findings import Findings, Name, Origin, Section, Table, rows_of
from nolook.report.linear_words import (
    HIDDEN,
    about_errors,
    chosen_in_words,
    chosen_of,
    clipped_shares,
    is_linear,
    target_limits,
    weights_in_words,
)
from nolook.report.logistic_words import (
    class_cards,
    class_fit,
    classifies,
    without_evidence,
)
from nolook.report.model_conclusion import model_certainty, model_conclusion
from nolook.report.selection_findings import (
    explanation_of,
    parameters_of,
    selection_section,
    selection_settings,
)
from nolook.report.wording import (
    CONFIDENCE,
    NOT_ESTIMATED,
    count,
    estimated,
    number,
    span,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nolook.estimators._selector import PrivateSelector
    from nolook.estimators.base import PrivateRegressor

__all__ = ["constant_in_words", "model_findings", "why_not_visible"]

_FEW_ROWS = 20  # hardly any, however exactly they were counted ...
_SURELY = 3.0  # ... as may be a number that so many of its standard errors reach down to 0
_STILL_FEW = 200  # rows that may be there even so
_UNUSABLE = (
    "usual causes: thousands signs, decimal commas, TRUE and FALSE, dates or texts among the "
    "numbers, a wrong delimiter; a schema declares how columns are written"
)
_INTERVAL = f"{CONFIDENCE} interval"
_GIVEN = " Everything below takes these columns as given"
_NO_FIT = (
    "This method does not estimate how well the model fits. Measuring that on the table would be "
    "another release, with its own cost."
)
_SEARCH = frozenset(event.name for event in ScaleSearch(1.0).events())


def model_findings(model: PrivateRegressor) -> Findings:
    """Say what a fitted model found."""
    selector, part = selection_of(model), regression_of(model)
    target = part.scaling_.names[-1]
    settings: tuple[tuple[str, str], ...] = ()
    before: list[Section] = []
    used = count(len(part.coef_), "column")
    chosen = int(chosen_of(part).sum())
    if chosen_in_words(part):
        used = f"{chosen} of {used}, chosen from the same release"
    if selector is not None:
        given = f"{_GIVEN}{', including the intervals' * knows_intervals(part)}."
        before.append(selection_section(selector, given))
        settings = selection_settings(selector)
        offered = count(selector.n_features_in_, "column")
        used = f"{chosen} of {offered}, chosen privately"
    words = explanation_of(part)
    after = (Section("method", "The method", words),) if words else ()
    return Findings(
        kind="model",
        what="logistic model of" if classifies(part) else "linear model of",
        of=target,
        origin=_origin(model, selector, part),
        cards=_cards(part),
        sections=(*before, *_regression(part), *_scales(part), *after),
        settings=(
            ("Target", target),
            ("Columns", ", ".join(part.scaling_.names[:-1])),
            ("Method", called(part)),
            *parameters_of(part, "Parameters of the method"),
            *settings,
        ),
        rows=rows_of(part),
        question=(": how ", Name(target), f" goes together with {used}"),
        conclusion=model_conclusion(model),
        certainty=model_certainty(model),
        cautions=constant_in_words(part),
    )


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
    )


def constant_in_words(model: PrivateRegressor) -> tuple[str, ...]:
    """Say that a model is only a constant, or hardly more, if it is, and why."""
    if not model.visible_ and classifies(model):
        return (without_evidence(model),)
    if not model.visible_:
        why = why_not_visible(model)
        words = (
            "There is no regression: the target did not stand out from the noise. "
            f"{why[:1].upper()}{why[1:]}. The model predicts the "
            f"same number for every row, {number(model.intercept_)}, a guess at where the target "
            "lies. The budget is spent in full."
        )
        return (words,)
    if not model.failed_:
        return ()
    words = (
        f"The private test of this fit failed or found too few {_counted(model)}, so there is no "
        "regression: the model predicts the same number for every row, "
        f"{number(model.intercept_)}, the private median of the target."
    )
    return (words,)


def why_not_visible(model: PrivateRegressor) -> str:
    """Say why the target did not stand out from the noise, as far as the private count tells."""
    too_few = f"there are too few {_counted(model)} for this budget to see how it varies"
    hardly = f"hardly any {model.privacy_.unit.counted} was usable"
    if classifies(model):
        too_few = (
            f"there are too few {_counted(model)} for this budget, or the columns tell little of it"
        )
    rows, error = rows_of(model) or (math.inf, 0.0)
    if rows >= max(_FEW_ROWS, _SURELY * error):
        return too_few
    if rows + 2.0 * error <= _STILL_FEW:
        return f"{hardly} ({_UNUSABLE})"
    return f"{hardly} ({_UNUSABLE}), or {too_few}"


def _counted(model: PrivateRegressor) -> str:
    """Return what the private number counts, in the plural."""
    return f"{model.privacy_.unit.counted}s"


def _cards(model: PrivateRegressor) -> tuple[tuple[str, str, str], ...]:
    if not model.visible_:
        return ()
    if classifies(model):
        return class_cards(model)
    missing = HIDDEN if is_linear(model) else NOT_ESTIMATED
    return (
        _card("Variance explained", "R²", model.r2_, model.r2_interval_, missing),
        _card("Typical error", "RMSE", model.rmse_, model.rmse_interval_, missing),
    )


def _card(
    head: str, short: str, value: float | None, ends: NDArray[np.float64] | None, missing: str
) -> tuple[str, str, str]:
    if value is None:
        return head, "unknown", missing
    shown, small = estimated(value, ends, f"interval {missing}")
    return head, f"{short} {shown}", small


def _regression(model: PrivateRegressor) -> tuple[Section, ...]:
    if not model.visible_:
        return ()
    return coefficient_section(model), class_fit(model) if classifies(model) else _fit(model)


def _fit(model: PrivateRegressor) -> Section:
    measures = (
        ("R², share of the target's variance explained", model.r2_, model.r2_interval_),
        ("RMSE, typical error in units of the target", model.rmse_, model.rmse_interval_),
    )
    limits = (" Predictions of ", Name(model.scaling_.names[-1]), f" {_range_in_words(model)}.")
    heading = "How well it fits"
    silent = _NO_FIT
    if is_linear(model):
        silent = (
            f"R² and the typical error are {HIDDEN}; more {_counted(model)} or a larger budget "
            "help."
        )
    if model.r2_ is None and model.rmse_ is None:
        return Section("fit", heading, (silent,), notes=(limits,), printed=(silent,))
    table = Table(
        "Measured on the training data, by a noisy release of its own",
        ("Measure", "Estimate", _INTERVAL),
        tuple((name, *estimated(value, ends)) for name, value, ends in measures),
    )
    about = about_errors(model)
    return Section(
        "fit", heading, tables=(table,), notes=((about, *limits),), printed=(table, about)
    )


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
    """Tell where the columns used were found to lie."""
    scaling = model.scaling_
    used = [*features_used(model).tolist(), model.visible_ and not classifies(model)]
    if not any(used):
        return ()
    notes, hidden = [*weights_in_words(model)], []
    if not classifies(model) and math.isfinite(model.row_norm_):
        notes.append(
            "A row is shrunk where the norm of 1 and its scaled columns is above "
            f"{number(model.row_norm_)}, in training and in predictions."
        )
    if clipped_shares(model):
        notes.append("The shares clipped are noisy, one standard error up.")
    if guesses := sum(compress(~scaling.visible, used)):
        hidden.append(
            f"{guesses} of {len(scaling.names)} columns did not stand out from the noise: the "
            f"table has too few {_counted(model)} for this budget, and their scale is a guess."
        )
    heading, source = _origin_of_scales(model)
    section = Section(
        "scales",
        heading,
        tables=(_scale_table(model, used, source),),
        notes=(*notes, *(f"* {words}" for words in hidden)),
        printed=tuple(hidden),
    )
    return (section,)


def _scale_table(model: PrivateRegressor, used: list[bool], source: str) -> Table:
    scaling, shares = model.scaling_, clipped_shares(model)
    low, high = scaling.low, scaling.high
    if shares:
        low[-1], high[-1] = target_limits(model)
        # One column for both ends: six would not fit a telephone.
        ends = zip(map(span, zip(low, high, strict=True)), shares, strict=True)
    else:
        ends = zip(map(_limit, low), map(_limit, high), strict=True)
    columns = zip(scaling.names, scaling.visible, scaling.center, scaling.scale, ends, strict=True)
    rows = tuple(
        (name if visible else f"{name} *", number(float(center)), number(float(scale)), *rest)
        for name, visible, center, scale, rest in compress(columns, used)
    )
    heads = ("Range", "Clipped, at most") if shares else ("Lower end", "Upper end")
    clipped = (
        "Values are clipped to the range"
        if math.isfinite(scaling.limit)
        else "The columns are not clipped one by one"
    )
    last = " The target is last." * used[-1]
    return Table(f"{source}. {clipped}.{last}", ("Column", "Centre", "Scale", *heads), rows)


def _origin_of_scales(model: PrivateRegressor) -> tuple[str, str]:
    if not _SEARCH.isdisjoint(event.name for event in model.privacy_.mechanisms):
        return (
            "Scales found privately",
            "No bounds were given: centre and scale come from noisy histograms",
        )
    return "Scales set beforehand", "Centre and scale were set without looking at the table"


def _limit(value: float) -> str:
    return number(float(value)) if math.isfinite(value) else "none"
