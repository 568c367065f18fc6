"""Sums that cannot be are refused; what the noise explains is not."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from nolook.federated.secure_sum import InProcessSum
from nolook.federated.summed_ecdf import PointwiseCounts, SummedQuery, release_summed_ecdf
from scipy.stats import nbinom
from tests.federated.roles import CALIBRATION, ECDF, ROC, answered

from nolook.algorithms.grids import LinearGrid
from nolook.errors import NolookError
from nolook.federated import answers, shares
from nolook.federated.plausibility import TreeNoise, bound, refuse_impossible
from nolook.privacy.noise import SeededSource

ROWS = 10_000
#: More than the noise explains, less than ROWS.
FAR = 4_000


@pytest.mark.parametrize("scale", [0.3, 5.0, 40.0])
@pytest.mark.parametrize("noises", [1, 2, 34])
@pytest.mark.parametrize("sums", [1, 2**17])
def test_a_bound_is_exceeded_as_rarely_as_promised_and_is_not_much_too_wide(scale, noises, sums):
    # The sum of k discrete Laplace numbers is the difference of two negative binomial ones.
    ratio = math.exp(-1 / scale)
    found = bound(noises, 2 * ratio / (1 - ratio) ** 2, sums)
    heads = np.arange(int(60 * scale * math.sqrt(noises) + 80 * scale) + 200)
    mass = nbinom.pmf(heads, noises, 1 - ratio)

    def chance(least):
        return sums * mass @ nbinom.sf(heads + math.ceil(least) - 1, noises, 1 - ratio)

    assert chance(found) <= 2.0**-42
    assert chance(0.8 * found) > 2.0**-42


def test_without_noise_nothing_is_explained():
    assert bound(34, 0.0, 100) == 0.0
    places, noise = np.arange(4), TreeNoise(2, 0.0, 2)
    refuse_impossible(np.array([0, 1, 1, 3]), places, 3, 3, noise)
    for counts in ([-1, 1, 1, 3], [0, 1, 1, 4], [0, 1, 1, 2], [0, 1, 0, 3], [0, 4, 3, 3]):
        with pytest.raises(NolookError, match="the sums cannot be"):
            refuse_impossible(np.array(counts), places, 3, 3, noise)


def halved(counts):
    half = np.random.default_rng(0).integers(0, 2**64, np.shape(counts), dtype=np.uint64)
    return half, np.asarray(counts).astype(np.int64).view(np.uint64) - half


def curve(low=0, middle=ROWS // 2, high=ROWS, size=64):
    """Return counts that are low, then in the middle, and at the last threshold high."""
    return [low] + [middle] * (size - 2) + [high]


def released(batch, counts, changes=()):
    """Return what an analyst makes of exact counts, after a server changed its answer."""
    pair = answered(batch, shares.noisy_curves, halved(counts), n=ROWS)
    return answers.distribution(batch, *changed(pair, changes))


def changed(pair, changes):
    first = dict(pair[0].numbers)
    for name, place, by in changes:
        first[name] = moved(first[name], place, by)
    return replace(pair[0], numbers=first), pair[1]


def moved(numbers, place, by):
    """Return numbers modulo 2^64, some of them changed by something."""
    change = np.zeros(len(numbers), dtype=np.int64)
    change[place] = by
    return numbers + change.view(np.uint64)


WRONG_CURVES = {
    "last count above n": [("count", -1, FAR)],
    "last count below n": [("count", -1, -FAR)],
    "below 0": [("count", 0, -FAR)],
    "above n": [("count", slice(30, None), 2 * FAR)],
    "far above n": [("count", 5, 2**63 - 1)],
    "a fall": [("count", 20, -FAR)],
    "a fall from afar": [("count", slice(40, -1), -FAR)],
}


@pytest.mark.parametrize("changes", WRONG_CURVES.values(), ids=WRONG_CURVES)
def test_a_distribution_that_cannot_be_is_refused(changes):
    assert released(ECDF, [curve()], [("count", 20, -1)]).n_rows_ == ROWS
    with pytest.raises(NolookError, match="the sums cannot be") as caught:
        released(ECDF, [curve()], changes)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("changes", WRONG_CURVES.values(), ids=WRONG_CURVES)
def test_counts_asked_for_that_cannot_be_are_refused(changes):
    places = np.arange(64, dtype=np.uint64)[::-1].copy()
    pair = answered(
        ECDF,
        lambda batch, own, key: shares.noisy_points(batch, own[:, ::-1], places, key),
        halved([curve()]),
        n=ROWS,
    )
    backwards = [
        (name, slice(None) if isinstance(place, slice) else -1 - place, by)
        for name, place, by in changes
    ]
    answers.counts(ECDF, *pair, places)
    with pytest.raises(NolookError, match="the sums cannot be"):
        answers.counts(ECDF, *changed(pair, backwards), places)


@pytest.mark.parametrize(
    "changes",
    [
        [("rows", 0, -2 * FAR)],
        [("rows", 0, 2 * FAR)],
        [("rows", 0, -FAR // 2)],  # the curves end elsewhere
        [("positive", -1, FAR // 2)],
        [("negative", -1, -FAR // 2)],
        [("positive", slice(None), -FAR)],
        [("negative", 30, -FAR // 2)],
    ],
)
def test_a_roc_curve_that_cannot_be_is_refused(changes):
    counts = [curve(0, 2000, 4000), curve(0, 5000, 6000)]
    assert abs(released(ROC, counts).n_positive_ - 4000) < 200
    with pytest.raises(NolookError, match="the sums cannot be"):
        released(ROC, counts, changes)


@pytest.mark.parametrize(
    "changes",
    [
        [("positives", 0, -FAR)],
        [("positives", 0, FAR)],  # more than n in all
        [("negatives", 2, -FAR // 2)],
        [("negatives", 0, FAR), ("positives", 1, -FAR)],
        [("excess", 1, -(2**40))],
        [("excess", 0, 2**40)],
    ],
)
def test_groups_that_cannot_be_are_refused(changes):
    counts = np.zeros((3, 1024), dtype=np.int64)
    counts[:2] = np.linspace(3, ROWS // 2, 1024).astype(int)
    counts[2] = np.cumsum(np.diff(counts[0] + counts[1], prepend=0) * np.arange(1, 1025)) << 20
    pair = halved(counts)
    places = np.array([200, 600, 1023], dtype=np.uint64)
    curves = answered(CALIBRATION, shares.noisy_curves, pair, n=ROWS)
    sums = answered(
        CALIBRATION,
        lambda batch, own, key: shares.noisy_groups(batch, own, places, key),
        pair,
        n=ROWS,
    )
    table = answers.calibration(CALIBRATION, curves, sums, places).table_
    assert np.allclose(table.counts.sum(), ROWS, atol=300)
    with pytest.raises(NolookError, match="the sums cannot be"):
        answers.calibration(CALIBRATION, curves, changed(sums, changes), places)
    with pytest.raises(NolookError, match="the sums cannot be"):
        answers.borders(CALIBRATION, *changed(curves, [("count", -1, -FAR)]))


class Lying:
    """A sum that is off by something at one place."""

    def __init__(self, place, by):
        self.place, self.by = place, by

    def sum(self, vectors, needed=0):
        total = InProcessSum().sum(vectors, needed)
        return total._replace(numbers=moved(total.numbers, self.place, self.by))


GRID = LinearGrid(1.0, 64.0, 1.0)
OWNERS = [np.full(ROWS // 2, 10.0), np.full(ROWS // 2, 50.0)]


@pytest.mark.parametrize("noise", ["aggregator", "owners"])
@pytest.mark.parametrize(
    ("place", "by"),
    [
        *[(0, -FAR), (30, FAR), (30, -FAR), (62, 2 * FAR)],
        *[(63, -FAR), (64, 2 * FAR), (64, -FAR), (64, -(2**63))],
    ],
)
def test_a_secure_sum_that_cannot_be_is_refused(noise, place, by):
    query, source = SummedQuery(GRID, 1.0, noise), SeededSource(0)
    release_summed_ecdf(OWNERS, query, Lying(place, 1), "l2", source)
    with pytest.raises(NolookError, match="the sums cannot be"):
        release_summed_ecdf(OWNERS, query, Lying(place, by), "l2", source)


@pytest.mark.parametrize("noise", ["aggregator", "owners"])
@pytest.mark.parametrize("by", [-2 * FAR, 2 * FAR, -FAR])
def test_a_count_asked_for_alone_that_cannot_be_is_refused(noise, by):
    class LyingLater(InProcessSum):
        by = 0

        def sum(self, vectors, needed=0):
            total = super().sum(vectors, needed)
            return total._replace(numbers=moved(total.numbers, 0, self.by))

    inner = LyingLater()
    counts = PointwiseCounts(OWNERS, SummedQuery(GRID, 1.0, noise), inner, SeededSource(0))
    assert abs(counts.count(20) - ROWS // 2) < 1000
    inner.by = by
    with pytest.raises(NolookError, match="the sums cannot be"):
        counts.count(30)
