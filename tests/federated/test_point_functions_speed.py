"""The speed that verifiable point functions promise, as a part of the machine's AES rate."""

from __future__ import annotations

import pytest

from benchmarks import point_functions as benchmark
from tests.thresholds import POINT_FUNCTION_SECONDS

# What is wanted of a machine that encrypts 520 million blocks a second, halved: other
# programs may run beside the tests, and ciphers may be faster than memory elsewhere.
CHECKED = "checked and expanded"
PARTS = {
    levels: 0.5 * benchmark.blocks(levels, CHECKED) / (520e6 * wanted)
    for levels, wanted in POINT_FUNCTION_SECONDS.items()
}


@pytest.mark.wallclock
@pytest.mark.parametrize("levels", PARTS)
def test_speed_as_a_part_of_the_raw_rate(levels):
    work = benchmark.tasks(levels)[CHECKED]
    work()
    parts = []
    while len(parts) < 15 and max(parts, default=0.0) < PARTS[levels]:
        taken = benchmark.seconds(work, benchmark.REPORTS[levels])
        parts.append(benchmark.blocks(levels, CHECKED) / (benchmark.raw_rate() * taken))
    assert max(parts) >= PARTS[levels]
