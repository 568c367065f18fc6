from __future__ import annotations

import numpy as np
import pytest

from nolook.errors import NolookError, ParameterError
from nolook_flower.secure_sum import InProcessSum, PointwiseSum, SumError, Total


def vectors_of(owners, length=5, seed=0):
    rng = np.random.default_rng(seed)
    return list(rng.integers(0, 2**64, (owners, length), dtype=np.uint64))


class Missing:
    """A sum that some owners have no part in; counts how often it is asked."""

    def __init__(self, *missing):
        self.missing = missing
        self.asked = 0

    def sum(self, vectors, needed=0):
        self.asked += 1
        there = tuple(i for i in range(len(vectors)) if i not in self.missing)
        if not set(range(needed)) <= set(there):
            raise SumError("owners are missing")
        return Total(InProcessSum().sum([vectors[i] for i in there]).numbers, there)


@pytest.mark.parametrize("summing", [InProcessSum(), PointwiseSum(InProcessSum())])
@pytest.mark.parametrize("owners", [1, 2, 7, 100])
def test_a_sum_is_that_of_python_modulo_2_to_the_64(summing, owners):
    vectors = vectors_of(owners, seed=owners)
    words, there = summing.sum(vectors)
    assert words.dtype == np.uint64
    assert words.tolist() == [sum(int(v[i]) for v in vectors) % 2**64 for i in range(5)]
    assert there == tuple(range(owners))


def test_numbers_below_zero_come_back():
    vectors = [np.array([-5, 3, -(2**62)]).view(np.uint64), np.array([2, -3, -7]).view(np.uint64)]
    assert InProcessSum().sum(vectors).numbers.view(np.int64).tolist() == [-3, 0, -(2**62) - 7]


def test_the_pointwise_sum_asks_once_for_each_number_and_needs_every_owner():
    inner = Missing()
    vectors = vectors_of(4)
    pointwise = PointwiseSum(inner)
    assert pointwise.sum(vectors).numbers.tolist() == InProcessSum().sum(vectors).numbers.tolist()
    assert inner.asked == 5
    assert pointwise.one(vectors, 3) == int(InProcessSum().sum(vectors).numbers[3])
    assert inner.asked == 6
    inner.missing = (3,)
    with pytest.raises(SumError, match="missing"):
        pointwise.sum(vectors)
    with pytest.raises(SumError, match="missing"):
        pointwise.one(vectors, 0)


@pytest.mark.parametrize("summing", [InProcessSum(), PointwiseSum(InProcessSum())])
@pytest.mark.parametrize(
    ("vectors", "needed", "named"),
    [
        ([], 0, "vectors"),
        ([np.zeros(0, dtype=np.uint64)], 0, "vectors"),
        ([np.zeros(2, dtype=np.uint64), np.zeros(3, dtype=np.uint64)], 0, "vectors"),
        ([np.zeros((2, 2), dtype=np.uint64)], 0, "vectors"),
        ([np.zeros(2, dtype=np.int64)], 0, "uint64"),
        ([np.zeros(2, dtype=np.uint64)], 2, "needed"),
        ([np.zeros(2, dtype=np.uint64)], -1, "needed"),
    ],
)
def test_what_cannot_be_added_up_is_refused_in_one_line(summing, vectors, needed, named):
    with pytest.raises(ParameterError, match=named) as caught:
        summing.sum(vectors, needed)
    assert "\n" not in str(caught.value)


def test_a_sum_that_failed_is_an_error_of_nolook():
    assert issubclass(SumError, NolookError)
