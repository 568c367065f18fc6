"""The analyst's results from both servers' answers: the objects of a central release.

Both answers are noisy shares, modulo 2^64, of the counts of blocks; their sum has the noise of both
servers, twice the variance of a central release under replacement. Least squares, a public number
of rows and counts that rise follow as in `nolook.algorithms.node_counts`. All of this is
post-processing. The proof is `shares.md`.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from nolook._arrays import Integers, Vector
from nolook.algorithms.calibration_table import CalibrationTable
from nolook.algorithms.cumulative_noise import ForestNoise
from nolook.algorithms.evaluation import Calibrated, Judged
from nolook.algorithms.grids import LinearGrid, LogGrid
from nolook.algorithms.group_estimates import Groups, count_of
from nolook.algorithms.hosmer_lemeshow import quantile_borders
from nolook.algorithms.intervals import DEVIATIONS
from nolook.algorithms.margins import NoisyTable, margins
from nolook.algorithms.node_counts import NoisyForest
from nolook.algorithms.roc_curve import RocCurve
from nolook.algorithms.scaling import NoisyCount
from nolook.algorithms.tabulation import Released
from nolook.errors import NolookError, ParameterError
from nolook.estimators._scores import Scored
from nolook.estimators.calibration import HosmerLemeshow
from nolook.estimators.ecdf import ECDF
from nolook.estimators.roc import ROCCurve
from nolook.estimators.tabulated import Measured, Tabulation
from nolook.federated.batch import Batch
from nolook.federated.kinds import Kind
from nolook.federated.plausibility import refuse_impossible
from nolook.federated.shares import Answer
from nolook.privacy.guarantee import GaussianEvent
from nolook.privacy.mechanisms.gaussian import gaussian_variance
from nolook.privacy.mechanisms.laplace import laplace_variance
from nolook.statistics.cell_counts import node_counts_l2_sensitivity, node_counts_sensitivity
from nolook.tables.words import GAP, OTHERS

__all__ = ["block_variance", "calibration", "counts", "distribution"]

# Both servers add all the noise.
_NOISES = 2


def distribution(batch: Batch, first: Answer, second: Answer) -> ECDF | ROCCurve:
    """Put answers about a distribution or an ROC curve together.

    Raises a NolookError if the two do not belong together, or cannot be counts of the reports.
    """
    n, forests = _forests(batch, first, second, "ecdf", "roc")
    points = batch.points()
    privacy, read_options = batch.guarantee(), batch.read_options()
    if batch.kind == "ecdf":
        found = forests["count"].distribution(points, float(n), 0.0)
        ecdf = ECDF(batch.epsilon, batch.grid, batch.delta, "replace")
        return ecdf.keep_release((found,), privacy=privacy, read_options=read_options)
    both = forests["positive"], forests["negative"]
    known = RocCurve.of_forests(points, both, None, float(n))
    curve, scored = ROCCurve(batch.epsilon, batch.grid, relation="replace"), _scored(batch)
    released = Judged(cast("LinearGrid | LogGrid", batch.grid), known)
    return curve.keep_release(released, privacy=privacy, read_options=read_options, scored=scored)


def calibration(batch: Batch, first: Answer, second: Answer, groups: int = 10) -> HosmerLemeshow:
    """Put answers about the calibration of probabilities together.

    Groups lie between quantiles, as many as are wanted: they are chosen here, and cost nothing.
    Every row counts with the middle of its cell for its probability, off by 2^-11 at most.
    """
    test = HosmerLemeshow(batch.epsilon, groups)
    test.plan()  # checks how many
    n, forests = _forests(batch, first, second, "hosmer-lemeshow")
    positive, negative = forests["positive"], forests["negative"]
    blocks, variance = positive.blocks + negative.blocks, 2 * positive.variance
    both = NoisyForest(batch.forest, blocks, variance)
    probabilities = both.distribution(batch.points(), float(n), 0.0)
    curve = RocCurve.of_forests(batch.points(), (positive, negative), None, float(n))
    table = _calibration_table(batch, curve, quantile_borders(probabilities, groups))
    return test.keep_release(
        Calibrated(probabilities, table),
        privacy=batch.guarantee(),
        read_options=batch.read_options(),
        scored=_scored(batch),
    )


def counts(batch: Batch, first: Answer, second: Answer) -> Tabulation:
    """Put answers about the counts of a column's levels together; they add up to the reports."""
    n, forests = _forests(batch, first, second, "counts")
    noisy = forests["count"]
    read_options = batch.read_options()
    (column,), labels = read_options["features"], (*batch.labels, OTHERS, GAP)
    found = margins([NoisyTable((0,), noisy.blocks, noisy.variance)], float(n))
    deviations = DEVIATIONS["gaussian" if batch.delta else "laplace"]
    released = Released(found, {}, {}, deviations, (labels,))
    numbers = count_of(Groups.of([(), (0,)], [len(labels)]), released)
    measured = Measured("count", None, None, numbers)
    return Tabulation(
        ((column,),),
        {column: labels},
        (measured,),
        rows=NoisyCount(float(n), 0.0),
        privacy=batch.guarantee(),
        read_options=read_options,
    )


def _calibration_table(batch: Batch, curve: RocCurve, borders: Vector) -> CalibrationTable:
    """Return the sums of groups between borders, which are 0 and thresholds."""
    points = batch.points()
    ends = np.searchsorted(points, borders[1:]) + 1  # in cells
    starts = np.append(0, ends[:-1])
    middles = (np.append(0.0, points[:-1]) + points) / 2
    # Counts of cells, and what each adds to the probabilities above the group's left border.
    cells = [np.diff(one.noisy, prepend=0.0) for one in (curve.positive, curve.negative)]
    above = middles - np.repeat(borders[:-1], ends - starts)
    positives, negatives, excess = (
        np.add.reduceat(each, starts) for each in (*cells, above * (cells[0] + cells[1]))
    )
    noise = ForestNoise(batch.forest, _NOISES * block_variance(batch), 0.0)
    rows = curve.positive.noise.rows_variance
    counts = curve.positive.noise.between(starts, ends, 0.0)
    differences = np.array(
        [
            _difference_variance(noise, rows, middles, *place)
            for place in zip(starts, ends, strict=True)
        ]
    )
    # The table adds this up with that of the counts; see `shares.md`.
    left = borders[:-1]
    rest = np.maximum(differences - ((1.0 - left) ** 2 + left**2) * counts, 0.0)
    return CalibrationTable(borders, positives, negatives, excess, counts, rest)


def _difference_variance(
    noise: ForestNoise, rows_variance: float, middles: Vector, start: int, end: int
) -> float:
    """Return the variance of a group's positive rows less those that probabilities predict.

    `noise` is that of one class without its number of rows; the two numbers are off by the same, in
    opposite directions, so what is due to them adds up to a count of both.
    """
    inside = np.zeros(len(middles))
    inside[start:end] = 1.0
    total = 0.0
    for weights in ((1.0 - middles) * inside, middles * inside):
        total += noise.weighted(weights - np.append(weights[1:], 0.0), 0.0)
    forest = noise.forest
    cells = (forest.padded if end == forest.cells else end) - start
    return total + (cells / forest.padded) ** 2 * rows_variance


def _forests(
    batch: Batch, first: Answer, second: Answer, *kinds: Kind
) -> tuple[int, dict[str, NoisyForest]]:
    """Return the number of reports, and the noisy blocks of each class, if they can be."""
    if batch.kind not in kinds:
        raise ParameterError(f"{batch.name} is of kind {batch.kind}; expected {' or '.join(kinds)}")
    n, noisy = _joined(batch, first, second)
    each = block_variance(batch)
    blocks = list(noisy.values())
    rounded = batch.delta > 0
    refuse_impossible(batch.forest, blocks, float(n), _NOISES, each, rounded=rounded)
    return n, {
        name: NoisyForest(batch.forest, blocks.astype(np.float64), _NOISES * each)
        for name, blocks in noisy.items()
    }


def _joined(batch: Batch, first: Answer, second: Answer) -> tuple[int, dict[str, Integers]]:
    """Return the number of reports, and the sums of both answers as signed numbers."""
    if sorted((first.role, second.role)) != [0, 1]:
        raise NolookError(
            "the answers are not from both servers; give one of role 0 and one of role 1"
        )
    if first.batch != batch.digest or second.batch != batch.digest:
        raise NolookError(f"an answer is about another batch; expected {batch.name}")
    if (first.reports, first.n) != (second.reports, second.n) or first.n < 1:
        raise NolookError("the answers are about different sets of reports; ask again")
    shapes = dict.fromkeys(batch.classes, (batch.forest.blocks,))
    for answer in (first, second):
        if {name: one.shape for name, one in answer.numbers.items()} != shapes:
            raise NolookError("an answer has different numbers than requested; ask again")
    return first.n, {
        name: (first.numbers[name] + second.numbers[name]).view(np.int64) for name in shapes
    }


def block_variance(batch: Batch) -> float:
    """Return the variance of one server's noise of one block."""
    event = batch.event()
    changes = node_counts_sensitivity(batch.forest.levels, "replace")
    if isinstance(event, GaussianEvent):
        return gaussian_variance(node_counts_l2_sensitivity(changes), event.mu)
    return laplace_variance(changes, event.epsilon)


def _scored(batch: Batch) -> Scored:
    """Return the names of the parts of a score."""
    return Scored(*(batch.columns[:3] or (batch.name, "target", "1")))
