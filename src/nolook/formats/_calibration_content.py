"""What a file says of a calibration: what was released, and what follows from it."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from attrs import asdict
from msgspec import Meta

from nolook.algorithms.calibration_table import CalibrationTable
from nolook.estimators.calibration import MOST_GROUPS, HosmerLemeshow
from nolook.formats._model_content import finite
from nolook.formats._steps import Counted, counted_content
from nolook.formats.strict import Broken, Content
from nolook.privacy.guarantee import PrivacyGuarantee

__all__ = ["Calibration", "calibration_content", "label_content"]

_TABLE = (
    "borders",
    "positives",
    "negatives",
    "expected_positives",
    "expected_negatives",
    "observed_error",
    "expected_positives_error",
    "expected_negatives_error",
)
_SUMS = ("excess", "count_variance", "excess_variance")

_Variances = list[Annotated[float, Meta(ge=0)]]


class _Sums(Content, frozen=True):
    """What was released of each group besides the numbers of rows, and how noisy all are."""

    excess: list[float]
    count_variance: _Variances
    excess_variance: _Variances


class _Probabilities(Content, frozen=True):
    """The private distribution of the probabilities; a threshold of null is infinite."""

    thresholds: list[float | None]
    counted: Counted


class Calibration(Content, frozen=True):
    """A calibration. The p-value was simulated once, and is kept; all else must follow."""

    groups: Annotated[int, Meta(ge=1, le=MOST_GROUPS)]
    pos_label: float | str
    probabilities: _Probabilities
    sums: _Sums
    statistic: float
    p_value: Annotated[float, Meta(ge=0, le=1)] | None
    degrees_of_freedom: int
    table: dict[str, list[float]]
    curve: dict[str, list[float]]

    def estimator(self, privacy: PrivacyGuarantee, recipe: dict[str, Any]) -> HosmerLemeshow:
        """Return the fitted test."""
        points = np.array([np.inf if t is None else t for t in self.probabilities.thresholds])
        if len(points) < 2 or not (np.diff(points) > 0).all():
            raise Broken("expected thresholds that increase")
        test = HosmerLemeshow(privacy.epsilon, self.groups, self.pos_label)
        released = self.probabilities.counted.distribution(points), self._table()
        test.keep_release(released, privacy=privacy, recipe=recipe)
        if test.p_value_ is not None:
            test.p_value_ = self.p_value
        return test

    def _table(self) -> CalibrationTable:
        sums = self.sums
        names = ("borders", "positives", "negatives")
        numbers = [self.table.get(name, []) for name in names]
        numbers += [sums.excess, sums.count_variance, sums.excess_variance]
        borders, *others = map(np.array, numbers)
        if any(len(each) != len(borders) - 1 for each in others) or not others[0].size:
            raise Broken("expected a number of each kind for each group")
        if borders[0] != 0.0 or borders[-1] != 1.0 or (np.diff(borders) <= 0).any():
            raise Broken("expected borders that increase from 0 to 1")
        return CalibrationTable(borders, *others)


def calibration_content(test: HosmerLemeshow) -> dict[str, Any]:
    """Return what a file says of a calibration."""
    found = test.distribution_
    return {
        "groups": test.groups,
        "pos_label": label_content(test.pos_label),
        "probabilities": {
            "thresholds": [finite(point) for point in found.points],
            "counted": counted_content(found),
        },
        "sums": {name: getattr(test.table_, name) for name in _SUMS},
        "statistic": test.statistic_,
        "p_value": test.p_value_,
        "degrees_of_freedom": test.degrees_of_freedom_,
        "table": {name: getattr(test.table_, name) for name in _TABLE},
        "curve": asdict(test.calibration_curve()),
    }


def label_content(label: float | str) -> float | str:
    """Return the value of the positive class: whole numbers and truth values are numbers."""
    return label if isinstance(label, str) else float(label)
