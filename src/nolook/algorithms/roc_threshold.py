"""The classification of rows at a threshold, from the private counts of each class's scores."""

from __future__ import annotations

import math
from itertools import starmap

import numpy as np
from attrs import frozen

from nolook._arrays import Integers, Vector
from nolook.algorithms.intervals import NORMAL_95, Measure, ratio_interval
from nolook.algorithms.roc_curve import ClassScores, RocCurve

__all__ = ["Classified", "classified"]


# Rows of the confusion matrix in the counts of positives up to the threshold, all positives,
# and the same of negatives.
_TRUE_POSITIVES, _FALSE_NEGATIVES = np.array([-1, 1, 0, 0]), np.array([1, 0, 0, 0])
_FALSE_POSITIVES, _TRUE_NEGATIVES = np.array([0, 0, -1, 1]), np.array([0, 0, 1, 0])


@frozen
class Classified:
    """The classification of rows if those with a score above a threshold are called positive.

    Numbers of rows and rates have 95 % intervals of noise and sampling. A rate is None where the
    noise may be all of its denominator: then nothing is known of it.

    Parameters
    ----------
    threshold : float
        A threshold of the grid, or minus infinity: every row is called positive.
    true_positives, false_positives, false_negatives, true_negatives : Measure
        Numbers of rows.
    sensitivity, specificity : Measure or None
        Shares of the positive and of the negative rows that are called so.
    positive_predictive_value, negative_predictive_value : Measure or None
        Shares of the rows called positive and negative that are.
    accuracy : Measure or None
        Share of all rows that are called what they are.
    f1 : Measure or None
        Harmonic mean of sensitivity and positive predictive value.
    """

    threshold: float
    true_positives: Measure
    false_positives: Measure
    false_negatives: Measure
    true_negatives: Measure
    sensitivity: Measure | None
    specificity: Measure | None
    positive_predictive_value: Measure | None
    negative_predictive_value: Measure | None
    accuracy: Measure | None
    f1: Measure | None


def classified(curve: RocCurve, threshold: float) -> Classified:
    """Return the classification at the last threshold of the grid not above the given one."""
    inner = curve.positive.points[:-1]
    below = int(np.searchsorted(inner, threshold, side="right"))
    noise = _noise(curve, below)
    classes = curve.positive, curve.negative
    places = [below, -1]
    fitted = np.concatenate([np.append(0.0, each.counts)[places] for each in classes])
    total = noise + curve.positive.sampled * _sampling(fitted)
    released = np.concatenate([np.append(0.0, each.noisy)[places] for each in classes])

    def rows(terms: Integers) -> Measure:
        value = max(0.0, float(terms @ fitted))
        room = NORMAL_95 * math.sqrt(max(0.0, float(terms @ total @ terms)))
        return Measure(value, max(0.0, value - room), value + room)

    def ratio(above: Integers, others: Integers) -> Measure | None:
        both = above + others
        known = both @ released > NORMAL_95 * math.sqrt(max(0.0, float(both @ noise @ both)))
        if not known or both @ fitted <= 0.0:
            return None
        squares = above @ total @ above, above @ total @ both, both @ total @ both
        value = float(np.clip((above @ fitted) / (both @ fitted), 0.0, 1.0))
        return Measure.of(value, ratio_interval(above @ released, both @ released, squares))

    tp, fp, fn, tn = _TRUE_POSITIVES, _FALSE_POSITIVES, _FALSE_NEGATIVES, _TRUE_NEGATIVES
    shares = (tp, fn), (tn, fp), (tp, fp), (tn, fn), (tp + tn, fp + fn), (2 * tp, fp + fn)
    used = float(inner[below - 1]) if below else -math.inf
    return Classified(used, *map(rows, (tp, fp, fn, tn)), *starmap(ratio, shares))


def _sampling(fitted: Vector) -> Vector:
    """Return the covariance of the same counts if rows are drawn at random."""
    own, other = (np.array([[b, b], [b, rows]]) for b, rows in fitted.clip(0.0).reshape(2, 2))
    return np.block([[own, np.zeros((2, 2))], [np.zeros((2, 2)), other]])


def _noise(curve: RocCurve, place: int) -> Vector:
    """Return the covariance of both classes' counts up to a place and of all their rows."""
    parts = (_class_noise(each, place) for each in (curve.positive, curve.negative))
    (own, moved), (other, others_moved) = parts
    # One class has too many rows by as many as the other too few, spread over all its cells.
    both = -np.outer(moved, others_moved) * curve.rows_known
    return np.block([[own, both], [both.T, other]])


def _class_noise(scores: ClassScores, place: int) -> tuple[Vector, Vector]:
    """Return one class's part of it, and how far a standard deviation of all rows moves both."""
    first, last = np.array([0, 0, place]), np.array([place, len(scores.points), len(scores.points)])
    below, rows, above = scores.noise.between(first, last, 0.0).tolist()
    both = (below + rows - above) / 2
    deviation = math.sqrt(rows)
    moved = np.array([both / deviation, deviation]) if rows else np.zeros(2)
    return np.array([[below, both], [both, rows]]), moved
