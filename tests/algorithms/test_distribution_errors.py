"""Standard errors with default smoothing are as large as the errors: the benchmark in small."""

from __future__ import annotations

import pytest

from benchmarks.distribution_errors import ratios
from nolook.privacy.guarantee import Budget

# Of root mean squares of some hundred dependent errors.
CHANCE = 1.1


@pytest.mark.parametrize(
    "shape",
    [
        *("two humps", "seven atoms"),
        *(pytest.param(shape, marks=pytest.mark.slow) for shape in ("comb", "empty middle")),
    ],
)
@pytest.mark.parametrize(
    ("size", "budget", "relation"),
    [(100, Budget(1.0), "add-remove"), (200, Budget(1.0, 1e-6), "replace")],
    ids=["laplace", "gaussian"],
)
def test_errors_are_at_most_those_stated(shape, size, budget, relation):
    found = ratios(shape, size, 2000, budget, relation, 120)
    histograms = [own for name, (own, _) in found.items() if name.startswith("of ")]
    assert max(histograms) < 1.05 * CHANCE
    assert found["share"][0] < 1.05 * CHANCE
