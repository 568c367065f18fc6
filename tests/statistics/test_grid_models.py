from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from nolook.statistics.grid_models import grid_model

ANY = st.floats(allow_nan=False, allow_infinity=False)


@given(hnp.arrays(np.float64, st.integers(1, 40), elements=ANY), st.integers(1, 2**44))
def test_a_model_on_the_grid_has_exact_products(theta, squared_radius):
    steps, step = grid_model(theta, squared_radius)
    assert np.array_equal(steps, np.trunc(steps))
    norm = sum(int(k) ** 2 for k in steps)
    assert norm * squared_radius <= 2**104
    assert 0.0 < step < math.inf
    assert math.frexp(step)[0] == 0.5
    inside = theta.clip(-(2.0**500), 2.0**500)
    errors = [
        abs(Fraction(k) * Fraction(step) - Fraction(t)) for k, t in zip(steps, inside, strict=True)
    ]
    assert max(errors) <= Fraction(step) / 2
    # Fine enough to matter to nobody: the largest entry keeps many digits.
    if np.abs(inside).max() > 1e-100 and squared_radius < 2**34:
        assert step <= np.abs(inside).max() * 2.0**-28
