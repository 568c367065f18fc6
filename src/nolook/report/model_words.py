"""Words for each family of models; a new family overrides those that differ."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from attrs import evolve, frozen
from scipy.special import expit, logit

from nolook._arrays import Flags
from nolook.algorithms.glm.inference import HIDDEN_EFFECT
from nolook.algorithms.glm.steps import HIDDEN_EFFECT as HIDDEN_SLOPE
from nolook.estimators.base import PrivateModel, exponential
from nolook.estimators.result import Coefficient, Ends, Measure
from nolook.report.findings import Name, Section, Table, Text
from nolook.report.sentences import phrase, sentence
from nolook.report.wording import (
    HIDDEN,
    INTERVAL,
    NOT_ESTIMATED,
    NOT_KNOWN,
    estimated,
    number,
    percent,
    with_ends,
)
from nolook.statistics.weighted_rows import LARGEST_DEVIANCE, LARGEST_ERROR
from nolook.tables.derived import Derivation
from nolook.tables.schema import as_schema

__all__ = [
    "LARGEST_EXPONENT",
    "MEASURES",
    "WORDS",
    "LinearWords",
    "at_most",
    "logarithms",
    "measured",
    "positive_class",
    "words_of",
]

#: Beyond it, the exponential of a number is no double.
LARGEST_EXPONENT = 700.0

#: What a measure is called on a card, in short, and in a table.
MEASURES = {
    "median_error": ("Half of the errors", "at most", "Half of the errors are at most"),
    "p90_error": ("90 % of the errors", "at most", "90 % of the errors are at most"),
    "r2": ("Variance explained", "R²", "R², share of the target's variance explained"),
    "rmse": ("Root mean square error", "RMSE", "RMSE, root mean square error"),
    "base_rate": ("Base rate", "", "Base rate, share of the positive class"),
    "auc": ("Separating the classes", "AUC", "AUC, area under the ROC curve"),
    "pseudo_r2": ("Log loss explained", "pseudo-R²", "McFadden's pseudo-R²"),
    "deviance_explained": (
        "Deviance explained",
        "",
        "Share of the deviance of a constant mean that is explained",
    ),
}

_JUDGED_BY = ("median_error", "r2", "auc", "deviance_explained")  # the first that is known
_SOMETIMES = ("p90_error", "rmse")  # what only some fits have
_LOGARITHMS = "log_of", "log1p_of"
_STARRED = 0.03  # share of a column's rows that may be clipped without a word
_FAR = 10.0  # between the ends of a size of errors that is not told first


@frozen
class LinearWords:
    """Words for a model of a number: the part of a pipeline that has coefficients.

    The sentences are in `templates/sentences/model.jinja`, for all families.
    """

    model: PrivateModel

    family: ClassVar[str] = "linear"
    #: The last column of a table of coefficients.
    last_head: ClassVar[str] = "Times scale"
    #: Whether the target has a centre and a scale, in units of which errors are cut.
    scales_target: ClassVar[bool] = True
    #: A size of effects that intervals assume where noise dominates.
    usual_effect: ClassVar[float | None] = HIDDEN_EFFECT

    def sentence(self, name: str, **values: object) -> Text:
        """Return a sentence of this family about some values."""
        return sentence(f"model.{name}", family=self.family, **values)

    def phrase(self, name: str, **values: object) -> str:
        """Return such a sentence on one line."""
        return phrase(f"model.{name}", family=self.family, **values)

    @property
    def target(self) -> Name:
        """Name of the target."""
        return Name(self.model.scaling_.names[-1])

    @property
    def one(self) -> str:
        """Noun for the units counted by the private number, in the singular."""
        return self.model.privacy.unit.counted

    @property
    def estimates_errors(self) -> bool:
        """Whether the method estimates how far off its numbers are."""
        return self.model.clipped_share_ is not None

    @property
    def missing(self) -> str:
        """Return the placeholder for an unknown number."""
        # Tukey's method estimates R2, and nothing else, from moments.
        hidden = self.estimates_errors or hasattr(self.model, "n_models_")
        return HIDDEN if hidden else NOT_ESTIMATED

    @property
    def no_interval(self) -> str:
        """Return the placeholder for an unknown interval."""
        return NOT_KNOWN if self.estimates_errors else NOT_ESTIMATED

    def one_sided(self) -> tuple[Text, ...]:
        """Describe the change of effects by large errors on one side, if there are any."""
        cut = getattr(self.model, "cut_errors_", None)
        if cut is None or not cut.effect:
            return ()
        positive = cut.positive and getattr(self.model, "inverse", None) is None
        share = number(100.0 * max(cut.above, cut.below), 2)
        return (
            self.sentence(
                "one_sided_errors", target=self.target, above=cut.above > cut.below, share=share,
                effect=number(cut.effect, 2), positive=positive,
            ),
        )  # fmt: skip

    def marked(self) -> Flags:
        """Return a mask of the columns, target last, that were clipped in more than a few rows."""
        shares = self.model.clipped_share_
        return np.zeros(len(self.model.scaling_.names)) > 0 if shares is None else shares > _STARRED

    def clipped(self) -> tuple[str, ...]:
        """Report the rows clipped where it matters, in features used."""
        shares, starred = self.model.clipped_share_, self.marked()
        if shares is None:
            return ()
        found = shares[:-1][starred[:-1] & self.model.considered & ~self.model.dropped]
        most = [("column" if found.size == 1 else "columns", found.max())] if found.size else []
        return tuple(phrase("model.clipped", what=w, share=at_most(share)) for w, share in most)

    def target_clipped(self) -> tuple[str, ...]:
        """Report the rows whose target was clipped, if that may change what is said of it."""
        shares = self.model.clipped_share_
        if shares is None or not self.marked()[-1]:
            return ()
        return (phrase("model.clipped", what="target", share=at_most(shares[-1])),)

    def last_cell(self, one: Coefficient) -> str:
        """Return the number shown next to a coefficient."""
        return estimated(one.effect, one.effect_ends)[0]

    def cards(self) -> tuple[tuple[str, str, str], ...]:
        """Return the measure a model is judged by first."""
        found = []
        for one in map(_in_short, self._measures()):
            head, short, _ = MEASURES[one.name]
            head = f"{head} (training data)"
            shown, small = estimated(one.value, one.ends, f"interval {self.no_interval}")
            known = head, f"{short} {shown}".lstrip(), f"{'noise: ' * one.noise_only}{small}"
            found.append((head, "unknown", self.missing) if one.value is None else known)
        return tuple(found)

    def _measures(self) -> tuple[Measure, ...]:
        """Return the measures, without those that only some fits have."""
        return tuple(
            one
            for one in self.model.measures
            if one.value is not None or one.name not in _SOMETIMES
        )

    def fit(self) -> Section:
        """Describe the fit of a model to the training rows."""
        heading, measures, limits = "How well it fits", self._measures(), self.predictions()
        if all(one.value is None for one in measures):
            silent = phrase("model.no_fit", missing=self.missing, one=self.one)
            return Section("fit", heading, (silent,), notes=(limits,), printed=(silent,))
        rows = tuple(
            (MEASURES[one.name][2], self.missing if one.value is None else measured(one))
            for one in measures
        )
        heads = "Measure", f"Estimate ({INTERVAL})"
        table, about = Table(self.phrase("fit_caption"), heads, rows), self.about_measures()
        note = (about, " ", *((limits,) if isinstance(limits, str) else limits))
        return Section("fit", heading, tables=(table,), notes=(note,), printed=(table, about))

    def about_measures(self) -> str:
        """Say of what R2 and the typical error are."""
        return self.phrase(
            "about_measures", most=LARGEST_ERROR * float(self.model.scaling_.scale[-1]),
            scales=LARGEST_ERROR
        )  # fmt: skip

    def predictions(self) -> Text:
        """Say between which ends predictions are, if there are any."""
        inverse = getattr(self.model, "inverse", None)
        undone = {} if inverse is None else {
            "inverse": inverse, "factor": self.model.smearing_}  # fmt: skip
        return self.sentence(
            "predictions", target=self.target,
            ends=getattr(self.model, "target_range_", (0.0, 1.0)), **undone  # chances have none
        )  # fmt: skip

    def change(self, value: float, ends: Ends) -> dict[str, object]:
        """Return the difference of the target for a step of a column, of a logarithm in percent."""
        own = logarithms(self.model).get(self.model.scaling_.names[-1])
        if own is None:
            return _steps(value, ends, float)
        found = _steps(value, ends, _in_percent)
        target = f"{'1 + ' * (own.function == 'log1p_of')}", Name(own.of[0])
        return found | {"shown": f"{found['shown']} %", "target": target}

    def how_good(self) -> Text:
        """Describe the accuracy of predictions, if it is known."""
        measures = map(_in_short, self.model.measures)
        known = {one.name: one for one in measures if one.value is not None}
        best = next((known[name] for name in _JUDGED_BY if name in known), Measure("", 0.0, None))
        most, sizes = known.get("p90_error"), "median_error" in known
        one = best.value or 0.0, best.ends
        shown, between = estimated(*one, "") if sizes else percent(*one)
        return self.sentence(
            "how_good", target=self.target, one=self.one, sizes=sizes, shown=shown,
            between=f"{'noise: ' * best.noise_only}{between}", most=most and measured(most),
            missing="" if best.name else self.missing,
        )  # fmt: skip


@frozen
class RatioWords(LinearWords):
    """Words for a model whose coefficients are logarithms of ratios."""

    usual_effect: ClassVar[float | None] = None

    def last_cell(self, one: Coefficient) -> str:
        """Return the ratio for one more of a column, and its interval."""
        value, *ends = exponential(np.array([one.value, *(one.ends or ())]))
        return with_ends(value, np.array(ends))


@frozen
class LogisticWords(RatioWords):
    """Words for a model of two classes."""

    family = "logistic"
    last_head = "Odds ratio"
    scales_target = False
    usual_effect = HIDDEN_SLOPE

    def change(self, value: float, ends: Ends) -> dict[str, object]:
        """Return by how much the average chance of the positive class is higher or lower."""
        rate, *_ = self.model.measures
        base = rate.value or 0.0
        found = _steps(value, ends, lambda one: 100.0 * (expit(logit(base) + one) - base))
        found["average"] = percent(base, rate.ends)[0]
        return found | {"positive": positive_class(self.model)}


@frozen
class CountWords(RatioWords):
    """Words for a model of counts."""

    family = "count"
    last_head = "Rate ratio"

    def clipped(self) -> tuple[str, ...]:
        """Name the exposure that the mean is proportional to, if any, and the rows clipped."""
        model: Any = self.model
        if model.exposure is None:
            return super().clipped()
        low, high = model.exposure_range_
        column = Name(model.exposure)
        return phrase("model.exposure", column=column, low=low, high=high), *super().clipped()

    def about_measures(self) -> str:
        """Say of what the deviance is."""
        return self.phrase("about_measures", scales=float(LARGEST_DEVIANCE))

    def change(self, value: float, ends: Ends) -> dict[str, object]:
        """Return by how many per cent the mean is higher or lower."""
        return _steps(value, ends, _in_percent)


#: What is said of each kind of model.
WORDS = {
    "linear model": LinearWords,
    "additive model": LinearWords,
    "logistic model": LogisticWords,
    "additive logistic model": LogisticWords,
    "count model": CountWords,
    "additive count model": CountWords,
}


def logarithms(model: PrivateModel) -> dict[str, Derivation]:
    """Return the columns that are logarithms of others, or of one more than these."""
    derived = as_schema(model.read_options.get("schema")).derived.items()
    return {name: own for name, own in derived if own.function in _LOGARITHMS}


def words_of(model: PrivateModel) -> LinearWords:
    """Return the words for a model's family; for a pipeline, that of its regression."""
    return WORDS[model.regression.kind](model.regression)


def positive_class(model: Any) -> str | None:  # noqa: ANN401 -- models of numbers have none
    """Return the word for the positive class: a table's, or one that an array's type declares."""
    last = [*getattr(model, "classes_", ())][-1:]
    own = str(last[0]) if last and isinstance(last[0], str) else None
    word: str | None = model.read_options.get("positive", own)
    return word


def measured(one: Measure) -> str:
    """Return a measure with its interval, called noise if it leaves out sampling."""
    return with_ends(one.value, one.ends).replace("(", f"({'noise: ' * one.noise_only}")


def at_most(share: float) -> str:
    """Return a share rounded up, as it stands for "at most"."""
    return f"{math.ceil(100.0 * share - 1e-9)} %"


def _in_short(one: Measure) -> Measure:
    """Return a measure without its value if that is a size of errors known only very roughly."""
    if not one.name.endswith("_error") or one.ends is None:
        return one
    low, high = one.ends
    return evolve(one, value=None) if high > _FAR * (low or one.value or 0.0) else one


def _in_percent(logarithm: float) -> float:
    """Return a difference of logarithms as percent of what they are of."""
    return 100.0 * math.expm1(min(logarithm, LARGEST_EXPONENT))


def _steps(value: float, ends: Ends, scaled: Callable[[float], float]) -> dict[str, object]:
    """Return a change on another scale, without its sign, as sentences take it."""
    change = scaled(value)
    low, high = sorted(abs(scaled(end)) for end in ends)
    shown, between = estimated(abs(change), (low, high))
    return {"up": change >= 0.0, "shown": shown, "between": between, "average": None}
