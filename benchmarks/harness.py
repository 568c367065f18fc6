"""What the benchmarks share: options, a report printed and kept, times, and processes.

Every benchmark is run from the project's folder:

    python -m benchmarks.NAME [--output benchmarks/results/NAME.md] [options of its own]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"

# getrusage would do for a process started from a small one, but its peak begins with the size of
# whoever started it.
PRELUDE = """
import json, re, sys, time
def memory(field):
    status = open("/proc/self/status").read()
    return int(re.search(field + r":\\s+([0-9]+) kB", status)[1]) * 1024
"""


def main(report, about, *, figures=False, **options):
    """Print the lines of a report as they come, and write them to ``--output`` if it is given.

    `options` are the report's own, with their defaults. A report with figures also takes the folder
    they go to, that of the output.
    """
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--output", type=Path, metavar="FILE")
    for name, default in options.items():
        kind = str if default is None else type(default)
        parser.add_argument(f"--{name}", type=kind, default=default)
    given = vars(parser.parse_args())
    output = given.pop("output")
    if figures:
        given["folder"] = output.parent if output else None
    lines = []
    for line in report(**given):
        print(line, flush=True)
        lines.append(line)
    if output:
        output.write_text("\n".join(lines) + "\n", encoding="utf-8")


def timed(work):
    """Return the seconds that some work takes, and what it returns."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def seconds(work):
    """Return the seconds that some work takes."""
    return timed(work)[0]


def by_turns(programs, turns):
    """Return the seconds of programs that take turns: a row for each turn."""
    return [[seconds(program) for program in programs] for _ in range(turns)]


def medians(turns):
    """Return the median of each program."""
    return [statistics.median(times) for times in zip(*turns, strict=True)]


def median_ratio(turns, first, second):
    """Return how many times longer one program takes than another, the median of all turns."""
    return statistics.median(turn[first] / turn[second] for turn in turns)


def in_own_process(code, *arguments, python=sys.executable):
    """Run code in a process of its own, where `memory` tells bytes; return the JSON it prints."""
    command = [python, "-c", PRELUDE + code, *map(str, arguments)]
    out = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(out.stdout)
