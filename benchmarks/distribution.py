"""Private distributions: errors and time, beside the paper's and OpenDP's.

    python -m benchmarks.distribution [--output FILE] [--runs 40] [--peer PYTHON] [--kept FOLDER]

OpenDP runs in a temporary environment, or in that of the interpreter named; what it releases can be
kept in a folder. The paper's own figures are those of `papers/barczewski2024`.
"""

from __future__ import annotations

import os

from benchmarks.distribution_peers import columns_report, shapes_report
from benchmarks.distribution_time import RELEASE_TURNS, release_times
from benchmarks.harness import main


def time_report():
    """Yield the lines on the time of a release."""
    yield "## Seconds of a release, all in: noise, least squares, isotonic regression"
    yield ""
    yield f"Epsilon = 1, add/remove, three rows a cell; the least of {RELEASE_TURNS} turns."
    yield ""
    yield "| cells | seconds | nanoseconds a cell |"
    yield "|---:|---:|---:|"
    times = release_times()
    for size, took in times.items():
        yield f"| {size:,} | {took:.4f} | {took / size * 1e9:.0f} |"
    yield ""
    ratio = times[1 << 22] / times[1 << 20]
    yield f"- four times the cells, 2^20 to 2^22: {ratio:.1f} times as long"


def report(runs, peer, kept):
    """Yield the lines of the report."""
    yield "# Private distributions"
    yield ""
    yield f"{os.cpu_count()} processors. Printed by `python -m benchmarks.distribution`."
    yield ""
    yield from shapes_report(runs, peer, kept)
    yield from columns_report(runs, peer, kept)
    yield from time_report()


if __name__ == "__main__":
    main(report, __doc__, runs=40, peer=None, kept=None)
