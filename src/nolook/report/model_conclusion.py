"""What a private regression says, in a few sentences made from estimates and their intervals.

They say what goes together, never why.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import compress
from typing import TYPE_CHECKING

from nolook.report.coefficient_findings import knows_intervals
from nolook.report.findings import Name, listed
from nolook.report.model_words import words_of
from nolook.report.reference_levels import contrasts
from nolook.report.wording import CONFIDENCE, count, number

if TYPE_CHECKING:
    from nolook.estimators.base import PrivateModel
    from nolook.estimators.result import Coefficient
    from nolook.report.findings import Text

__all__ = ["model_certainty", "model_conclusion"]

_MOST_TOLD = 3  # columns with a sentence of their own
_MOST_NAMED = 5  # columns in a list
# Of columns whose scale is between these, one unit is a step that people can picture.
_SMALL_SCALE, _LARGE_SCALE = 0.1, 1000.0


def model_conclusion(model: PrivateModel) -> tuple[Text, ...]:
    """Say what goes together with the target and how well the model predicts, if that is known."""
    part, words = model.regression, words_of(model.regression)
    if not part.detected_ or part.failed_:
        failed = part.failed_ and part.detected_
        why = "the private test of the fit failed" if failed else words.not_detected
        return (("Nothing can be said of what goes together with ", words.target, f": {why}."),)
    return (*_chosen(model, part), *_columns(part), words.how_good())


def model_certainty(model: PrivateModel) -> tuple[Text, ...]:
    """Say what the numbers in brackets are."""
    part = model.regression
    if not part.detected_ or part.failed_:
        return ("That nothing can be said is all that is sure.",)
    if not knows_intervals(part):
        words = (
            "No interval is given, so how far chance and privacy noise have moved the coefficients "
            "is not known."
            if words_of(part).estimates_errors
            else "This method does not estimate how far chance and privacy noise have moved the "
            "coefficients, so none of them should be relied on alone."
        )
        return (words,)
    words = (
        f"Brackets hold {CONFIDENCE} intervals. Those of columns cover both chance, as far as the "
        f"{part.privacy_.unit.counted}s were drawn at random, and the noise that protects; those "
        "of how well it predicts cover the noise alone. They say what goes together, not why."
    )
    return words, *words_of(part).cut


def _chosen(model: PrivateModel, part: PrivateModel) -> tuple[Text, ...]:
    """Name the columns, if only some were used."""
    chosen = part.considered
    if model.selection is None and part.chosen_ is None:
        return ()
    names = [name for name, one in zip(part.scaling_.names[:-1], chosen, strict=True) if one]
    if not names:
        return ("No column was chosen.",)
    return (("Chosen: ", *listed(names, _MOST_NAMED), "."),)


def _columns(part: PrivateModel) -> tuple[Text, ...]:
    """Say what goes with the columns that stand out most, and of which nothing can be said."""
    found = sorted(part.coefficients[:-1], key=lambda one: -abs(one.effect))
    clear = [one for one in found if one.clear]
    words = [*_told(part, clear[:_MOST_TOLD])]
    if len(clear) > _MOST_TOLD:
        words.append(f"The sign is known of {count(len(clear) - _MOST_TOLD, 'more column')}.")
    seen = {one.name for one in found}
    offered = compress(part.scaling_.names, part.considered.tolist())
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


def _told(part: PrivateModel, clear: Sequence[Coefficient]) -> tuple[Text, ...]:
    """Return a sentence for each column: how much more or less of the target goes with it."""
    compared, words = contrasts(part), words_of(part)
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
        goes_with = words.change(one.value * step, (low * step, high * step))
        first = "" if sentences else ", all other columns alike"
        sentences.append((*who, " goes with ", *goes_with, f"{first}."))
    return tuple(sentences)


def _step(scale: float) -> float:
    """Return by how much a column grows in a sentence: 1, or a power of ten near its scale."""
    if _SMALL_SCALE <= scale < _LARGE_SCALE or not 0.0 < scale < math.inf:
        return 1.0
    return float(10.0 ** math.floor(math.log10(scale)))
