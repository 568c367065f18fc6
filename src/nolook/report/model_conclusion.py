"""The conclusion of a private regression: a few sentences from estimates and their intervals.

They describe association, never causation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import compress

from nolook.estimators.base import PrivateModel
from nolook.estimators.result import Coefficient
from nolook.report.coefficient_findings import by_effect, knows_intervals
from nolook.report.curve_findings import bent_columns
from nolook.report.findings import Text
from nolook.report.model_words import logarithms, words_of
from nolook.report.reference_levels import level_labels, shared_terms, sides
from nolook.report.sentences import phrase, sentence

__all__ = ["model_certainty", "model_conclusion"]

_MOST_TOLD = 3  # columns with a sentence of their own
# Of columns whose scale is between these, one more is a step that people can picture.
_SMALL_SCALE, _LARGE_SCALE = 0.1, 10.0


def model_conclusion(model: PrivateModel) -> tuple[Text, ...]:
    """Return the conclusion: associations with the target, and accuracy if it is known."""
    part, words = model.regression, words_of(model.regression)
    if not part.detected_ or part.failed_:
        failed = part.failed_ and part.detected_
        return (words.sentence("no_association", target=words.target, failed=failed),)
    chosen: tuple[Text, ...] = ()
    if model.selection is not None or part.chosen_ is not None:
        labels, known = level_labels(model.read_options), part.considered.tolist()
        names = [labels.get(name, name) for name in compress(part.scaling_.names, known)]
        chosen = (sentence("model.chosen_columns", names=names),)
    limits = *words.target_clipped(), *words.one_sided()
    return (*chosen, *_columns(part, chosen=bool(chosen)), *limits, words.how_good())


def model_certainty(model: PrivateModel) -> tuple[Text, ...]:
    """Explain the numbers in brackets."""
    part, words = model.regression, words_of(model.regression)
    if not part.detected_ or part.failed_:
        return (phrase("model.nothing_certain"),)
    known, one = knows_intervals(part), part.privacy_.unit.counted
    certainty = words.phrase(
        "certainty", intervals=known, estimates_errors=words.estimates_errors, one=one
    )
    cut = known and words.scales_target and not words.one_sided()
    return certainty, *((phrase("model.errors_cut"),) if cut else ())


def _columns(part: PrivateModel, *, chosen: bool) -> tuple[Text, ...]:
    """Return the associations with the target: the columns with the largest effects, and others."""
    shared = shared_terms(part)
    bent = [name for name in bent_columns(part) if name not in shared]
    told = {*bent, *shared}
    found = [one for one in by_effect(part.coefficients[:-1]) if one.name not in told]
    clear = [one for one in found if one.clear]
    words = [sentence("curves.bent", names=bent, target=words_of(part).target)] if bent else []
    words += _changes(part, clear[:_MOST_TOLD])
    if more := [one.name for one in clear[_MOST_TOLD:]]:
        words.append(sentence("model.more_clear", names=more))
    words += [sentence("model.shared", names=shared)] * bool(shared)
    ends = {one.name: one.ends for one in found}
    offered = compress(part.scaling_.names, part.considered.tolist())
    unclear = [one.name for one in found if not one.clear]
    unclear += [name for name in offered if name not in {*ends, *told}]
    if unclear and not chosen:
        words.append(sentence("model.unclear", names=unclear, known=all(map(ends.get, unclear))))
    return tuple(words)


def _changes(part: PrivateModel, clear: Sequence[Coefficient]) -> Iterator[Text]:
    """Yield a sentence for each column: how much higher or lower the target is."""
    compared, words, logs = sides(part), words_of(part), logarithms(part)
    scales = dict(zip(part.scaling_.names, part.scaling_.scale.tolist(), strict=True))
    for one in clear:
        level, base = compared.get(one.name, (None, None))
        log = logs.get(one.name)
        step = 1.0 if level else math.log(2.0) if log else _step(scales[one.name])
        low, high = one.ends or (math.nan, math.nan)
        change = words.change(one.value * step, (low * step, high * step))
        yield words.sentence(
            "change", column=one.name, step=step, log=log, level=level, base=base,
            first=one is clear[0], **{"target": words.target} | change,
        )  # fmt: skip


def _step(scale: float) -> float:
    """Return by how much a column grows in a sentence: 1, or a power of ten near its scale."""
    if _SMALL_SCALE <= scale < _LARGE_SCALE or not 0.0 < scale < math.inf:
        return 1.0
    return float(10.0 ** math.floor(math.log10(scale)))
