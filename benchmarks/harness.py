"""What the benchmarks share: options, a report printed and kept, times, and processes.

Every benchmark is run from the project's folder:

    python -m benchmarks.NAME [--output benchmarks/results/NAME.md] [--data DIR] [its own options]
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from papers import tables
from papers.trials import in_processes
from scripts.sources import commit, digest

# Share of a column's variance that may be left where it follows from others: rounding.
_REDUNDANT = 1e-8


def _options():
    """Return a parser of what every benchmark takes."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--output", type=Path, metavar="FILE")
    parser.add_argument("--data", type=Path, default=tables.DATA, help="the folder of the tables")
    return parser


#: The folder of the tables. It is known before anything is imported that names it, in the processes
#: of a benchmark too.
DATA = _options().parse_known_args()[0].data

# getrusage would do for a process started from a small one, but its peak begins with the size of
# whoever started it.
PRELUDE = """
import json, re, sys, time
def memory(field):
    status = open("/proc/self/status").read()
    return int(re.search(field + r":\\s+([0-9]+) kB", status)[1]) * 1024
"""


def table(name):
    """Return X and y of a table of ../shared/data."""
    content = pq.read_table(DATA / f"{name}.parquet")
    features = [column for column in content.column_names if column != "target"]
    X = np.column_stack([content[column].to_numpy().astype(float) for column in features])
    return X, content["target"].to_numpy().astype(float)


def less_redundant(X):
    """Leave out columns that follow from those before them: a level of a category coded in full."""
    spread = X.std(axis=0)
    standard = (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    products, kept = standard.T @ standard / len(X), []
    for column in range(X.shape[1]):
        among = products[kept, column]
        told = among @ np.linalg.pinv(products[np.ix_(kept, kept)], hermitian=True) @ among
        if products[column, column] - told > _REDUNDANT:
            kept.append(column)
    return X[:, kept]


def main(report, about, *, quick=None, **options):
    """Print the lines of a report as they come, and write them to ``--output`` if it is given.

    `options` are the report's own, with their defaults. `quick` has the options that ``--quick``
    sets, to see that a benchmark runs: its numbers say nothing.
    """
    parser = argparse.ArgumentParser(description=about.splitlines()[0], parents=[_options()])
    for name, default in options.items():
        kind = str if default is None else type(default)
        parser.add_argument(f"--{name}", type=kind, default=default)
    if quick:
        parser.add_argument("--quick", action="store_true", help="small numbers, to see it run")
    given = vars(parser.parse_args())
    if quick and given.pop("quick"):
        given |= quick
    output = given.pop("output")
    del given["data"]  # taken already
    made = measured(report, {name: given[name] for name in given if given[name] != options[name]})
    lines = []
    for line in report(**given):
        print(line, flush=True)
        lines.append(line)
    if output:
        output.write_text("\n".join([*lines, "", made]) + "\n", encoding="utf-8")


def measured(report, given):
    """Return the last line of a page: commit, code, kind of machine and command, without paths."""
    file = Path(inspect.getfile(report))
    name = file.parent.name if file.stem == "__main__" else file.stem
    options = [f"--{name} {value}" for name, value in given.items() if os.sep not in str(value)]
    command = " ".join([f"python -m benchmarks.{name}", *options])
    processor = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text("utf-8"))
    kind = f"{os.cpu_count()} cores{f' of {processor[1]}' if processor else ''}"
    software = f"{platform.system()}, Python {platform.python_version()}"
    code = f"commit {commit()}, code {digest(file)}"
    return f"Measured at {code}, on {kind}, {software}: `{command}`."


def load():
    """Say how busy the machine is, which times depend on."""
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores at the start"


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


@contextmanager
def interpreter_with(requirements, peer=None):
    """Give the interpreter named, or that of a temporary environment with some packages."""
    if peer:
        yield peer
        return
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder) / "bin" / "python")
        subprocess.run([python, "-m", "pip", "install", "-q", *requirements], check=True)
        yield python


def in_parallel(work, tasks, processes, kept=None):
    """Return what `work` makes of each task, by task; every process has one thread for BLAS.

    Tasks are tuples of numbers and texts, results what JSON holds. With a file `kept`, results go
    there as they come, and what an earlier, interrupted run left there is not computed again: it
    must be of the same code.
    """
    found = {}
    path = Path(kept) if kept else None
    if path and path.is_file():
        lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        found = {tuple(task): result for task, result in lines}
    left = [task for task in tasks if task not in found]
    for task, result in in_processes(partial(_spread, work), left, processes):
        found[task] = result
        if path:
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([task, result]) + "\n")
        print(f"{len(found)} of {len(tasks)}: {task}", file=sys.stderr, flush=True)
    return {task: found[task] for task in tasks}


def _spread(work, task):
    return work(*task)
