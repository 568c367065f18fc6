"""The speed that distributed comparison functions promise, as a part of the machine's AES rate."""

from __future__ import annotations

import pytest

from benchmarks import dcf as benchmark
from tests.thresholds import DCF_RATES

# What is wanted of a machine that encrypts 520 million blocks a second, halved: other
# programs may run beside the tests, and ciphers may be faster than memory elsewhere.
PARTS = {
    name: 0.5 * wanted * benchmark.blocks(16)[name] / 520e6 for name, wanted in DCF_RATES.items()
}


@pytest.mark.wallclock
@pytest.mark.parametrize("name", PARTS)
def test_speed_as_a_part_of_the_raw_rate(name):
    work, n = benchmark.tasks(16)[name]
    work()
    parts = []
    while len(parts) < 15 and max(parts, default=0.0) < PARTS[name]:
        raw = benchmark.raw_rate()
        parts.append(benchmark.rate(work, n) * benchmark.blocks(16)[name] / raw)
    assert max(parts) >= PARTS[name]
