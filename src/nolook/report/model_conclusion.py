"""What a private regression says, in a few sentences made from estimates and their intervals.

They say what goes together, never why.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any

from nolook.estimators.pipeline import regression_of, selection_of
from nolook.report.coefficient_findings import coefficients, knows_intervals
from nolook.report.findings import Name, listed
from nolook.report.linear_words import HIDDEN, chosen_of, is_linear
from nolook.report.logistic_words import classifies
from nolook.report.reference_levels import contrasts
from nolook.report.wording import CONFIDENCE, NOT_ESTIMATED, Ends, count, estimated, number, percent

if TYPE_CHECKING:
    from nolook.estimators.base import PrivateRegressor
    from nolook.report.coefficient_findings import Coefficient
    from nolook.report.findings import Text

__all__ = ["model_certainty", "model_conclusion"]

_MOST_TOLD = 3  # columns with a sentence of their own
_MOST_NAMED = 5  # columns in a list
# Of columns whose scale is between these, one unit is a step that people can picture.
_SMALL_SCALE, _LARGE_SCALE = 0.1, 1000.0


def model_conclusion(model: PrivateRegressor) -> tuple[Text, ...]:
    """Say what goes together with the target and how well the model predicts, if that is known."""
    part = regression_of(model)
    target = Name(part.scaling_.names[-1])
    if not part.visible_ or part.failed_:
        why = "its values did not stand out from the noise"
        if part.failed_ and part.visible_:
            why = "the private test of the fit failed"
        elif classifies(part):
            why = "what the columns tell of it did not stand out from the noise"
        return (("Nothing can be said of what goes together with ", target, f": {why}."),)
    return (*_chosen(model, part), *_columns(part), *_fit(part))


def model_certainty(model: PrivateRegressor) -> tuple[Text, ...]:
    """Say what the numbers in brackets are."""
    part = regression_of(model)
    if not part.visible_ or part.failed_:
        return ("That nothing can be said is all that is sure.",)
    if not knows_intervals(part):
        words = (
            "No interval is given, so how far chance and privacy noise have moved the coefficients "
            "is not known."
            if is_linear(part) or classifies(part)
            else "This method does not estimate how far chance and privacy noise have moved the "
            "coefficients, so none of them should be relied on alone."
        )
        return (words,)
    words = (
        f"Brackets hold {CONFIDENCE} intervals. Those of columns cover both chance, as far as the "
        f"{part.privacy_.unit.counted}s were drawn at random, and the noise that protects; those "
        "of how well it predicts cover the noise alone. They say what goes together, not why."
    )
    if not classifies(part):
        cut = "Very large errors are cut: a mean that a few of them make up may change by more."
        return words, cut
    return (words,)


def _chosen(model: PrivateRegressor, part: PrivateRegressor) -> tuple[Text, ...]:
    """Name the columns, if only some were used."""
    chosen = chosen_of(part)
    if selection_of(model) is None and chosen.all():
        return ()
    names = [name for name, one in zip(part.scaling_.names[:-1], chosen, strict=True) if one]
    if not names:
        return ("No column was chosen.",)
    return (("Chosen: ", *listed(names, _MOST_NAMED), "."),)


def _columns(part: PrivateRegressor) -> tuple[Text, ...]:
    """Say what goes with the columns that stand out most, and of which nothing can be said."""
    found = sorted(coefficients(part), key=lambda one: -abs(one.effect))
    clear = [one for one in found if one.clear]
    words = [*_told(part, clear[:_MOST_TOLD])]
    if len(clear) > _MOST_TOLD:
        words.append(f"The sign is known of {count(len(clear) - _MOST_TOLD, 'more column')}.")
    seen = {one.name for one in found}
    offered = compress(part.scaling_.names, chosen_of(part).tolist())
    unclear = [one.name for one in found if not one.clear]
    unclear += [name for name in offered if name not in seen]
    if unclear:
        said = "Nothing can be said of how "
        if not knows_intervals(part):
            said = "Nothing can be said for sure of how "
        verb = " goes together with " if len(unclear) == 1 else " go together with "
        target = Name(part.scaling_.names[-1])
        words.append((said, *listed(unclear, _MOST_NAMED), verb, target, "."))
    return tuple(words)


def _told(part: PrivateRegressor, clear: Sequence[Coefficient]) -> tuple[Text, ...]:
    """Return a sentence for each column: how much more or less of the target goes with it."""
    compared, say = contrasts(part), _points if classifies(part) else _more_or_less
    scales = dict(zip(part.scaling_.names, part.scaling_.scale.tolist(), strict=True))
    sentences: list[Text] = []
    for one in clear:
        step, level = 1.0, compared.get(one.name)
        who: tuple[str, ...] = (Name(f"{level},"),)
        if level is None:
            step = _step(scales[one.name])
            by = "unit" if step == 1.0 else number(step)
            who = (f"Each {by} more of ", Name(one.name))
        low, high = one.ends or (math.nan, math.nan)
        goes_with = say(part, one.value * step, (low * step, high * step))
        first = "" if sentences else ", all other columns alike"
        sentences.append((*who, " goes with ", *goes_with, f"{first}."))
    return tuple(sentences)


def _step(scale: float) -> float:
    """Return by how much a column grows in a sentence: 1, or a power of ten near its scale."""
    if _SMALL_SCALE <= scale < _LARGE_SCALE or not 0.0 < scale < math.inf:
        return 1.0
    return float(10.0 ** math.floor(math.log10(scale)))


def _more_or_less(part: PrivateRegressor, value: float, ends: Ends) -> tuple[str, ...]:
    """Say how much more or less of the target it is, and the interval."""
    low, high = sorted(map(abs, ends))
    shown, between = estimated(abs(value), (low, high))
    target = Name(part.scaling_.names[-1])
    return f"{shown} {'less' if value < 0.0 else 'more'} of ", target, f" ({between})"


def _points(part: Any, value: float, ends: Ends) -> tuple[str, ...]:  # noqa: ANN401 -- a classifier
    """Say by how much the average chance of the positive class is higher or lower."""
    base = part.base_rate_
    changes = [100.0 * _change(base, one) for one in (value, *ends)]
    low, high = sorted(map(abs, changes[1:]))
    shown, between = estimated(abs(changes[0]), (low, high))
    average, _ = percent(base, part.base_rate_interval_)
    way = "lower" if value < 0.0 else "higher"
    target = Name(part.scaling_.names[-1])
    return (
        "a chance of ",
        target,
        f" that is {shown} points {way} than the average of {average} ({between})",
    )


def _change(base: float, log_odds: float) -> float:
    """Return by how much a chance grows with its log-odds."""
    if not 0.0 < base < 1.0:
        return 0.0
    odds = math.exp(min(max(math.log(base / (1.0 - base)) + log_odds, -700.0), 700.0))
    return odds / (1.0 + odds) - base


def _fit(part: PrivateRegressor) -> tuple[Text, ...]:
    """Say how well the model predicts, if that is known."""
    target = Name(part.scaling_.names[-1])
    if classifies(part):
        auc: float | None = getattr(part, "auc_", None)
        if auc is None:
            return (f"How well it tells the two classes apart is {HIDDEN}.",)
        shown, between = percent(auc, getattr(part, "auc_interval_", None))
        one = part.privacy_.unit.counted
        words = (
            f"Of a positive and a negative {one}, the model gives the positive one the higher "
            f"chance in {shown} of cases{_in_brackets(between)}; guessing would in 50 %."
        )
        return (words,)
    if part.rmse_ is None:
        return (f"How well it predicts is {HIDDEN if is_linear(part) else NOT_ESTIMATED}.",)
    shown, between = estimated(part.rmse_, part.rmse_interval_, "")
    return (
        (
            "The model's predictions of ",
            target,
            f" are typically off by {shown}{_in_brackets(between)}.",
        ),
    )


def _in_brackets(text: str) -> str:
    return f" ({text})" if text else ""
