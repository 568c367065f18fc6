"""What is said of one family of models and not of another; a new family overrides what differs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from attrs import frozen

from nolook.algorithms.glm.designs import TARGET_LIMIT
from nolook.algorithms.glm.inference import MOST_CLIPPED
from nolook.algorithms.glm.linear_inference import HIDDEN_EFFECT
from nolook.algorithms.glm.steps import HIDDEN_EFFECT as HIDDEN_SLOPE
from nolook.formats.files import one_line
from nolook.report.findings import Name, Section, Table
from nolook.report.wording import (
    CONFIDENCE,
    NOT_ESTIMATED,
    NOT_KNOWN,
    Ends,
    count,
    estimated,
    number,
    percent,
)
from nolook.statistics.weighted_rows import LARGEST_DEVIANCE, LARGEST_ERROR

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nolook.estimators.base import PrivateModel
    from nolook.estimators.result import Coefficient, Measure
    from nolook.report.findings import Text

__all__ = ["HIDDEN", "MEASURES", "LinearWords", "words_of"]

#: Stands where a number would that noise hides.
HIDDEN = "hidden by the noise"

#: What a measure is called on a card, in short, and in a table.
MEASURES = {
    "r2": ("Variance explained", "R²", "R², share of the target's variance explained"),
    "rmse": ("Typical error", "RMSE", "RMSE, typical error in units of the target"),
    "base_rate": ("Base rate", "", "Base rate, share of the positive class"),
    "auc": ("Telling the classes apart", "AUC", "AUC, area under the ROC curve"),
    "pseudo_r2": ("Log loss explained", "pseudo-R²", "McFadden's pseudo-R²"),
    "deviance_explained": (
        "Deviance explained",
        "",
        "Share of the deviance of a constant mean that is explained",
    ),
}

_STARRED = 0.03  # share of a column's rows that may be clipped without a word
_LARGEST = 700.0  # whose exponential is a double
_LEANING = (
    "The coefficients are pulled towards 0 where noise hides the answer, so the truth is more "
    "often farther from 0 than they are."
)
_NO_FIT = (
    "This method does not estimate how well the model fits. Measuring that on the table would be "
    "another release, with its own cost."
)


@frozen
class LinearWords:
    """What is said of a model of a number: the part of a pipeline that has coefficients."""

    model: PrivateModel

    #: What a coefficient changes, before the target.
    of: ClassVar[str] = ""
    #: The last column of a table of coefficients.
    beside: ClassVar[str] = "Times scale"
    #: Whether the target has a centre and a scale.
    scales_target: ClassVar[bool] = True
    #: Why nothing can be said.
    not_detected: ClassVar[str] = "its values did not stand out from the noise"
    #: What is said of all errors.
    cut: ClassVar[tuple[str, ...]] = (
        "Very large errors are cut: a mean that a few of them make up may change by more.",
    )
    _measured_by: ClassVar[str] = "a noisy release of its own"

    @property
    def target(self) -> Name:
        """What is explained."""
        return Name(self.model.scaling_.names[-1])

    @property
    def counted(self) -> str:
        """What the private number counts, in the plural."""
        return f"{self.model.privacy.unit.counted}s"

    @property
    def estimates_errors(self) -> bool:
        """Whether the method estimates how far off its numbers are."""
        return self.model.clipped_share_ is not None

    @property
    def missing(self) -> str:
        """Return what stands where a number would."""
        return HIDDEN if self.estimates_errors else NOT_ESTIMATED

    @property
    def no_interval(self) -> str:
        """Return what stands where an interval would."""
        return NOT_KNOWN if self.estimates_errors else NOT_ESTIMATED

    def chosen(self) -> tuple[str, ...]:
        """Say that columns were chosen from the release itself, if so, and what that costs."""
        if self.model.chosen_ is None:
            return ()
        words = (
            f"{len(self.model.chosen_)} of {count(len(self.model.coef_), 'column')} were chosen, "
            "from what was released anyway: after a choice by the same rows no interval would keep "
            "its promise, so none is given."
        )
        return (words,)

    def purpose(self) -> tuple[str, ...]:
        """Say what the intervals are for, and to which side the coefficients lean."""
        meaning = (
            f"The {CONFIDENCE} intervals are for the bounded-influence regression of the "
            f"population that the {self.model.privacy.unit.protected}s were drawn from: columns "
            "clipped to the ranges below, long rows with less weight, very large errors cut. Where "
            "errors to one side are often large (incomes, costs), effects on the mean are larger "
            "than that: a model of the logarithm says more. Intervals cover sampling and privacy "
            "noise. Of what noise hides they assume effects of the usual size: a standard "
            f"deviation of {HIDDEN_EFFECT:g} scales of the target for one scale of a column."
        )
        return meaning, _LEANING

    def purpose_in_short(self) -> str:
        """Say the same in a sentence."""
        return (
            f"The {CONFIDENCE} intervals are for the population's bounded-influence regression, "
            "columns clipped and very large errors cut: they cover sampling and noise, and assume "
            "effects of the usual size where noise hides them; the coefficients are pulled towards "
            "0."
        )

    def withheld(self) -> str:
        """Say why intervals are withheld."""
        if self.model.privacy.unit.max_rows > 1:
            return (
                "No intervals are given where several rows of a unit count in full: they are not "
                "independent of each other, and how alike they are is not known."
            )
        return (
            f"No interval is given where more than {100 * MOST_CLIPPED:.0f} % of the column's "
            "values seem to have been clipped, or of those that differ from its most frequent "
            "value, where the column cannot be told apart from others or from noise, or where the "
            "interval would be too wide to say anything."
        )

    def marked(self) -> NDArray[np.bool_]:
        """Tell which columns, the target last, were clipped in more than a few rows."""
        shares = self.model.clipped_share_
        return np.zeros(len(self.model.scaling_.names)) > 0 if shares is None else shares > _STARRED

    def clipped(self) -> tuple[str, ...]:
        """Say how many rows were clipped where it matters: in features used, and in the target."""
        shares, starred = self.model.clipped_share_, self.marked()
        if shares is None:
            return ()
        words = []
        used = self.model.considered & ~self.model.dropped
        found = shares[:-1][starred[:-1] & used]
        if found.size == 1:
            words.append(
                f"* Up to {_percent(found[0])} of this column's values may have been clipped: the "
                "coefficient is about the clipped column."
            )
        elif found.size:
            words.append(
                f"* Up to {_percent(found.max())} of the values may have been clipped in these "
                "columns: the coefficients are about the clipped columns."
            )
        if starred[-1]:
            words.append(
                f"Up to {_percent(shares[-1])} of the target's values may have been clipped: the "
                "model is about the clipped target."
            )
        return tuple(words)

    def clipped_shares(self) -> tuple[str, ...]:
        """Return for each column, the target last, at most which share of its rows was clipped."""
        shares = self.model.clipped_share_
        return () if shares is None else tuple(map(_percent, shares.tolist()))

    def target_limits(self) -> tuple[float, float]:
        """Return where the target was clipped in training, which is not where predictions are."""
        scaling = self.model.scaling_
        center, scale = float(scaling.center[-1]), float(scaling.scale[-1])
        return center - TARGET_LIMIT * scale, center + TARGET_LIMIT * scale

    def long_rows(self) -> tuple[str, ...]:
        """Say which rows have less weight, or are shrunk, if any can be."""
        words, norm = [], self.model.weight_norm_
        if math.isfinite(norm):
            distance = math.sqrt(max(norm**2 - 1.0, 0.0))
            words.append(
                "A row has less weight in training where its Mahalanobis distance from the centre "
                f"is above {number(distance)}: {number(norm**2)} over 1 and that distance squared."
            )
        if math.isfinite(self.model.row_norm_):
            words.append(
                "A row is shrunk where the norm of 1 and its scaled columns is above "
                f"{number(self.model.row_norm_)}, in training and in predictions."
            )
        return tuple(words)

    def last_cell(self, one: Coefficient) -> str:
        """Return what stands beside a coefficient."""
        return estimated(one.effect, one.effect_ends)[0]

    def cards(self) -> tuple[tuple[str, str, str], ...]:
        """Return what a model is judged by first."""
        return tuple(map(self._card, self.model.measures))

    def _card(self, measure: Measure) -> tuple[str, str, str]:
        head, short, _ = MEASURES[measure.name]
        if measure.value is None:
            return head, "unknown", self.missing
        shown, small = estimated(measure.value, measure.ends, f"interval {self.no_interval}")
        return head, f"{short} {shown}".lstrip(), small

    def fit(self) -> Section:
        """Say how well a model does on the training rows."""
        heading, measures, limits = "How well it fits", self.model.measures, self._predictions()
        if all(measure.value is None for measure in measures):
            silent = _NO_FIT
            if self.estimates_errors:
                silent = (
                    f"R² and the typical error are {HIDDEN}; more {self.counted} or a larger "
                    "budget help."
                )
            return Section("fit", heading, (silent,), notes=(limits,), printed=(silent,))
        rows = tuple(
            (MEASURES[name][2], self.missing, self.no_interval)
            if value is None
            else (MEASURES[name][2], *estimated(value, ends, self.no_interval))
            for name, value, ends in ((one.name, one.value, one.ends) for one in measures)
        )
        caption = f"Measured on the training data, by {self._measured_by}"
        table = Table(caption, ("Measure", "Estimate", f"{CONFIDENCE} interval"), rows)
        about = self.about_measures()
        note = (about, *limits)
        return Section("fit", heading, tables=(table,), notes=(note,), printed=(table, about))

    def about_measures(self) -> str:
        """Say of what R2 and the typical error are."""
        most = LARGEST_ERROR * float(self.model.scaling_.scale[-1])
        return (
            "The estimates are of the training data as clipped, and their intervals cover the "
            f"noise alone; an error above {LARGEST_ERROR:g} scales of the target, {number(most)}, "
            "counts as that much."
        )

    def _predictions(self) -> tuple[str, ...]:
        """Say what predictions are."""
        model: Any = self.model
        low, high = model.target_range_
        words = f"stay between {number(low)} and {number(high)}"
        if low == -math.inf:
            words = "have no limits" if high == math.inf else f"stay at or below {number(high)}"
        elif high == math.inf:
            words = f"stay at or above {number(low)}"
        return " Predictions of ", self.target, f" {words}."

    def constant(self, why: str) -> str:
        """Say that nothing stood out, and what is predicted then."""
        return (
            "There is no regression: the target did not stand out from the noise. "
            f"{why[:1].upper()}{why[1:]}. The model predicts the "
            f"same number for every row, {number(self.model.intercept_)}, a guess at where the "
            "target lies. The budget is spent in full."
        )

    def too_few(self) -> str:
        """Say why there may be too few rows."""
        return f"there are too few {self.counted} for this budget to see how it varies"

    def change(self, value: float, ends: Ends) -> tuple[str, ...]:
        """Say how much more or less of the target goes with a step of a column."""
        low, high = sorted(map(abs, ends))
        shown, between = estimated(abs(value), (low, high))
        return f"{shown} {'less' if value < 0.0 else 'more'} of ", self.target, f" ({between})"

    def how_good(self) -> Text:
        """Say how well the model predicts, if that is known."""
        _, error = self.model.measures
        if error.value is None:
            return f"How well it predicts is {self.missing}."
        shown, between = estimated(error.value, error.ends, "")
        off = f" are typically off by {shown}{_in_brackets(between)}."
        return "The model's predictions of ", self.target, off


@frozen
class RatioWords(LinearWords):
    """What is said of a model whose coefficients are logarithms of ratios."""

    not_detected = "what the columns tell of it did not stand out from the noise"
    #: Where predictions stay if nothing stood out.
    usual: ClassVar[str]

    def last_cell(self, one: Coefficient) -> str:
        """Return what a unit of a column multiplies by, and its interval if known."""
        ends = None if one.ends is None else (_exponential(one.ends[0]), _exponential(one.ends[1]))
        value, between = estimated(_exponential(one.value), ends, "")
        return f"{value}{_in_brackets(between)}"

    def constant(self, why: str) -> str:  # noqa: ARG002 -- as of others
        """Say that nothing stood out, and what is predicted then."""
        return (
            "What the columns tell of the target did not stand out from the noise. Nothing is said "
            f"of the coefficients; predictions stay near the {self.usual}. The budget is spent in "
            "full."
        )

    def too_few(self) -> str:
        """Say why there may be too few rows."""
        return f"there are too few {self.counted} for this budget, or the columns tell little of it"


@frozen
class LogisticWords(RatioWords):
    """What is said of a model of two classes."""

    of = "the log-odds of "
    beside = "Odds ratio"
    usual = "base rate"
    scales_target = False
    cut = ()
    _measured_by = "noisy counts"

    def purpose(self) -> tuple[str, ...]:
        """Say what the intervals are for, and to which side the coefficients lean."""
        meaning = (
            f"The {CONFIDENCE} intervals are for the logistic regression of the population that "
            f"the {self.model.privacy.unit.protected}s were drawn from: columns clipped to the "
            "ranges below, long rows with less weight. They cover sampling and privacy noise. Of "
            "what noise hides they assume effects of a standard deviation of about "
            f"{HIDDEN_SLOPE:g} times that of the rows' log-odds, for one scale of a column."
        )
        return meaning, _LEANING

    def purpose_in_short(self) -> str:
        """Say the same in a sentence."""
        return (
            f"The {CONFIDENCE} intervals are for the population's logistic regression, columns "
            "clipped and long rows with less weight: they cover sampling and noise, and assume "
            "effects of the usual size where noise hides them; the coefficients are pulled towards "
            "0."
        )

    def about_measures(self) -> str:
        """Say on which rows the measures are."""
        return (
            "AUC and pseudo-R² are of the data that the model was fitted to, which flatters it a "
            "little, with log-odds in 16 bins; their intervals cover the noise alone. The base "
            "rate's covers sampling too."
        )

    def _predictions(self) -> tuple[str, ...]:
        return " Predictions are the probability that ", self.target, " is positive."

    def change(self, value: float, ends: Ends) -> tuple[str, ...]:
        """Say by how much the average chance of the positive class is higher or lower."""
        rate, *_ = self.model.measures
        base = rate.value or 0.0
        changes = [100.0 * _change(base, one) for one in (value, *ends)]
        low, high = sorted(map(abs, changes[1:]))
        shown, between = estimated(abs(changes[0]), (low, high))
        average, _ = percent(base, rate.ends)
        way = "lower" if value < 0.0 else "higher"
        rest = f" that is {shown} points {way} than the average of {average} ({between})"
        return "a chance of ", self.target, rest

    def how_good(self) -> Text:
        """Say how well the model tells both classes apart, if that is known."""
        _, area, _ = self.model.measures
        if area.value is None:
            return f"How well it tells the two classes apart is {HIDDEN}."
        shown, between = percent(area.value, area.ends)
        return (
            f"Of a positive and a negative {self.model.privacy.unit.counted}, the model gives the "
            f"positive one the higher chance in {shown} of cases{_in_brackets(between)}; guessing "
            "would in 50 %."
        )


@frozen
class CountWords(RatioWords):
    """What is said of a model of counts."""

    of = "the logarithm of the mean of "
    beside = "Rate ratio"
    usual = "mean"

    def purpose(self) -> tuple[str, ...]:
        """Say what the intervals are for, and to which side the coefficients lean."""
        meaning = (
            f"The {CONFIDENCE} intervals are for the regression of the mean in the population that "
            f"the {self.model.privacy.unit.protected}s were drawn from: columns clipped to the "
            "ranges below, long rows with less weight, very large errors cut. They cover sampling, "
            "however the target varies about its mean, and privacy noise."
        )
        return meaning, _LEANING

    def purpose_in_short(self) -> str:
        """Say the same in a sentence."""
        return (
            f"The {CONFIDENCE} intervals are for the population's regression of the mean, columns "
            "clipped and very large errors cut: they cover sampling and noise; the coefficients "
            "are pulled towards 0."
        )

    def clipped(self) -> tuple[str, ...]:
        """Say what the mean is in proportion to, if to anything, and how many rows were clipped."""
        model: Any = self.model
        if model.exposure is None:
            return super().clipped()
        name, (low, high) = one_line(model.exposure), model.exposure_range_
        exposed = (
            f"The mean is in proportion to {name}, clipped to {number(low)} to {number(high)}."
        )
        if low == high:
            exposed = f"{name} did not stand out from the noise: every exposure counts as 1."
        return exposed, *super().clipped()

    def about_measures(self) -> str:
        """Say of what the deviance is."""
        return (
            "The estimate is of the training data as clipped, and its interval covers the noise "
            f"alone; a deviance above {LARGEST_DEVIANCE} squared scales of the target counts as "
            "that much."
        )

    def change(self, value: float, ends: Ends) -> tuple[str, ...]:
        """Say by how many per cent the mean is higher or lower."""
        changes = [100.0 * math.expm1(min(one, _LARGEST)) for one in (value, *ends)]
        low, high = sorted(map(abs, changes[1:]))
        shown, between = estimated(abs(changes[0]), (low, high))
        way = "lower" if value < 0.0 else "higher"
        return "a mean of ", self.target, f" that is {shown} % {way} ({between})"

    def how_good(self) -> Text:
        """Say how much of the deviance the model explains, if that is known."""
        (explained,) = self.model.measures
        if explained.value is None:
            return f"How well it predicts is {HIDDEN}."
        shown, between = percent(explained.value, explained.ends)
        return (
            f"The model accounts for {shown} of how ", self.target,
            f" deviates from its mean{_in_brackets(between)}.",
        )  # fmt: skip


_WORDS = {
    "linear model": LinearWords,
    "logistic model": LogisticWords,
    "count model": CountWords,
}


def words_of(model: PrivateModel) -> LinearWords:
    """Return what is said of a model's family; of a pipeline's, that of its regression."""
    return _WORDS[model.regression.kind](model.regression)


def _percent(share: float) -> str:
    """Return a share rounded up, as it stands for "at most"."""
    return f"{math.ceil(100.0 * share - 1e-9)} %"


def _in_brackets(text: str) -> str:
    return f" ({text})" if text else ""


def _exponential(log_odds: float) -> float:
    return math.exp(min(log_odds, _LARGEST))


def _change(base: float, log_odds: float) -> float:
    """Return by how much a chance grows with its log-odds."""
    if not 0.0 < base < 1.0:
        return 0.0
    odds = math.exp(min(max(math.log(base / (1.0 - base)) + log_odds, -700.0), 700.0))
    return odds / (1.0 + odds) - base
