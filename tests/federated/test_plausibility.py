"""Sums that cannot be are refused; what the noise explains is not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from attrs import evolve
from scipy.stats import nbinom

from nolook.algorithms.forest import forest_of
from nolook.algorithms.grids import LinearGrid
from nolook.errors import NolookError
from nolook.federated.answers import calibration, distribution
from nolook.federated.plausibility import bound, refuse_impossible
from tests.federated.made import answers, batch_of

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
    """Blocks of 2 cells, then the 4 cells."""
    assert bound(34, 0.0, 100) == 0.0
    forest = forest_of(4, (2, 1))
    refuse_impossible(forest, [np.array([1, 2, 0, 1, 0, 2])], 3, 2, 0.0)
    for blocks in (
        [1, 2, -1, 2, 0, 2],
        [1, 3, 0, 1, 1, 2],
        [1, 2, 0, 1, 1, 2],
        [1, 1, 0, 1, 0, 1],
        [0, 4, 0, 0, 2, 2],
    ):
        with pytest.raises(NolookError, match="the sums are impossible"):
            refuse_impossible(forest, [np.array(blocks)], 3, 2, 0.0)


def halves_of(batch, cells):
    """Return both servers' answers about so many reports in each cell of each class."""
    half = np.random.default_rng(0).integers(0, 2**64, cells.shape, dtype=np.uint64)
    return answers(batch, int(cells.sum()), [half, cells.astype(np.uint64) - half])


def moved(pair, changes):
    """Return the answers after the first server changed its own."""
    numbers = {name: each.copy() for name, each in pair[0].numbers.items()}
    for name, place, by in changes:
        change = np.zeros(len(numbers[name]), np.int64)
        change[place] = by
        numbers[name] += change.view(np.uint64)
    return evolve(pair[0], numbers=numbers), pair[1]


# Blocks of 8 cells are at 0 to 7, cells at 8 to 71.
ECDF = batch_of("ecdf", 1.0, LinearGrid(0, 63, 1), lengths=(8, 1))
ROC = batch_of("roc", 1.0, LinearGrid(1 / 64, 1, 1 / 64), lengths=(8, 1))
WRONG = {
    "a cell below 0": [(8, -FAR), (0, -FAR), (1, FAR)],
    "a cell above n": [(8, 3 * FAR), (0, 3 * FAR), (1, -3 * FAR)],
    "far above n": [(20, 2**63 - 1)],
    "a block that its cells do not add up to": [(0, FAR), (1, -FAR)],
    "more than n in all": [(0, FAR), (8, FAR)],
    "less than n in all": [(slice(8), -FAR // 8), (slice(8, None), -FAR // 64)],
}


@pytest.mark.parametrize("changes", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("batch", [ECDF, ROC], ids=["ecdf", "roc"])
def test_answers_that_cannot_be_are_refused(batch, changes):
    pair = halves_of(batch, np.full((len(batch.classes), 64), ROWS // 64 // len(batch.classes)))
    for name in batch.classes:
        distribution(batch, *moved(pair, [(name, 20, -1)]))
        with pytest.raises(NolookError, match="the sums are impossible") as caught:
            distribution(batch, *moved(pair, [(name, *change) for change in changes]))
        assert "\n" not in str(caught.value)


def test_groups_that_cannot_be_are_refused():
    batch = batch_of("hosmer-lemeshow", 1.0, None)
    pair = halves_of(batch, np.full((2, 1024), 5))
    assert np.allclose(calibration(batch, *pair).table_.counts.sum(), 10 * 1024, atol=300)
    for name in batch.classes:
        for place, by in ((0, -FAR), (-1, FAR), (-1, -FAR)):
            with pytest.raises(NolookError, match="the sums are impossible"):
                calibration(batch, *moved(pair, [(name, place, by)]))
