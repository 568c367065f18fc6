"""Nothing wraps at 2^63: sums are exact, saturate or are refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from nolook.errors import ParameterError, TableError
from nolook.privacy.mechanisms._exact import quotient_up
from nolook.privacy.mechanisms.laplace import laplace_release
from nolook.privacy.noise import LARGEST_SCALE, SeededSource
from nolook.statistics import centred_products as products
from nolook.statistics import group_sums as groups
from nolook.statistics.design_moments import DesignMoments
from nolook.statistics.grid_models import GridModel
from nolook.statistics.kendall import KendallRows
from nolook.statistics.weighted_rows import UnitProducts
from tests.privacy.mechanisms import MECHANISMS

# The others add modulo 2^64, as their callers do: tests/privacy/test_keyed_noise.py.
ADDING = {
    name: row.add
    for name, row in MECHANISMS.items()
    if row.add and not name.startswith("keyed_noise.")
}
adding = pytest.mark.parametrize("name", ADDING)


@adding
@pytest.mark.parametrize("factor", [1.0001, 16.0, 1e300])
def test_scales_above_the_largest_are_refused(name, factor):
    with pytest.raises(ParameterError):
        ADDING[name](np.array([0]), LARGEST_SCALE * factor, SeededSource(0))


@adding
def test_noise_around_64_bits_never_wraps(name):
    # A wrapped sum would land on the other side of 0. The law of the sum shows none of it.
    for exponent in (40, 45, 46, 49, 50, 51, 61, 62, 63, 69):
        scale = 2.0**exponent
        drawn = [int(ADDING[name](np.array([0]), scale, SeededSource(i))[0]) for i in range(200)]
        sizes = sorted(abs(one) for one in drawn)
        # The middle one of 200 sizes is within these but for a chance of 1e-9 or less.
        assert scale * 0.3 <= sizes[100] <= scale * 1.3
        assert 55 <= sum(one > 0 for one in drawn) <= 145


@adding
@pytest.mark.parametrize("end", [2**63 - 1, -(2**63)])
@pytest.mark.parametrize("scale", [1.0, 1e6, 2.0**49])
def test_values_at_the_ends_of_int64_stay_on_their_side(name, end, scale):
    draws = [int(ADDING[name](np.array([end]), scale, SeededSource(i))[0]) for i in range(60)]
    assert all(-(2**63) <= one < 2**63 for one in draws)
    assert all((one > 0) == (end > 0) for one in draws)
    assert 10 <= sum(one == end for one in draws) <= 60
    exact = np.array([end, 0], dtype=object)[:1]
    beyond = [int(ADDING[name](exact, scale, SeededSource(i))[0]) for i in range(60)]
    assert any(abs(one) > abs(end) for one in beyond)


@pytest.mark.parametrize("kind", [int, np.int64])
def test_whole_sensitivities_beyond_float64_are_rounded_up(kind):
    # In float64 every other one of these would be smaller than it is.
    generator = np.random.default_rng(0)
    divisors = generator.uniform(0.5, 2.0, size=4000).tolist()
    for one, divisor in zip(generator.integers(2**53, 2**55, size=4000), divisors, strict=True):
        scale = quotient_up(kind(one), divisor, "mu")
        assert Fraction(scale) >= Fraction(int(one)) / Fraction(divisor)
        assert scale <= int(one) / divisor * (1 + 1e-15)


def test_design_moments_flush_and_merge_beyond_64_bits():
    # One row a block: every product is nearly 2^53.
    side = 94_906_265
    assert side**2 < 2**53
    moments = DesignMoments(1, side**2)
    rows = np.full((1, 3000), float(side))
    moments.update(rows)
    assert moments.value.tolist() == [[3000 * side**2]]
    for _ in range(10):
        moments.merge(moments)
    assert moments.value.tolist() == [[3000 * side**2 * 2**10]]
    assert 3000 * side**2 > 2**64


def test_clipped_products_are_exact_whatever_their_size():
    entry, rows, most = 2**15 - 1, 2**17, 2**20
    products = UnitProducts(GridModel(np.zeros(1), 1.0, 1), 1, most)
    whole, squares = np.full((1, rows), entry, dtype=np.int16), np.zeros(rows, dtype=np.int32)
    for _ in range(3):
        products.update(whole, squares, np.full(rows, 1e300), np.ones(rows))
    assert products.value.tolist() == [3 * rows * entry * most]


def test_group_sums_leave_64_bits_and_do_not_wrap(monkeypatch):
    # As if 2^34 rows had the largest excess.
    monkeypatch.setattr(groups, "GROUP_UNIT", 2**61)
    monkeypatch.setattr(groups, "_EXACT_ROWS", 2)
    block = np.stack([np.ones(7), [1.0] * 3 + [0.0] * 4])
    positives, negatives, excess = (
        groups.GroupSums(np.array([0.0, 1.0])).update(block).update(block).value
    )
    assert (positives.tolist(), negatives.tolist()) == ([6], [8])
    assert excess.tolist() == [14 * 2**61]
    released = laplace_release(excess, 2**61, 1.0, SeededSource(1))
    assert abs(int(released[0]) - 14 * 2**61) < 40 * 2**61


def test_group_sums_do_not_depend_on_the_parts(monkeypatch):
    generator = np.random.default_rng(0)
    block = np.stack([generator.random(100), generator.random(100) < 0.3])
    borders = np.array([0.0, 0.25, 0.5, 1.0])
    whole = [part.tolist() for part in groups.GroupSums(borders).update(block).value]
    monkeypatch.setattr(groups, "_EXACT_ROWS", 7)
    assert [part.tolist() for part in groups.GroupSums(borders).update(block).value] == whole


def test_centred_products_saturate(monkeypatch):
    # As if there were 2^34 rows.
    monkeypatch.setattr(products, "PRODUCTS_UNIT", 2**26)
    monkeypatch.setattr(products, "_EXACT_ROWS", 2)
    batch = np.tile([0.0, 1.0], (3, 2**12))
    low, high = np.zeros(3), np.ones(3)
    exact = 2**13 * (2**52) // 4
    assert exact == 2**63
    scores = products.CentredProducts(low, high).update(batch).value
    assert scores.tolist() == [2**63 - 1] * 2
    fewer = products.CentredProducts(low, high).update(batch[:, :-2]).value
    assert fewer.tolist() == [(2**13 - 2) * 2**50] * 2


def test_ranks_of_too_many_rows_are_refused():
    # No memory is behind these: every cell is the same one.
    many = np.broadcast_to(0.0, (2, 2**31))
    with pytest.raises(TableError, match="2\\*\\*32 rows or more") as caught:
        _ = KendallRows(2).update(many).update(many).value
    assert "\n" not in str(caught.value)
