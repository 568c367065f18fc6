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
