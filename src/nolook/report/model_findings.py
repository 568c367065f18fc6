"""Reports of a private regression, perhaps of columns chosen privately."""

from __future__ import annotations

import math
from itertools import compress

import numpy as np

from nolook.algorithms.glm.designs import TARGET_LIMIT
from nolook.estimators.base import PrivateModel
from nolook.estimators.catalogue import called
from nolook.report.coefficient_findings import coefficient_section
from nolook.report.curve_findings import curve_sections
from nolook.report.findings import Findings, Section, Table, columns_read, findings_of
from nolook.report.model_conclusion import model_certainty, model_conclusion
from nolook.report.model_words import at_most, positive_class, words_of
from nolook.report.reference_levels import unseen_words
from nolook.report.scale_findings import SCALE_HEADS, scale_rows
from nolook.report.selection_findings import (
    explanation_of,
    hardly_any,
    parameters_of,
    selection_section,
    selection_settings,
)
from nolook.report.sentences import phrase, sentence
from nolook.report.wording import number
from nolook.tables.formula import formula_of

__all__ = ["constant_in_words", "model_findings", "why_not_visible"]

_STILL_FEW = 200  # rows that may be there even where hardly any seem to be


def model_findings(model: PrivateModel) -> Findings:
    """Return the findings of a fitted model."""
    selector, part = model.selection, model.regression
    target = part.scaling_.names[-1]
    before = () if selector is None else (selection_section(selector),)
    by, offered = None if part.chosen_ is None else "release", len(part.coef_)
    if selector is not None:
        by, offered = "selector", selector.n_features_in_
    used = phrase("model.used", offered=offered, chosen=int(part.considered.sum()), by=by)
    words = explanation_of(part)
    regression: tuple[Section, ...] = ()
    if part.detected_:
        shown = coefficient_section(part, selected=selector is not None)
        regression = *curve_sections(part), shown, words_of(part).fit()
    after = (Section("method", "The method", words, printed=()),) if words else ()
    return findings_of(
        part,
        target,
        kind="model",
        what=f"{part.kind} of",
        of=target,
        guarantee=model.privacy,
        parts=model.parts,
        columns=columns_read(model.read_options),
        cards=words_of(part).cards() if part.detected_ else (),
        sections=(*before, *regression, *_scales(part), *after),
        settings=(
            ("Model", formula_of(target, model.read_options)),
            ("Target", target),
            ("Positive class", positive_class(model)),
            ("Columns", ", ".join(part.scaling_.names[:-1])),
            ("Method", called(part)),
            parameters_of(part, "Parameters of the method"),
            *(() if selector is None else selection_settings(selector)),
        ),
        question=sentence("questions.model", target=target, used=used),
        conclusion=model_conclusion(model),
        certainty=model_certainty(model),
        cautions=(
            *unseen_words(part, target, getattr(part, "base_rate_interval_", None)),
            *constant_in_words(part),
            *_following(part),
        ),
    )


def constant_in_words(model: PrivateModel) -> tuple[str, ...]:
    """Say that a model is only a constant, if it is, and why."""
    if not model.detected_:
        return (words_of(model).phrase("constant", why=why_not_visible(model)),)
    if not model.failed_:
        return ()
    return (phrase("model.failed", one=words_of(model).one),)


@np.errstate(all="ignore")  # numbers of a damaged file
def _following(model: PrivateModel) -> tuple[str, ...]:
    """Name the columns that follow from others, as far as the released moments tell."""
    spread, scaling = getattr(model, "spread_", None), model.scaling_
    if spread is None or not model.detected_:
        return ()
    return tuple(
        phrase(
            "model.follows",
            column=scaling.names[place],
            other="" if other is None else scaling.names[other],
            slope=number(float(slope * scaling.scale[place] / scaling.scale[other or 0]), 2),
            share=f"{math.floor(100.0 * share)} %",
        )
        for place, other, slope, share in spread.followers()
    )


def why_not_visible(model: PrivateModel) -> str:
    """Say why the target did not stand out from the noise, as far as the private count tells."""
    words, rows = words_of(model), model.rows
    unusable = hardly_any(rows)
    too_few = not (rows and unusable) or rows.value + 2.0 * rows.error > _STILL_FEW
    return words.phrase("why_not_visible", one=words.one, unusable=unusable, too_few=too_few)


def _scales(model: PrivateModel) -> tuple[Section, ...]:
    """Return the table of the released centres and scales of the columns used."""
    scaling, words = model.scaling_, words_of(model)
    if model.failed_ or not model.detected_ or math.isinf(scaling.limit):
        return ()
    used = [*(model.considered & ~model.dropped).tolist(), words.scales_target]
    if not any(used):
        return ()
    notes, norm = [], model.weight_norm_
    if math.isfinite(norm):
        distance = math.sqrt(max(norm**2 - 1.0, 0.0))
        notes.append(phrase("model.less_weight", distance=distance, numerator=norm**2))
    if math.isfinite(model.row_norm_):
        notes.append(phrase("model.shrunk_rows", norm=model.row_norm_))
    if words.estimates_errors:
        notes.append(phrase("model.clipped_shares"))
    guesses, tables = int(sum(compress(~scaling.detected, used))), (_scale_table(model, used),)
    about = {"guesses": guesses, "columns": len(used), "one": words.one}
    hidden = (phrase("model.guessed_scales", **about),) * bool(guesses)
    notes += [f"* {words}" for words in hidden]
    return (
        Section(
            "scales", "Scales found privately", tables=tables, notes=tuple(notes), printed=hidden
        ),
    )


def _scale_table(model: PrivateModel, used: list[bool]) -> Table:
    scaling, shares = model.scaling_, model.clipped_share_
    low, high = scaling.low, scaling.high
    if shares is not None:
        room = TARGET_LIMIT * scaling.scale[-1]
        low[-1], high[-1] = scaling.center[-1] - room, scaling.center[-1] + room
    numbers = scaling.center, scaling.scale, low, high
    rows, heads = [*scale_rows(scaling.names, scaling.detected, *numbers)], SCALE_HEADS
    if shares is not None:
        rows = [(*row, at_most(share)) for row, share in zip(rows, shares.tolist(), strict=True)]
        heads = (*heads, "Clipped, at most")
    caption = phrase("model.scales_caption", target_last=used[-1])
    return Table(caption, heads, tuple(compress(rows, used)))
