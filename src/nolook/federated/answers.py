"""What the analyst makes of the two servers' answers: the objects a central release gives.

Both answers are noisy shares modulo 2^64; their sum has the noise of both servers, twice the
variance of a central release under replacement. All of this is post-processing. The proof is
`shares.md`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nolook.algorithms.calibration_table import CalibrationTable
from nolook.algorithms.count_noise import BinaryTreeNoise
from nolook.algorithms.distribution import PrivateDistribution
from nolook.algorithms.roc_curve import ClassScores
from nolook.algorithms.tree_smoothing import (
    Smoothing,
    check_tree_smoothing,
    smoothed_counts,
)
from nolook.errors import NolookError, ParameterError
from nolook.estimators._scores import Scored
from nolook.estimators.calibration import HosmerLemeshow
from nolook.estimators.ecdf import ECDF
from nolook.estimators.roc import ROCCurve
from nolook.federated.batch import Batch
from nolook.federated.plausibility import TreeNoise, bound, refuse_impossible, refuse_outside
from nolook.federated.shares import (
    group_borders,
    group_shares,
    guarantee,
    rows_epsilon,
    tree_budget,
)
from nolook.privacy.mechanisms.binary_tree import laplace_node_variance
from nolook.privacy.mechanisms.laplace import laplace_variance
from nolook.statistics.group_sums import GROUP_UNIT, excess_sensitivities

__all__ = [
    "Answer",
    "CountsAt",
    "borders",
    "calibration",
    "counts",
    "distribution",
    "joined",
    "places",
    "quantiles",
    "scored_of",
]

# Both servers add all the noise.
_NOISES = 2

Vector = NDArray[np.float64]
Integers = NDArray[np.int64]
Words = NDArray[np.uint64]
#: Gives the counts up to the thresholds at some places, as :func:`counts` does.
CountsAt: TypeAlias = Callable[[Words], Vector]


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What the server of a role answered about n reports; `batch` and `reports` are digests."""

    role: int
    batch: bytes
    reports: bytes
    n: int
    numbers: dict[str, Words]


def distribution(
    batch: Batch, first: Answer, second: Answer, smoothing: Smoothing = "l2"
) -> ECDF | ROCCurve:
    """Put answers about the whole curves of a distribution or an ROC curve together."""
    check_tree_smoothing(smoothing)
    if batch.kind == "hosmer-lemeshow" or not batch.whole:
        raise ParameterError(
            f"{batch.name} is a batch of kind {batch.kind} and 2**{batch.levels} thresholds; "
            "expected one that is answered by a whole distribution"
        )
    if batch.kind == "ecdf":
        ecdf = ECDF(batch.epsilon, batch.grid, relation="replace", smoothing=smoothing)
        released = (_whole_distribution(batch, first, second, smoothing),)
        return ecdf.keep_release(released, privacy=guarantee(batch), recipe=batch.recipe())
    if batch.grid is None:
        raise TypeError("an ROC curve has a grid, as that of all doubles is too large")
    size = 1 << batch.levels
    n, noisy = joined(batch, first, second, {"positive": size, "negative": size, "rows": 1})
    rows, variance = noisy["rows"], _count_variance(rows_epsilon(batch))
    slack = bound(_NOISES, variance, 2)
    refuse_outside(rows, 0.0, n, slack)
    positives = float(rows[0])
    _refuse_curve(batch, noisy["positive"], positives, slack)
    _refuse_curve(batch, noisy["negative"], n - positives, slack)
    curves = (
        _class_scores(
            _smoothed(batch, noisy[name], top, _NOISES * variance, smoothing), noisy[name]
        )
        for name, top in zip(batch.curves, _class_rows(positives, float(n)), strict=True)
    )
    curve = ROCCurve(batch.epsilon, batch.grid, relation="replace", smoothing=smoothing)
    found = (batch.grid, *curves)
    curve.keep_release(found, privacy=guarantee(batch), recipe=batch.recipe())
    curve.scored_ = scored_of(batch)
    return curve


def _class_scores(found: PrivateDistribution, noisy: Integers) -> ClassScores:
    """Keep the counts before any smoothing beside a distribution; its number of rows stays."""
    before = np.append(noisy[: len(found.points) - 1].astype(np.float64), found.rows)
    return ClassScores(found.points, found.counts, found.rows, found.noise, before)


def _class_rows(positive: float, rows: float) -> tuple[float, float]:
    """Return possible numbers of positive and negative rows, each at least 1."""
    within = min(max(positive, 0.0), rows)
    return max(within, 1.0), max(rows - within, 1.0)


def borders(batch: Batch, first: Answer, second: Answer, groups: int = 10) -> Words:
    """Return the places of the right borders of groups, to ask the servers for.

    They are private quantiles of the probabilities; there are fewer groups where quantiles agree.
    """
    HosmerLemeshow(batch.epsilon, groups).plan()  # checks how many
    inner = _probabilities(batch, first, second).ppf(np.arange(1, groups) / groups)
    points = batch.points()
    found = np.append(np.searchsorted(points, inner), len(points) - 1)
    return np.unique(found).astype(np.uint64)


def calibration(
    batch: Batch,
    curves: tuple[Answer, Answer],
    sums: tuple[Answer, Answer],
    asked: Words,
    groups: int = 10,
) -> HosmerLemeshow:
    """Put answers about the whole curve and about the groups at the places asked for together."""
    edges = group_borders(batch, asked)
    probabilities = _probabilities(batch, *curves)
    names = ("positives", "negatives", "excess")
    n, noisy = joined(batch, *sums, dict.fromkeys(names, len(asked)))
    if (n, sums[0].reports) != (curves[0].n, curves[0].reports):
        raise NolookError("the answers about curves and groups are of other sets; ask again")
    widths = excess_sensitivities(edges)
    counted, summed = group_shares(batch, edges)
    variances = np.array([_count_variance(one) for one in counted])
    excess_variances = np.array([_count_variance(one) for one in summed / widths])
    _refuse_groups(n, noisy, widths, variances, excess_variances)
    positives, negatives, excess = (noisy[name].astype(np.float64) for name in names)
    table = CalibrationTable(
        edges,
        positives,
        negatives,
        excess / GROUP_UNIT,
        _NOISES * variances,
        _NOISES * excess_variances / GROUP_UNIT**2,
    )
    test = HosmerLemeshow(batch.epsilon, groups).keep_release(
        (probabilities, table), privacy=guarantee(batch), recipe=batch.recipe()
    )
    test.scored_ = scored_of(batch)
    return test


def scored_of(batch: Batch) -> Scored:
    """Return what the parts of a score are called: no table has given them names."""
    return Scored(batch.name, "target", "1")


def places(batch: Batch, thresholds: ArrayLike) -> Words:
    """Return the places of the last thresholds that are not above some numbers."""
    points, wanted = batch.points(), np.asarray(thresholds, dtype=np.float64)
    if wanted.ndim != 1 or not (wanted >= points[0]).all():
        raise ParameterError(
            f"thresholds has a number below {float(points[0])!r}, the first one; expected none"
        )
    return (np.searchsorted(points, wanted, side="right") - 1).astype(np.uint64)


def counts(batch: Batch, first: Answer, second: Answer, asked: Words) -> tuple[Vector, Vector]:
    """Put answers about counts at the places asked for together; the second are standard errors."""
    _check_ecdf(batch)
    n, noisy = joined(batch, first, second, {"count": len(asked)})
    last = len(batch.points()) - 1  # stands for infinity
    refuse_impossible(noisy["count"], asked, last, n, _noise(batch))
    known = asked == last
    return np.where(known, float(n), noisy["count"]), np.where(known, 0.0, _count_error(batch))


def quantiles(
    batch: Batch, n: int, shares: ArrayLike, counts_at: CountsAt
) -> tuple[Vector, Vector]:
    """Search the quantiles of a distribution by halves: Algorithm 1 of the paper, for all at once.

    `counts_at` is called at most L times, with at most three places a share, and gives a place the
    same count each time. A quantile is a threshold that reaches its share and follows one that does
    not: noisy counts may cross it more than once. Its error is half the distance between the
    quantiles a standard error below and above.
    """
    _check_ecdf(batch)
    wanted = np.asarray(shares, dtype=np.float64)
    if wanted.ndim != 1 or not ((wanted >= 0.0) & (wanted <= 1.0)).all():
        raise ParameterError("shares is not from 0 to 1; expected shares (for example [0.5])")
    error, points = _count_error(batch) / n, batch.points()
    # A middle one, and those a standard error below and above.
    targets = (wanted + error * np.array([[0.0], [-1.0], [1.0]])).clip(0.0, 1.0).ravel()
    low = np.zeros(len(targets), dtype=np.uint64)
    high = np.full(len(targets), len(points) - 1, dtype=np.uint64)
    while (open_ := low < high).any():
        middle = (low[open_] + high[open_]) // np.uint64(2)
        asked, where = np.unique(middle, return_inverse=True)
        reached = (counts_at(asked)[where] / n).clip(0.0, 1.0) >= targets[open_]
        high[open_] = np.where(reached, middle, high[open_])
        low[open_] = np.where(reached, low[open_], middle + np.uint64(1))
    middles, below, above = points[high].reshape(3, -1)
    return middles, above / 2 - below / 2


def _probabilities(batch: Batch, first: Answer, second: Answer) -> PrivateDistribution:
    if batch.kind != "hosmer-lemeshow":
        raise ParameterError(f"{batch.name} is of kind {batch.kind}, which has no groups")
    return _whole_distribution(batch, first, second, "l2")


def _whole_distribution(
    batch: Batch, first: Answer, second: Answer, smoothing: Smoothing
) -> PrivateDistribution:
    n, noisy = joined(batch, first, second, {"count": 1 << batch.levels})
    _refuse_curve(batch, noisy["count"], float(n), 0.0)
    return _smoothed(batch, noisy["count"], float(n), 0.0, smoothing)


def _smoothed(
    batch: Batch, noisy: Integers, top: float, rows_variance: float, smoothing: Smoothing
) -> PrivateDistribution:
    points, variance = batch.points(), _NOISES * _noise(batch).variance
    counted = smoothed_counts(noisy.astype(np.float64), top, len(points), smoothing)
    noise = BinaryTreeNoise(len(points), batch.levels, variance, rows_variance)
    return PrivateDistribution(points, counted, top, noise)


def _refuse_curve(batch: Batch, noisy: Integers, rows: float, slack: float) -> None:
    last = len(batch.points()) - 1
    refuse_impossible(noisy, np.arange(len(noisy)), last, rows, _noise(batch), slack)


def _refuse_groups(
    n: int, noisy: dict[str, Integers], widths: Integers, variances: Vector, excess: Vector
) -> None:
    """Refuse groups whose rows are not n in all, or whose excess their rows do not explain."""
    groups = len(widths)
    both, noise = np.stack([noisy["positives"], noisy["negatives"]]), float(variances.max())
    slack = bound(_NOISES, noise, 4 * groups)
    refuse_outside(both, 0.0, n, slack)
    refuse_outside(both.sum(keepdims=True), n, n, bound(2 * groups * _NOISES, noise, 2))
    for i in range(groups):
        off = bound(_NOISES, excess[i], 2 * groups)
        rows = both[:, i].sum(dtype=np.float64) + 2.0 * slack
        refuse_outside(noisy["excess"][i : i + 1], 0.0, rows * float(widths[i]), off)


def _noise(batch: Batch) -> TreeNoise:
    epsilon, relation = tree_budget(batch)
    variance = laplace_node_variance(batch.levels, epsilon, relation)
    return TreeNoise(batch.levels, variance, _NOISES)


def _count_variance(epsilon: float) -> float:
    """Return the variance of one noise of a number that a row changes by 1."""
    return laplace_variance(1, epsilon)


def _count_error(batch: Batch) -> float:
    return float(np.sqrt(_NOISES * _noise(batch).variance * (batch.levels + 1)))


def _check_ecdf(batch: Batch) -> None:
    if batch.kind != "ecdf":
        raise ParameterError(f"{batch.name} is of kind {batch.kind}; expected an ecdf")


def joined(
    batch: Batch, first: Answer, second: Answer, lengths: dict[str, int]
) -> tuple[int, dict[str, Integers]]:
    """Return the number of reports, and the sums of both answers as signed numbers."""
    if sorted((first.role, second.role)) != [0, 1]:
        raise NolookError(
            "the answers are not of both servers; expected one of role 0 and one of 1"
        )
    if first.batch != batch.digest or second.batch != batch.digest:
        raise NolookError(f"an answer is about another batch; expected {batch.name}")
    if (first.reports, first.n) != (second.reports, second.n) or first.n < 1:
        raise NolookError("the answers are about different sets of reports; ask again")
    for answer in (first, second):
        if {name: one.shape for name, one in answer.numbers.items()} != {
            name: (length,) for name, length in lengths.items()
        }:
            raise NolookError("an answer has other numbers than were asked for; ask again")
    return first.n, {
        name: (first.numbers[name] + second.numbers[name]).view(np.int64) for name in lengths
    }
