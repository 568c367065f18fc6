"""What two servers cost an owner and a server: processor time, bytes sent and bytes on disk.

python -m benchmarks.federated_work [--output benchmarks/results/federated_work.md]
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

import nolook
from benchmarks.federated import PRIVATE, batch_of
from benchmarks.harness import load, main
from nolook.federated.point_functions import MESSAGE_BYTES, Checked
from nolook.federated.reports import make_reports
from nolook.federated.sealing import Unsealer, seal, sealed_bytes
from nolook.federated.server.store import Arrival, Store
from nolook.federated.shares import check_reports
from nolook.privacy.noise import SystemEntropy

TIMED = {8: 4096, 16: 256}  # levels and reports
TURNS = 5
STORED = 20_000
OWNERS = (10**6, 10**8)


def processor(work, things):
    """Return the processor seconds of each of n things, the least of some turns."""
    times = []
    for _ in range(TURNS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times) / things


def work_of(levels, reports):
    """Return what one report costs: seconds to make and seal both halves, open, and check one."""
    batch = batch_of("ecdf", 1.0, nolook.LinearGrid(1, 2**levels, 1))
    values = np.random.default_rng(0).uniform(1, 2**levels, reports)
    first = make_reports(batch, values, None, SystemEntropy())[1]
    sealed = [seal(batch, 0, one.tobytes()) for one in first]
    opener = Unsealer(batch, PRIVATE[0])

    def made():
        halves = make_reports(batch, values, None, SystemEntropy())[1:]
        for role, half in enumerate(halves):
            for one in half:
                seal(batch, role, one.tobytes())

    return (
        sealed_bytes(batch),
        processor(made, reports),
        processor(lambda: [opener.open(one) for one in sealed], reports),
        processor(lambda: check_reports(batch, 0, first), reports),
        stored_bytes(batch),
    )


def stored_bytes(batch):
    """Return the bytes on a server's disk for each report, and its id and message."""
    half = make_reports(batch, np.ones(1), None, SystemEntropy())[1][0].tobytes()
    ids = np.random.default_rng(0).bytes(32 * STORED)
    arrivals = [Arrival(ids[at : at + 32], half) for at in range(0, len(ids), 32)]
    with tempfile.TemporaryDirectory() as name:
        store = Store(Path(name) / "b", batch, 0, bytes(32))
        for start in range(0, STORED, 256):
            store.add(arrivals[start : start + 256])
        messages = np.zeros((STORED, MESSAGE_BYTES), np.uint8)
        store.add_checked(Checked(messages, store.sums))
        sums = store.sums.nbytes
        store.close()
        used = sum(path.stat().st_size for path in Path(name).rglob("*") if path.is_file())
    return (used - sums) / STORED


def report():
    """Yield the lines of the report."""
    yield from (
        "# Work of federated owners and servers",
        "",
        f"Processor time of one process, least of {TURNS} turns; an owner makes and seals both",
        "halves of a report, a server opens and checks its own, and adds it up. On its disk is the",
        "report until the answer is computed, with an id and a message of 32 bytes and their",
        f"index. Others used the machine: {load()}.",
        "",
        "| L | bytes a half | made and sealed, us | opened, us | checked, us | bytes on disk |",
        "|---:|---:|---:|---:|---:|---:|",
    )
    costs = {levels: work_of(levels, reports) for levels, reports in TIMED.items()}
    for levels, (sent, made, opened, checked, stored) in costs.items():
        times = " | ".join(f"{1e6 * one:,.0f}" for one in (made, opened, checked))
        yield f"| {levels} | {sent} | {times} | {stored:,.0f} |"
    yield from (
        "",
        "## On paper",
        "",
        "What a server needs for many owners, from the numbers above: core hours to check, disk,",
        "and what it reads from the other server. TLS and parsing come on top.",
        "",
        "| owners | L | core hours | GB on disk | GB between the servers, each way |",
        "|---:|---:|---:|---:|---:|",
    )
    for owners in OWNERS:
        for levels, (_, _, opened, checked, stored) in costs.items():
            hours = owners * (opened + checked) / 3600
            sizes = (owners * stored / 1e9, owners * (32 + MESSAGE_BYTES) / 1e9)
            yield f"| {owners:,} | {levels} | {hours:,.1f} | {sizes[0]:,.1f} | {sizes[1]:,.2f} |"


if __name__ == "__main__":
    main(report, __doc__)
