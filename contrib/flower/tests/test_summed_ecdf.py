from __future__ import annotations

import numpy as np
import pytest

from nolook.algorithms.grids import LinearGrid
from nolook.algorithms.node_counts import release_forests
from nolook.errors import NolookError, ParameterError
from nolook.privacy.guarantee import PureEvent
from nolook.privacy.noise import SeededSource
from nolook.statistics.cell_counts import CellCounts, node_counts_sensitivity
from nolook_flower.secure_sum import InProcessSum, PointwiseSum, SumError, Total
from nolook_flower.summed_ecdf import PointwiseCounts, SummedQuery, release_summed_ecdf

GRID = LinearGrid(1.0, 64.0, 1.0)
SHORT = LinearGrid(1.0, 5.0, 1.0)


def owners_of(sizes=(3, 0, 1, 40, 1), seed=0):
    rng = np.random.default_rng(seed)
    return [rng.binomial(70, 0.4, size) + 0.5 for size in sizes]


class Missing:
    """A sum that some owners have no part in, whoever asks and whatever is needed."""

    def __init__(self, *missing):
        self.missing = missing
        self.asked = 0

    def sum(self, vectors, needed=0):
        del needed
        self.asked += 1
        there = tuple(i for i in range(len(vectors)) if i not in self.missing)
        return Total(InProcessSum().sum([vectors[i] for i in there]).numbers, there)


class Unopened:
    def sum(self, vectors, needed=0):
        raise SumError(f"{needed} of {len(vectors)} owners are needed")


def released(query, owners, summing=None, seed=0):
    return release_summed_ecdf(owners, query, summing or InProcessSum(), SeededSource(seed))


def exact_blocks(query, owners):
    """Count all values in each block, from the definition."""
    edges, forest = query.grid.points()[:-1], query.forest
    places = np.searchsorted(edges, np.concatenate(owners), side="left")
    return np.concatenate(
        [
            np.bincount(places // length, minlength=forest.padded // length)
            for length in forest.lengths
        ]
    )


@pytest.mark.parametrize("grid", [GRID, SHORT, LinearGrid(0.0, 1.0, 1.0)])
@pytest.mark.parametrize(
    "query", [("aggregator", 2), ("owners", 1)], ids=["by the aggregator", "by one owner"]
)
def test_with_one_noise_it_is_the_release_of_one_curator(grid, query):
    owners, asked = owners_of(), SummedQuery(grid, 0.5, *query)
    found = released(asked, owners, seed=3)
    points, source = grid.points(), SeededSource(3)
    cells = CellCounts(points).update(np.concatenate(owners)).value
    changes = node_counts_sensitivity(asked.forest.levels, "replace")
    (central,) = release_forests([cells], asked.event(), changes, source, shares=True)
    expected = central.distribution(points, 45.0, 0.0)
    np.testing.assert_array_equal(found.counts, expected.counts)
    assert found.rows == expected.rows == 45.0
    assert found.noise == expected.noise


@pytest.mark.parametrize("grid", [GRID, SHORT, LinearGrid(0.0, 1.0, 1.0)])
def test_a_replaced_row_changes_no_more_counts_than_the_sensitivity(grid):
    query = SummedQuery(grid, 1.0, "aggregator")
    values = [np.array([value]) for value in grid.points()]
    vectors = np.array([query.vector(value, 0, SeededSource(0)).view(np.int64) for value in values])
    changes = np.abs(vectors[:, None] - vectors).sum(axis=2)
    assert changes.max() == query.sensitivity
    # The number of rows, which gets no noise, stays.
    assert (vectors[:, -1] == 1).all()


@pytest.mark.parametrize("noises", [1, 3])
def test_noises_of_owners_add_up_to_their_exact_law(noises):
    query, owners = SummedQuery(SHORT, 1.0, "owners", noises), owners_of()
    runs, source = 1500, SeededSource(noises)
    scale = query.sensitivity / query.event().epsilon
    one = 0.5 / np.sinh(0.5 / scale) ** 2
    errors = np.empty((runs, query.forest.blocks))
    for run in range(runs):
        total = InProcessSum().sum(
            [query.vector(values, i, source) for i, values in enumerate(owners)], query.needed
        )
        errors[run] = total.numbers[:-1].view(np.int64) - exact_blocks(query, owners)
    law = noises * one * np.eye(query.forest.blocks)
    np.testing.assert_allclose(np.cov(errors.T), law, atol=0.25 * noises * one)
    # 30 % less or more noise is a variance off by half.
    np.testing.assert_allclose(np.var(errors), noises * one, rtol=0.15)
    found = query.distribution(total, source).noise
    assert found.block_variance == pytest.approx(noises * one)


def test_only_the_first_owners_add_noise_and_each_the_full_one():
    query = SummedQuery(GRID, 1.0, "owners", 2)
    values = owners_of()[3]
    true = exact_blocks(query, [values])
    quiet = query.vector(values, 2, SeededSource(0)).view(np.int64)
    np.testing.assert_array_equal(quiet, np.append(true, len(values)))
    for place in (0, 1):
        noisy = query.vector(values, place, SeededSource(9)).view(np.int64)
        noise = query.noisy(np.zeros_like(true), SeededSource(9))
        np.testing.assert_array_equal(noisy[:-1] - true, noise)
        assert noisy[-1] == len(values)
        assert np.count_nonzero(noise) > len(noise) / 2


def test_a_query_says_what_it_costs_and_whom_it_needs():
    query = SummedQuery(GRID, 1.0, "aggregator")
    assert query.event() == PureEvent("counts of blocks", query.event().epsilon)
    assert 1.0 - 1e-11 < query.event().epsilon < 1.0
    assert query.needed == 0
    assert query.sensitivity == 2 * query.forest.levels
    assert SummedQuery(GRID, 1.0, "owners", 3).needed == 3


@pytest.mark.parametrize("noise", ["aggregator", "owners"])
def test_all_sums_give_the_same_release(noise):
    owners, query = owners_of(), SummedQuery(SHORT, 0.7, noise, 2)
    one = released(query, owners, InProcessSum(), seed=4)
    other = released(query, owners, PointwiseSum(InProcessSum()), seed=4)
    np.testing.assert_array_equal(one.counts, other.counts)


@pytest.mark.parametrize("noise", ["aggregator", "owners"])
def test_owners_without_noise_may_drop_out(noise):
    owners, query = owners_of(), SummedQuery(GRID, 0.7, noise, 2)
    found = released(query, owners, Missing(3, 4), seed=8)
    np.testing.assert_array_equal(found.counts, released(query, owners[:3], seed=8).counts)
    assert found.rows == 4.0


@pytest.mark.parametrize("missing", [(0,), (1,), (0, 1), (1, 4)])
def test_without_a_noisy_owner_nothing_is_released(missing):
    owners, query = owners_of(), SummedQuery(GRID, 0.7, "owners", 2)
    with pytest.raises(SumError, match="nothing is released"):
        released(query, owners, Missing(*missing))
    with pytest.raises(SumError, match="2 of 5 owners are needed"):
        released(query, owners, Unopened())


def prefix(forest, blocks, end):
    """Add up the longest blocks that fit, from the left, until `end` cells are counted."""
    total, start, first = 0, 0, 0
    for length in forest.lengths:
        while start + length <= end:
            total += int(blocks[first + start // length])
            start += length
        first += forest.padded // length
    return total


@pytest.mark.parametrize("noise", ["aggregator", "owners"])
def test_counts_asked_for_one_at_a_time_are_those_of_one_release(noise):
    owners, query = owners_of(), SummedQuery(SHORT, 0.7, noise, 2)
    source = SeededSource(6)
    vectors = [query.vector(values, i, source) for i, values in enumerate(owners)]
    blocks = InProcessSum().sum(vectors).numbers[:-1].view(np.int64)
    if noise == "aggregator":
        blocks = query.noisy(blocks, source)
    counts = PointwiseCounts(owners, query, InProcessSum(), SeededSource(6))
    order = [4, 0, 2, 2, 3, 1, 0]
    expected = [prefix(query.forest, blocks, place + 1) for place in range(4)] + [45]
    assert [counts.count(i) for i in order] == [expected[i] for i in order]


@pytest.mark.parametrize("noise", ["aggregator", "owners"])
def test_a_quantile_takes_a_sum_for_each_level_at_most(noise):
    owners, inner = owners_of(), Missing()
    counts = PointwiseCounts(owners, SummedQuery(GRID, 1e5, noise, 2), inner, SeededSource(0))
    whole = released(SummedQuery(GRID, 1e5, noise, 2), owners)
    for p in (0.0, 0.1, 0.5, 0.77, 1.0):
        inner.asked = 0
        assert counts.ppf(p) == whole.ppf(p)
        assert 0 < inner.asked <= 6


def test_an_owner_missing_from_one_of_many_sums_ends_them():
    class Leaving(Missing):
        def sum(self, vectors, needed=0):
            total = super().sum(vectors)
            if needed > len(total.owners):
                raise SumError("an owner has left")
            return total

    inner = Leaving()
    query = SummedQuery(GRID, 1.0, "aggregator")
    counts = PointwiseCounts(owners_of(), query, inner, SeededSource(0))
    assert isinstance(counts.count(3), int)
    inner.missing = (4,)
    with pytest.raises(SumError, match="left"):
        counts.count(3)


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ((GRID, 0.0, "aggregator"), "epsilon"),
        ((GRID, 1e-12, "aggregator"), "epsilon"),
        ((GRID, 1.0, "both"), "noise"),
        ((GRID, 1.0, "owners", 0), "noisy_owners"),
        ((GRID, 1.0, "owners", 2.5), "noisy_owners"),
    ],
)
def test_a_bad_parameter_is_named(parameters, named):
    with pytest.raises(ParameterError, match=named) as caught:
        SummedQuery(*parameters)
    assert "\n" not in str(caught.value)


def test_sums_that_no_counts_have_are_refused():
    class Lying(InProcessSum):
        def sum(self, vectors, needed=0):
            total = super().sum(vectors, needed)
            lie = np.zeros_like(total.numbers)
            lie[0] = 10_000
            return total._replace(numbers=total.numbers + lie)

    query, owners = SummedQuery(GRID, 1.0, "owners", 2), owners_of()
    with pytest.raises(NolookError, match="the sums are impossible"):
        released(query, owners, Lying())
    counts = PointwiseCounts(owners, query, InProcessSum(), SeededSource(0))
    counts._vectors[4][:] += np.uint64(10_000)
    with pytest.raises(NolookError, match="the sums are impossible"):
        counts.count(7)


def test_too_few_owners_are_refused():
    for build in (released, lambda q, o: PointwiseCounts(o, q, InProcessSum(), SeededSource(0))):
        with pytest.raises(ParameterError, match="owners has 1"):
            build(SummedQuery(GRID, 1.0, "owners", 2), owners_of((3,)))
        with pytest.raises(ParameterError, match="owners has 0"):
            build(SummedQuery(GRID, 1.0, "aggregator"), [])
