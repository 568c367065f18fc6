from __future__ import annotations

import numpy as np
import pytest
from nolook.federated.secure_sum import InProcessSum, PointwiseSum, SumError, Total
from nolook.federated.summed_ecdf import PointwiseCounts, SummedQuery, release_summed_ecdf
from nolook.privacy.mechanisms.binary_tree import laplace_node_variance, shared_nodes
from tests.federated.roles import one_curator

from nolook.algorithms.count_noise import BinaryTreeNoise
from nolook.algorithms.grids import LinearGrid
from nolook.errors import ParameterError
from nolook.privacy.guarantee import PureEvent
from nolook.privacy.noise import SeededSource

GRID = LinearGrid(1.0, 64.0, 1.0)
SHORT = LinearGrid(1.0, 5.0, 1.0)  # 5 thresholds in a tree over 8


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


def released(query, owners, summing=None, smoothing=None, seed=0):
    return release_summed_ecdf(
        owners, query, summing or InProcessSum(), smoothing, SeededSource(seed)
    )


@pytest.mark.parametrize("grid", [GRID, SHORT, LinearGrid(0.0, 1.0, 1.0)])
@pytest.mark.parametrize("smoothing", ["l2", "l1", "isotonic", None])
@pytest.mark.parametrize(
    "query", [("aggregator", 2), ("owners", 1)], ids=["by the aggregator", "by one owner"]
)
def test_with_one_noise_it_is_the_release_of_one_curator(grid, smoothing, query):
    owners = owners_of()
    asked = SummedQuery(grid, 0.5, *query)
    found = released(asked, owners, None, smoothing, seed=3)
    inner, epsilon = grid.points()[:-1], asked.event().epsilon
    counts = np.searchsorted(np.sort(np.concatenate(owners)), inner, side="right")
    whole = np.append(counts, np.full(2**asked.levels - len(inner), 45))
    central = one_curator(epsilon, "replace", whole, smoothing, SeededSource(3))
    np.testing.assert_array_equal(found.counts, np.append(central[: len(inner)], 45))
    variance = laplace_node_variance(asked.levels, epsilon, "replace")
    assert found.rows == 45.0
    assert found.noise == BinaryTreeNoise(len(inner) + 1, asked.levels, variance, 0.0)


@pytest.mark.parametrize("noises", [1, 3])
def test_noises_of_owners_add_up_to_their_exact_law(noises):
    query = SummedQuery(SHORT, 1.0, "owners", noises)
    owners = owners_of()
    node = laplace_node_variance(3, query.event().epsilon, "replace")
    assert query.node_variance() == noises * node
    runs, source = 1500, SeededSource(noises)
    true = np.searchsorted(np.sort(np.concatenate(owners)), SHORT.points(), side="right")
    errors = np.empty((runs, 4))
    for run in range(runs):
        total = InProcessSum().sum(
            [query.vector(values, i, source) for i, values in enumerate(owners)], query.needed
        )
        errors[run] = query.distribution(total, None, source).counts[:4] - true[:4]
    places = np.arange(4)
    law = noises * node * shared_nodes(places[:, None], places[None, :], 3)
    np.testing.assert_allclose(np.cov(errors.T), law, atol=0.2 * law.max())
    np.testing.assert_allclose(np.var(errors), law[0, 0], rtol=0.1)


def test_only_the_first_owners_add_noise_and_each_the_full_one():
    query = SummedQuery(GRID, 1.0, "owners", 2)
    values = owners_of()[3]
    quiet = query.vector(values, 2, SeededSource(0)).view(np.int64)
    true = np.searchsorted(np.sort(values), GRID.points(), side="right")
    true[-1] = len(values)  # those beyond the grid are in its last cell
    np.testing.assert_array_equal(quiet, np.append(true, len(values)))
    for place in (0, 1):
        noisy = query.vector(values, place, SeededSource(9)).view(np.int64)
        noise = query.tree_noise(SeededSource(9))
        np.testing.assert_array_equal(noisy[:-1] - true, noise)
        assert noisy[-1] == len(values)
        assert np.any(noise)


def test_a_query_says_what_it_costs_and_whom_it_needs():
    query = SummedQuery(GRID, 1.0, "aggregator")
    assert query.event() == PureEvent("counts up to each threshold", query.event().epsilon)
    assert 1.0 - 1e-11 < query.event().epsilon < 1.0
    assert (query.needed, query.levels) == (0, 6)
    assert SummedQuery(GRID, 1.0, "owners", 3).needed == 3


@pytest.mark.parametrize("noise", ["aggregator", "owners"])
@pytest.mark.parametrize("smoothing", ["l2", None])
def test_all_sums_give_the_same_release(noise, smoothing):
    owners, query = owners_of(), SummedQuery(SHORT, 0.7, noise, 2)
    one = released(query, owners, InProcessSum(), smoothing, seed=4)
    other = released(query, owners, PointwiseSum(InProcessSum()), smoothing, seed=4)
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


@pytest.mark.parametrize("noise", ["aggregator", "owners"])
def test_counts_asked_for_one_at_a_time_are_those_of_one_release(noise):
    owners, query = owners_of(), SummedQuery(SHORT, 0.7, noise, 2)
    whole = released(query, owners, seed=6)
    counts = PointwiseCounts(owners, query, InProcessSum(), SeededSource(6))
    order = [4, 0, 2, 2, 3, 1, 0]
    assert [counts.count(i) for i in order] == whole.counts[order].tolist()


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


def test_too_few_owners_are_refused():
    for build in (released, lambda q, o: PointwiseCounts(o, q, InProcessSum(), SeededSource(0))):
        with pytest.raises(ParameterError, match="owners has 1"):
            build(SummedQuery(GRID, 1.0, "owners", 2), owners_of((3,)))
        with pytest.raises(ParameterError, match="owners has 0"):
            build(SummedQuery(GRID, 1.0, "aggregator"), [])
