"""Reports made, checked and expanded by verifiable point functions, against the raw cipher.

A second is one of processor time of one process with one thread. The raw rate is that of the same
library's AES-128 in a large buffer, measured in turn with the rest.

    python -m benchmarks.point_functions [--output benchmarks/results/point_functions.md]
        [--turns 15]
"""

from __future__ import annotations

import statistics
import time

import numpy as np

from benchmarks.harness import load, main
from nolook.federated import _prg
from nolook.federated import point_functions as module
from nolook.federated.point_functions import MESSAGE_BYTES, PointFunctions
from nolook.privacy.noise import SystemEntropy

#: How many reports are timed together.
REPORTS = {8: 4096, 12: 512, 16: 48}
CONTEXT = bytes(range(32))


def seconds(work, n):
    """Processor time of each of n things that `work` does."""
    start = time.process_time()
    work()
    return (time.process_time() - start) / n


def raw_rate(size=1 << 20):
    """Blocks a second that the library's cipher encrypts in a large buffer."""
    plain, room = np.zeros(2 * size, np.uint64), _prg.block_words(size)
    cipher = _prg.permutation("raw")
    work = cipher, _prg.as_bytes(plain), _prg.as_bytes(room)
    _prg.encrypt(*work)
    return 1 / seconds(lambda: [_prg.encrypt(*work) for _ in range(4)], 4 * size)


def functions_of(levels):
    """Functions over 2^levels cells, all expanded."""
    return PointFunctions(levels, CONTEXT)


def tasks(levels):
    """What an owner and one server do about some reports."""
    n, functions = REPORTS[levels], functions_of(levels)
    cells = SystemEntropy().words(n) >> np.uint64(64 - levels)
    keys, _ = functions.generate(cells, SystemEntropy())
    names = np.zeros((n, MESSAGE_BYTES), np.uint8)
    return {
        "made": lambda: functions.generate(cells, SystemEntropy()),
        "checked and expanded": lambda: functions.check(0, keys, names),
    }


def blocks(levels, what):
    """Blocks of the cipher for one report."""
    stops = functions_of(levels).stops
    nodes = sum(2 << level for level in range(levels))
    ends = sum(1 << stop for stop in stops)
    return {
        "made": 4 * levels + 8 * len(stops),
        "checked and expanded": nodes + 4 * ends,
    }[what]


def one_turn(levels):
    """Seconds a report of every task, and of a raw block."""
    n = REPORTS[levels]
    found = {name: seconds(work, n) for name, work in tasks(levels).items()}
    return found | {"raw": 1 / raw_rate()}


def time_text(one):
    """A time in words."""
    return f"{one * 1e6:,.1f} us" if one < 1e-3 else f"{one * 1e3:.2f} ms"


def rows(turns):
    """Yield the table of times."""
    for levels in REPORTS:
        one_turn(levels)  # the clock is up
        found = [one_turn(levels) for _ in range(turns)]
        for name in list(found[0])[:-1]:
            times = [turn[name] for turn in found]
            cost = blocks(levels, name)
            part = statistics.median(cost * turn["raw"] / turn[name] for turn in found)
            yield (
                f"| {levels} | {name} | {time_text(statistics.median(times))} | "
                f"{time_text(min(times))} | {cost:,} | {part:.1%} |"
            )
        both = [turn["made"] + turn["checked and expanded"] for turn in found]
        middle = time_text(statistics.median(both))
        yield f"| {levels} | made, checked and expanded | {middle} | {time_text(min(both))} | | |"


def choices(turns):
    """Yield the best of some turns for other sizes of what is computed together."""
    kept = module._GROWN_KEYS, module._GROWN_PARENTS, module._GROWN_NODES
    yield "| keys | parents | nodes | at 8 levels | at 16 levels |"
    yield "|---:|---:|---:|---:|---:|"
    work = {levels: tasks(levels)["checked and expanded"] for levels in (8, 16)}
    for keys, parents in ((128, 2048), (256, 4096), (256, 16384)):
        for nodes in (4096, 16384, 65536):
            module._GROWN_KEYS, module._GROWN_PARENTS, module._GROWN_NODES = keys, parents, nodes
            best = [
                time_text(min(seconds(work[levels], REPORTS[levels]) for _ in range(turns)))
                for levels in (8, 16)
            ]
            yield f"| {keys} | {parents:,} | {nodes:,} | {best[0]} | {best[1]} |"
    module._GROWN_KEYS, module._GROWN_PARENTS, module._GROWN_NODES = kept


def report(turns):
    """Yield the lines of the report."""
    yield "# Verifiable point functions"
    yield ""
    yield f"Processor time a report, one thread, {turns} turns, of one server; reports are made by"
    yield "an owner, both halves. Printed by `python -m benchmarks.point_functions`. The last"
    yield "columns are the AES blocks a report needs, and their time in a large buffer as a part of"
    yield f"that taken. Others used the machine: {load()}."
    yield ""
    yield "| levels | what | median | best | blocks | of raw AES |"
    yield "|---:|---|---:|---:|---:|---:|"
    yield from rows(turns)
    yield ""
    sizes = ", ".join(f"{functions_of(levels).key_bytes} at {levels} levels" for levels in REPORTS)
    yield f"- bytes of a key: {sizes}"
    yield ""
    yield "## What was chosen"
    yield ""
    yield "The best of some turns of checking and expanding, for other numbers of keys, of parents"
    yield "of all keys at a stop, and of nodes that are computed together."
    yield ""
    yield from choices(min(turns, 5))


if __name__ == "__main__":
    main(report, __doc__, turns=15)
