"""What the analyst makes of the two servers' answers: the objects a central release gives.

Both answers are noisy shares modulo 2^64; their sum has the noise of both servers. All of this is
post-processing. The proof is `shares.md`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nolook.algorithms.calibration_table import CalibrationTable
from nolook.algorithms.distribution import PrivateDistribution
from nolook.algorithms.roc import class_rows
from nolook.algorithms.tree_smoothing import Smoothing, smoothed_counts
from nolook.errors import NolookError, ParameterError
from nolook.estimators.calibration import HosmerLemeshow
from nolook.estimators.ecdf import ECDF, check_smoothing
from nolook.estimators.roc import ROCCurve
from nolook.federated.batch import Batch
from nolook.federated.shares import (
    group_borders,
    group_shares,
    guarantee,
    rows_epsilon,
    tree_budget,
)
from nolook.privacy.mechanisms.binary_tree import laplace_node_variance
from nolook.statistics.group_sums import GROUP_UNIT, excess_sensitivities

__all__ = [
    "Answer",
    "Ask",
    "borders",
    "calibration",
    "counts",
    "distribution",
    "places",
    "quantiles",
]

# Both servers add all the noise.
_NOISES = 2

Vector = NDArray[np.float64]
Words = NDArray[np.uint64]
#: Gives the counts up to the thresholds at some places, as :func:`counts` does.
Ask: TypeAlias = Callable[[Words], Vector]


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What one server answered.

    Parameters
    ----------
    role : {0, 1}
        Of the server.
    batch : bytes
        The digest of the batch.
    reports : bytes
        The digest of the set of reports that were counted.
    n : int
        How many these are: public.
    numbers : dict of str to ndarray of uint64
        As from :func:`nolook.federated.shares.noisy_curves` and its like.
    """

    role: int
    batch: bytes
    reports: bytes
    n: int
    numbers: dict[str, Words]


def distribution(
    batch: Batch, first: Answer, second: Answer, smoothing: Smoothing = "l2"
) -> ECDF | ROCCurve:
    """Put answers about whole curves together.

    Parameters
    ----------
    batch : Batch
        Of kind "ecdf" or "roc", with whole curves.
    first, second : Answer
        One of each server.
    smoothing : {"l2", "l1", "isotonic"} or None, default="l2"
        As for :class:`nolook.ECDF` and :class:`nolook.ROCCurve`.

    Returns
    -------
    ECDF or ROCCurve
        Fitted, as by a central release under replacement with twice the variance.

    Raises
    ------
    ParameterError
        If the batch is of another kind, or there is no such smoothing.
    NolookError
        If the answers are not two about this batch and one set of reports.
    """
    check_smoothing(smoothing)
    if batch.kind == "hosmer-lemeshow" or not batch.whole:
        raise ParameterError(
            f"{batch.name} is a batch of kind {batch.kind} and 2**{batch.levels} thresholds; "
            "expected one that is answered by a whole distribution"
        )
    if batch.kind == "ecdf":
        return _ecdf(batch, first, second, smoothing)
    if batch.grid is None:
        raise TypeError("an ROC curve has a grid, as that of all doubles is too large")
    size = 1 << batch.levels
    lengths = {"positive": size, "negative": size, "rows": 1}
    n, noisy = _joined(batch, first, second, lengths)
    rows_variance = _NOISES * laplace_node_variance(0, rows_epsilon(batch), "add-remove")
    tops = class_rows(float(noisy["rows"][0]), float(n))
    positive, negative = (
        _counted(batch, noisy[name], top, rows_variance, smoothing)
        for name, top in zip(batch.curves, tops, strict=True)
    )
    fitted = ROCCurve(batch.epsilon, batch.grid, relation="replace", smoothing=smoothing)
    _describe(fitted, batch)
    fitted._store((batch.grid, positive, negative))
    return fitted


def borders(batch: Batch, first: Answer, second: Answer, groups: int = 10) -> Words:
    """Lay groups between the quantiles of the probabilities.

    Parameters
    ----------
    batch : Batch
        Of kind "hosmer-lemeshow".
    first, second : Answer
        About whole curves, one of each server.
    groups : int, default=10
        How many are wanted; there are fewer where quantiles agree.

    Returns
    -------
    ndarray of uint64, shape (groups,)
        The places of the groups' right borders, to ask the servers for.

    Raises
    ------
    ParameterError
        If the batch is of another kind, or there is no such number of groups.
    NolookError
        If the answers are not two about this batch and one set of reports.
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
    """Put answers about groups of probabilities together, and test.

    Parameters
    ----------
    batch : Batch
        Of kind "hosmer-lemeshow".
    curves : (Answer, Answer)
        What both servers said of the whole curve.
    sums : (Answer, Answer)
        What they said of the groups.
    asked : ndarray of uint64, shape (groups,)
        The places of the groups' right borders, as from :func:`borders`.
    groups : int, default=10
        How many were wanted.

    Returns
    -------
    HosmerLemeshow
        Fitted, as by a central release under replacement with twice the variance.

    Raises
    ------
    ParameterError
        If the places are no borders of groups.
    NolookError
        If the answers are not of two servers about this batch and one set of reports.
    """
    edges = group_borders(batch, asked)
    probabilities = _probabilities(batch, *curves)
    names = ("positives", "negatives", "excess")
    n, noisy = _joined(batch, *sums, dict.fromkeys(names, len(asked)))
    if (n, sums[0].reports) != (curves[0].n, curves[0].reports):
        raise NolookError("the answers about curves and groups are of other sets; ask again")
    shares = zip(*group_shares(batch, edges), excess_sensitivities(edges).tolist(), strict=True)
    variances = _NOISES * np.array(
        [
            [laplace_node_variance(0, one, "add-remove") for one in (counted, summed / width)]
            for counted, summed, width in shares
        ]
    )
    positives, negatives, excess = (noisy[name].astype(np.float64) for name in names)
    table = CalibrationTable(
        edges,
        positives,
        negatives,
        excess / GROUP_UNIT,
        variances[:, 0],
        variances[:, 1] / GROUP_UNIT**2,
    )
    fitted = HosmerLemeshow(batch.epsilon, groups)
    _describe(fitted, batch)
    fitted._store((probabilities, table))
    return fitted


def places(batch: Batch, thresholds: ArrayLike) -> Words:
    """Return the places of the last thresholds that are not above some numbers.

    Parameters
    ----------
    batch : Batch
    thresholds : array_like, shape (m,)

    Returns
    -------
    ndarray of uint64, shape (m,)

    Raises
    ------
    ParameterError
        If a number is below all thresholds, or none.
    """
    points, wanted = batch.points(), np.asarray(thresholds, dtype=np.float64)
    if wanted.ndim != 1 or not (wanted >= points[0]).all():
        raise ParameterError(
            f"thresholds has a number below {float(points[0])!r}, the first one; expected none"
        )
    return (np.searchsorted(points, wanted, side="right") - 1).astype(np.uint64)


def counts(batch: Batch, first: Answer, second: Answer, asked: Words) -> tuple[Vector, Vector]:
    """Put answers about the counts up to some thresholds together.

    Parameters
    ----------
    batch : Batch
        Of kind "ecdf".
    first, second : Answer
        One of each server.
    asked : ndarray of uint64, shape (m,)
        The places that both were asked for.

    Returns
    -------
    counts, errors : ndarray of shape (m,)
        Of values up to each threshold, and the standard errors of the noise.

    Raises
    ------
    ParameterError
        If the batch is of another kind.
    NolookError
        If the answers are not two about this batch, one set of reports and so many places.
    """
    _check_ecdf(batch)
    n, noisy = _joined(batch, first, second, {"count": len(asked)})
    # The last threshold stands for infinity.
    known = asked == len(batch.points()) - 1
    error = _count_error(batch)
    return np.where(known, float(n), noisy["count"]), np.where(known, 0.0, error)


def quantiles(batch: Batch, n: int, shares: ArrayLike, ask: Ask) -> tuple[Vector, Vector]:
    """Search the quantiles of a distribution by halves: Algorithm 1 of the paper, for all at once.

    Parameters
    ----------
    batch : Batch
        Of kind "ecdf".
    n : int
        How many reports there are.
    shares : array_like, shape (m,)
        From 0 to 1.
    ask : callable
        From places to counts. It is called at most L times, with at most 3 m places. Counts at a
        place must be the same whenever they are asked for, as the servers' are.

    Returns
    -------
    quantiles, errors : ndarray of shape (m,)
        Thresholds up to which there is a share of at least the one wanted, and less up to the one
        before it; and half the distance of the quantiles a standard error below and above.

    Raises
    ------
    ParameterError
        If the batch is of another kind, or a share is not within 0 and 1.
    """
    _check_ecdf(batch)
    wanted = np.asarray(shares, dtype=np.float64)
    if wanted.ndim != 1 or not ((wanted >= 0.0) & (wanted <= 1.0)).all():
        raise ParameterError("shares is not within 0 and 1; expected shares (for example [0.5])")
    error, points = _count_error(batch) / n, batch.points()
    # A middle one, and those a standard error below and above.
    targets = (wanted + error * np.array([[0.0], [-1.0], [1.0]])).clip(0.0, 1.0).ravel()
    low = np.zeros(len(targets), dtype=np.uint64)
    high = np.full(len(targets), len(points) - 1, dtype=np.uint64)
    while (open_ := low < high).any():
        middle = (low[open_] + high[open_]) // np.uint64(2)
        asked, where = np.unique(middle, return_inverse=True)
        reached = (ask(asked)[where] / n).clip(0.0, 1.0) >= targets[open_]
        high[open_] = np.where(reached, middle, high[open_])
        low[open_] = np.where(reached, low[open_], middle + np.uint64(1))
    middles, below, above = points[high].reshape(3, -1)
    return middles, above / 2 - below / 2


def _ecdf(batch: Batch, first: Answer, second: Answer, smoothing: Smoothing) -> ECDF:
    n, noisy = _joined(batch, first, second, {"count": 1 << batch.levels})
    fitted = ECDF(batch.epsilon, batch.grid, relation="replace", smoothing=smoothing)
    _describe(fitted, batch)
    fitted.distribution_ = _counted(batch, noisy["count"], float(n), 0.0, smoothing)
    fitted.n_samples_ = fitted.distribution_.rows
    return fitted


def _probabilities(batch: Batch, first: Answer, second: Answer) -> PrivateDistribution:
    if batch.kind != "hosmer-lemeshow":
        raise ParameterError(f"{batch.name} is of kind {batch.kind}, which has no groups")
    n, noisy = _joined(batch, first, second, {"count": 1 << batch.levels})
    return _counted(batch, noisy["count"], float(n), 0.0, "l2")


def _counted(
    batch: Batch, noisy: NDArray[np.int64], top: float, rows_variance: float, smoothing: Smoothing
) -> PrivateDistribution:
    points, levels = batch.points(), batch.levels
    counted = smoothed_counts(noisy.astype(np.float64), top, len(points), smoothing)
    return PrivateDistribution(points, counted, top, levels, _node_variance(batch), rows_variance)


def _node_variance(batch: Batch) -> float:
    epsilon, relation = tree_budget(batch)
    return _NOISES * laplace_node_variance(batch.levels, epsilon, relation)


def _count_error(batch: Batch) -> float:
    return float(np.sqrt(_node_variance(batch) * (batch.levels + 1)))


def _describe(fitted: Any, batch: Batch) -> None:  # noqa: ANN401 -- any of three estimators
    fitted.privacy_ = guarantee(batch)
    fitted.recipe_ = batch.recipe()


def _check_ecdf(batch: Batch) -> None:
    if batch.kind != "ecdf":
        raise ParameterError(f"{batch.name} is of kind {batch.kind}; expected an ecdf")


def _joined(
    batch: Batch, first: Answer, second: Answer, lengths: dict[str, int]
) -> tuple[int, dict[str, NDArray[np.int64]]]:
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
