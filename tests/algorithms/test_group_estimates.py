"""Estimates of groups, put into what is possible."""

from __future__ import annotations

import numpy as np

from nolook.algorithms.group_estimates import Estimates


def test_an_interval_in_which_nothing_is_possible_keeps_its_width():
    value = np.array([-30.0, -5.0, 5.0, 40.0, np.nan])
    found = Estimates(value, value - 10.0, value + 10.0, value - 4.0, value + 4.0).within(0.0, 20.0)
    assert found.value.tolist()[:4] == [0.0, 0.0, 5.0, 20.0]
    assert found.low.tolist()[:4] == [0.0, 0.0, 0.0, 10.0]
    assert found.high.tolist()[:4] == [10.0, 5.0, 15.0, 20.0]
    assert found.noise_low.tolist()[:4] == [0.0, 0.0, 1.0, 16.0]
    assert found.noise_high.tolist()[:4] == [4.0, 4.0, 9.0, 20.0]
    assert np.isnan([each[4] for each in found]).all()


def test_a_mean_tells_more_than_quartiles_unless_its_interval_meets_and_exceeds_theirs():
    def of(low, high):
        return Estimates(*np.array([[0.0, low, high, low, high]]).T)

    quartiles = of(20.0, 24.0), of(30.0, 34.0)  # from 20 to 34 at most
    for low, high, more in ((22.0, 32.0, True), (5.0, 25.0, False), (40.0, 90.0, True)):
        assert of(low, high).tells_more(*quartiles).item() is more
    unknown = of(np.nan, np.nan), of(np.nan, np.nan)
    assert of(5.0, 25.0).tells_more(*unknown).item()
