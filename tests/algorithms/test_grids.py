from __future__ import annotations

import math
import pickle
import re
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import nolook
from nolook.algorithms.grids import DoublesGrid, LinearGrid, LogGrid

LARGEST = np.finfo(np.float64).max


@pytest.mark.parametrize("grid", [LinearGrid(0, 2, 0.5), LogGrid(1, 8, 1), DoublesGrid()])
def test_grids_are_values(grid):
    copies = pickle.loads(pickle.dumps(grid)), deepcopy(grid)
    assert set(copies) == {grid}
    if grid != DoublesGrid():
        assert eval(repr(grid)) == grid
        with pytest.raises(AttributeError):
            grid.low = 1.0


def test_grids_of_other_ends_or_kinds_differ():
    assert LinearGrid(1, 8, 1) == LinearGrid(low=1.0, high=8.0, step=1.0)
    assert len({LinearGrid(1, 8, 1), LinearGrid(1, 8, 2), LogGrid(1, 8, 1)}) == 3


@example(2097152.0, 0.001, 7, 0.0)
@given(st.floats(-1e15, 1e15), st.floats(1e-3, 1e15), st.integers(1, 3000), st.floats(0.0, 0.99))
def test_linear_points_rise_from_end_to_end(low, width, steps, rest):
    step = width / (steps + rest)
    grid_low, grid_high = low, low + width
    if step < 8 * math.ulp(max(abs(grid_low), abs(grid_high))):
        return
    points = LinearGrid(grid_low, grid_high, step).points()
    assert (points[0], points[-1]) == (grid_low, grid_high)
    assert (np.diff(points) > 0).all()
    assert np.diff(points).max() <= step * (1 + 1e-5) + 4 * math.ulp(grid_high)
    assert steps - 1 <= len(points) - 1 <= steps + 2


@given(st.floats(1e-300, 1e300), st.floats(1.01, 1e6), st.floats(0.003, 3.0))
def test_log_points_rise_by_the_ratio_from_end_to_end(low, factor, step):
    points = LogGrid(low, low * factor, step).points()
    assert (points[0], points[-1]) == (low, low * factor)
    ratios = points[1:] / points[:-1]
    assert (ratios > 1).all()
    np.testing.assert_allclose(ratios[:-1], 1 + step, rtol=1e-9)
    assert ratios[-1] <= (1 + step) * (1 + 1e-5)


def test_a_step_that_divides_the_range_up_to_rounding_makes_no_extra_point():
    assert len(LinearGrid(1 / 256, 1, 1 / 256).points()) == 256
    assert LinearGrid(0, 1, 0.1).points().tolist() == pytest.approx([i / 10 for i in range(11)])
    assert len(LinearGrid(0, 1, 0.1).points()) == 11
    assert LinearGrid(0, 100, 30).points().tolist() == [0, 30, 60, 90, 100]


@pytest.mark.parametrize("step", [1.0, 1e7, 1e300])
def test_a_step_beyond_the_range_leaves_both_ends(step):
    assert LinearGrid(0.0, 1.0, step).points().tolist() == [0.0, 1.0]
    assert LogGrid(1.0, 1.0 + 1e-7, step).points().tolist() == [1.0, 1.0 + 1e-7]


def test_the_grid_of_doubles_covers_them_all_finely_where_numbers_usually_are():
    points = DoublesGrid().points()
    assert 2**16 < len(points) < 2**17
    assert (np.diff(points) > 0).all()
    np.testing.assert_array_equal(points, -points[::-1])
    assert points[-1] == LARGEST
    assert np.isin(np.arange(-2048.0, 2049.0), points).all()
    middle = points[(points >= 2.0**-17) & (points <= 2.0**46)]
    assert np.diff(middle).max() <= 2.0**46 / 1024
    assert (np.diff(middle) / middle[:-1]).max() <= 1 / 1024
    beyond = points[(points > 0) & ((points < 2.0**-17) | (points > 2.0**46))]
    ratios = beyond[1:] / beyond[:-1]
    assert np.sort(ratios)[-2] <= 4.0


def test_the_grid_of_whole_numbers_has_all_of_them_up_to_2048():
    points, doubles = DoublesGrid(whole=True).points(), DoublesGrid().points()
    assert (points == np.rint(points)).all()
    np.testing.assert_array_equal(points[abs(points) <= 2048], np.arange(-2048.0, 2049.0))
    np.testing.assert_array_equal(points[points > 2048], doubles[doubles > 2048])


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: LinearGrid(1, 1, 0.1), "low"),
        (lambda: LinearGrid(2, 1, 0.1), "low"),
        (lambda: LinearGrid(math.nan, 1, 0.1), "low"),
        (lambda: LinearGrid(0, math.inf, 0.1), "high"),
        (lambda: LinearGrid(0, "a", 0.1), "high"),
        (lambda: LinearGrid(True, 2, 0.1), "low"),
        (lambda: LinearGrid(0, 1, 0), "step"),
        (lambda: LinearGrid(0, 1, -0.1), "step"),
        (lambda: LinearGrid(0, 1, 2.0**-24), "step"),
        (lambda: LinearGrid(-LARGEST, LARGEST, 1.0), "step"),
        (lambda: LinearGrid(2.0**60, 2.0**60 + 2**12, 256), "step"),
        (lambda: LogGrid(0, 1, 0.1), "low"),
        (lambda: LogGrid(-1, 1, 0.1), "low"),
        (lambda: LogGrid(2, 1, 0.1), "low"),
        (lambda: LogGrid(1, 2, 0.0), "step"),
        (lambda: LogGrid(1, 2, 1e-12), "step"),
        (lambda: LogGrid(1e-300, 1e300, 1e-6), "step"),
    ],
)
def test_bad_grids_are_refused_in_one_line(make, name):
    with pytest.raises(nolook.ParameterError, match=rf"^{name} is ") as caught:
        make()
    assert "\n" not in str(caught.value)
    assert re.search("expected|use a larger step", str(caught.value))


def test_an_end_that_is_not_a_number_is_named_by_its_type():
    with pytest.raises(nolook.ParameterError) as caught:
        LinearGrid(0, [1.0], 0.1)
    assert str(caught.value) == (
        "high is a value of type list; expected a finite number (the grid's end)"
    )


def test_the_largest_grid_is_accepted():
    assert LinearGrid(0, 2**24 - 1, 1).high == 2**24 - 1
    assert LinearGrid(-LARGEST, LARGEST, LARGEST / 4).points().tolist()[::4] == [
        -LARGEST, 0.0, LARGEST,
    ]  # fmt: skip


@pytest.mark.slow
def test_the_largest_grid_has_all_its_points():
    assert len(LinearGrid(0, 2**24 - 1, 1).points()) == 2**24


@pytest.mark.parametrize("ends", [(0, 10**400), (-(10**400), 0)])
@pytest.mark.parametrize("kind", [LinearGrid, LogGrid])
def test_ends_too_large_for_a_double_are_refused(kind, ends):
    with pytest.raises(nolook.ParameterError, match="expected a finite number"):
        kind(*ends, 1)
