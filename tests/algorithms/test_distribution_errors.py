"""Standard errors are as large as the errors: the benchmark in small."""

from __future__ import annotations

import pytest

from benchmarks.distribution_errors import ratios
from nolook.privacy.guarantee import Budget

# Of root mean squares of some hundred dependent errors.
CHANCE = 1.1


KINDS = {
    "laplace": (100, Budget(1.0), "add-remove"),
    "gaussian": (200, Budget(1.0, 1e-6), "replace"),
}
EVERY_DAY = {("two humps", "laplace"), ("seven atoms", "gaussian")}


@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        pytest.param(shape, kind, marks=[pytest.mark.slow] * ((shape, kind) not in EVERY_DAY))
        for shape in ("two humps", "seven atoms", "comb", "empty middle")
        for kind in KINDS
    ],
)
def test_errors_are_at_most_those_stated(shape, kind):
    size, budget, relation = KINDS[kind]
    found = ratios(shape, size, 2000, budget, relation, 60)
    histograms = [own for name, (own, _) in found.items() if name.startswith("of ")]
    assert max(histograms) < 1.05 * CHANCE
    assert found["share"][0] < 1.05 * CHANCE
    assert found["quantile"][0] > 0.93
