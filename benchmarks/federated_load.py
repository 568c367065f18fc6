"""How many reports a server takes in, over which connections, and who slows it down.

One server of two, on loopback: it has each sealed report opened, checked and on its disk before it
answers. Where owners come one by one, its processor time an owner is that of the quickest tenth, as
others used the machine; one core takes in 1 owner in that time. The time by the clock includes the
callers, who are on the same two cores. Where connections are kept, the processor time includes
everything up to the sum of all reports. A start is a new process: the median of 10, and the least.

    python -m benchmarks.federated_load [--output benchmarks/results/federated_load.md]
        [--owners 4000] [--strangers 2000] [--reports 100000]
"""

from __future__ import annotations

import math
import multiprocessing
import os
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from shutil import copyfile

import numpy as np

import nolook
from benchmarks.harness import main
from nolook.federated.batch import Batch
from nolook.federated.batch_content import write_batch
from nolook.federated.client import Access, ServerClient
from nolook.federated.folder import Folder, read_party
from nolook.federated.reports import MOST_TOGETHER, make_reports
from nolook.federated.sealing import seal, sealed_bytes
from nolook.federated.tokens import read_tokens
from nolook.privacy.noise import SystemEntropy

CALLERS = 2  # processes that play owners
THREADS = 8  # owners at once, of each of them
PARTS = 10  # of which the quickest is shown: others use the machine
STARTS = 10
ONE_ADDRESS = ("--connections-per-address", "512")
TICK = os.sysconf("SC_CLK_TCK")
NOLOOK = Path(sys.executable).with_name("nolook")


def prepared(folder, owners):
    """Set up two servers; return their folders, their public files and a batch for them."""
    with ExitStack() as stack:
        free = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2)]
        ports = [each.getsockname()[1] for each in free]
    homes = [Folder(folder / name) for name in ("server0", "server1")]
    for home, port in zip(homes, ports, strict=True):
        home.make(f"https://127.0.0.1:{port}", nolook.Budget(1.0))
    for home, other in (homes, homes[::-1]):
        copyfile(other.public, home.peer)
        copyfile(other.handed_out / "peer.token", home.peer_token)
    parties = [read_party(home.public) for home in homes]
    batch = Batch(
        "load",
        "ecdf",
        1.0,
        nolook.LinearGrid(0, 255, 1),
        owners,
        servers=tuple(one.url for one in parties),
        keys=tuple(one.key for one in parties),
        authorities=tuple(one.authority for one in parties),
    )
    write_batch(batch, folder / "batch.json")
    return homes, parties, batch


def server_of(folder, role=0):
    """Return the words that start a server."""
    home, file = folder / f"server{role}", folder / "batch.json"
    port = read_party(Folder(home).public).url.rpartition(":")[2]
    # All owners have one address here.
    return ("federated", "serve", home, "--batch", file, "--port", port, *ONE_ADDRESS)


@contextmanager
def served(words):
    """Run the server; give the process."""
    with subprocess.Popen([NOLOOK, *words], stdout=subprocess.PIPE, text=True) as process:
        if " serves load at " not in process.stdout.readline():
            sys.exit("the server did not start")
        try:
            yield process
        finally:
            process.terminate()


def spent(pid):
    """Return the processor seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def memory(pid):
    """Return the largest memory that a process had, in MB."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def sent(port, context, request):
    """Send a request over a connection of its own; tell whether the report is stored."""
    with suppress(OSError), ExitStack() as stack:
        plain = socket.create_connection(("127.0.0.1", port), timeout=30)
        plain = stack.enter_context(plain)
        line = context.wrap_socket(plain, server_hostname="127.0.0.1")
        stack.enter_context(line).sendall(request)
        return line.recv(12) == b"HTTP/1.1 200"
    return False


def called(port, ca, requests):
    """Send requests, each over a connection of its own; return how many were stored."""
    context = ssl.create_default_context(cadata=ca)
    fine = []

    def send(some):
        for request in some:
            # A stranger's place may be taken by the next one: an owner comes again.
            for _ in range(20):
                if sent(port, context, request):
                    fine.append(1)
                    break
                time.sleep(0.05)

    threads = [threading.Thread(target=send, args=(requests[k::THREADS],)) for k in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(fine)


def requests_of(batch, token, owners):
    """Return what each owner sends to server 0."""
    values = np.random.default_rng(0).integers(0, 256, owners).astype(float)
    _, first, _ = make_reports(batch, values, None, SystemEntropy())
    found = []
    for report in first:
        body = seal(batch, 0, report.tobytes())
        head = "POST /v1/batches/load/reports HTTP/1.1\r\nhost: x\r\n"
        head += f"authorization: Bearer {token}\r\ncontent-length: {len(body)}\r\n\r\n"
        found.append(head.encode() + body)
    return found


@contextmanager
def strangers(port, count):
    """Hold connections that say nothing, and open them again as the server ends them."""
    stop = threading.Event()

    def hold():
        with ExitStack() as stack:
            held = []
            while not stop.is_set():
                if len(held) == count:
                    held.pop(0).close()  # the server has ended it, or soon will
                with suppress(OSError):
                    held.append(stack.enter_context(socket.create_connection(("127.0.0.1", port))))
                # All of them come again within the time that a stranger has.
                stop.wait(10.0 / count)

    thread = threading.Thread(target=hold)
    if count:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        if count:
            thread.join()


def measured(owners, idle):
    """Return owners a second by the clock, processor seconds an owner, and memory in MB."""
    with tempfile.TemporaryDirectory() as name:
        homes, parties, batch = prepared(Path(name), owners)
        (token,) = read_tokens(homes[0].handed_out / "owner.token")
        requests = requests_of(batch, token, owners)
        ca, port = parties[0].authority, int(parties[0].url.rpartition(":")[2])
        with served(server_of(Path(name))) as process, strangers(port, idle):
            fresh = multiprocessing.get_context("spawn")  # a copy would lack the strangers' thread
            with ProcessPoolExecutor(CALLERS, mp_context=fresh) as pool:
                # Once for nothing, which starts the callers.
                list(pool.map(called, [port] * CALLERS, [ca] * CALLERS, [[]] * CALLERS))
                start, fine, used = time.perf_counter(), 0, []
                for part in range(PARTS):
                    before, some = spent(process.pid), requests[part::PARTS]
                    shares = [some[k::CALLERS] for k in range(CALLERS)]
                    fine += sum(pool.map(called, [port] * CALLERS, [ca] * CALLERS, shares))
                    used.append((spent(process.pid) - before) / len(some))
                seconds = time.perf_counter() - start
            most = memory(process.pid)
            if fine != owners:
                sys.exit(f"{owners - fine} of {owners} owners were not taken in")
    return owners / seconds, min(used), most


def sent_together(access, parts):
    """Send sealed reports, some in each request, over a connection that is kept."""
    with ServerClient(access) as client:
        return sum(client.put("load", part) for part in parts)


def streamed(reports, together):
    """Return processor seconds a report, checks included, of the callers too, and memory in MB."""
    with tempfile.TemporaryDirectory() as name:
        homes, parties, batch = prepared(Path(name), reports)
        values = np.random.default_rng(0).integers(0, 256, reports).astype(float)
        start = time.process_time()
        _, first, _ = make_reports(batch, values, None, SystemEntropy())
        sealed = [seal(batch, 0, one.tobytes()) for one in first]
        made = (time.process_time() - start) / reports
        parts = [sealed[k : k + together] for k in range(0, reports, together)]
        token = homes[0].handed_out / "owner.token"
        access = Access(parties[0].url, token, parties[0].authority)
        with served(server_of(Path(name))) as process:
            before = spent(process.pid)
            with ThreadPoolExecutor(THREADS) as pool:
                shares = [parts[k::THREADS] for k in range(THREADS)]
                fine = sum(pool.map(sent_together, [access] * THREADS, shares))
            if fine != reports:
                sys.exit(f"{reports - fine} of {reports} reports were not taken in")
            used = -1.0
            while used != (used := spent(process.pid) - before):
                time.sleep(1.5)  # until all reports are checked
            return used / reports, made, memory(process.pid)


def whole(words, folder):
    """Run a program to its end; return its seconds by the clock and of processor."""
    start = time.perf_counter()
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, cwd=folder) as process:
        _, status, used = os.wait4(process.pid, 0)
        seconds, process.returncode = time.perf_counter() - start, status
    if status:
        sys.exit(f"{words[0]} failed")
    return seconds, used.ru_utime + used.ru_stime


def until_ready(words):
    """Start a server; return the seconds until it listens, by the clock and of processor."""
    start = time.perf_counter()
    with served(words) as process:
        return time.perf_counter() - start, spent(process.pid)


def starts():
    """Return the seconds of each kind of process, by the clock and of processor."""
    python = (sys.executable, "-c")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        homes, *_ = prepared(folder, 1)
        words = [NOLOOK, "federated", "submit", "--batch", "batch.json", "--value", "31"]
        for home in homes:
            words += ["--token-file", home.handed_out / "owner.token"]
        kinds = {
            "`python -c pass`": lambda: whole((*python, "pass"), folder),
            '`python -c "import numpy"`': lambda: whole((*python, "import numpy"), folder),
            "`nolook federated serve`, until it listens": lambda: until_ready(
                server_of(Path(name))
            ),
        }
        found = {kind: [run() for _ in range(STARTS)] for kind, run in kinds.items()}
        with served(server_of(folder)), served(server_of(folder, 1)):
            sent = [whole(words, folder) for _ in range(STARTS)]
    return found | {"`nolook federated submit --value`, to its end": sent}


def report(owners, strangers, reports):
    """Yield the lines of the report."""
    about = __doc__.split("\n\n")[1].strip()
    yield from ("# Intake of a federated server", "", about, "")
    yield from ("## Every owner over a TLS connection of their own", "")
    heads = ("owners", "idle strangers", "owners/s by the clock", "ms of processor an owner")
    heads += ("owners/s of one core", "MB")
    yield from (f"| {' | '.join(heads)} |", "|" + "---:|" * len(heads))
    found = {}
    for count, idle in ((owners // 10, 0), (owners, 0), (owners, strangers)):
        clock, used, most = found[count, idle] = measured(count, idle)
        numbers = (f"{count:,}", f"{idle:,}", f"{clock:,.0f}", f"{1e3 * used:.2f}")
        yield f"| {' | '.join(numbers)} | {1 / used:,.0f} | {most:,.0f} |"
    few, alone, crowded = found.values()
    # What strangers take is theirs alone: they come again every 10 s, however many owners come.
    taken = crowded[0] * (crowded[1] - alone[1])
    yield ""
    yield f"- idle strangers take {1e3 * taken:,.0f} ms of processor a second, of a core's 1000"
    yield f"- what is left of one core takes in {1 - taken:.2f} times as many owners"
    yield f"- memory with 10 times as many owners: {alone[2] / few[2]:.2f} times"
    yield from ("", "## Reports over connections that are kept", "")
    heads = ("reports", "in a request", "ms of a server's processor a report")
    heads += ("reports/s of one core", "ms of an owner's", "MB")
    yield from (f"| {' | '.join(heads)} |", "|" + "---:|" * len(heads))
    for count, together in ((reports // 10, 1), (reports // 10, MOST_TOGETHER)):
        yield _line(count, together)
    yield _line(reports, MOST_TOGETHER)
    yield from ("", "## Start of a process", "")
    heads = ("process", "s by the clock", "at least", "s of processor", "at least")
    yield from (f"| {' | '.join(heads)} |", f"|---|{'---:|' * 4}")
    for kind, times in starts().items():
        both = [(statistics.median(each), min(each)) for each in zip(*times, strict=True)]
        yield f"| {kind} | {' | '.join(f'{one:.2f}' for pair in both for one in pair)} |"
    yield from ("", "## Bytes that an owner sends", "")
    yield "Both sealed halves of a report, next to the larger share and the proof of Prio3Histogram"
    yield "by the VDAF draft's formula (field elements of 16 bytes, chunks of the square root)."
    yield from ("", "| cells | nolook | Prio3Histogram |", "|---:|---:|---:|")
    for levels in (8, 16):
        grid = nolook.LinearGrid(1, 2**levels, 1)
        batch = Batch("x", "ecdf", 1.0, grid, servers=("a", "b"), keys=("0" * 64, "1" * 64))
        yield f"| {2**levels:,} | {2 * sealed_bytes(batch):,} | {prio3_bytes(2**levels):,} |"


def prio3_bytes(cells):
    """Return the bytes of the larger share and the proof of Prio3Histogram."""
    chunk = math.isqrt(cells)
    calls = -(-cells // chunk)
    points = 1 << calls.bit_length()  # the first power of two above the calls of the gadget
    return 16 * (cells + 2 * chunk + 2 * (points - 1) + 1)


def _line(reports, together):
    used, made, most = streamed(reports, together)
    numbers = (f"{reports:,}", str(together), f"{1e3 * used:.3f}", f"{1 / used:,.0f}")
    return f"| {' | '.join(numbers)} | {1e3 * made:.3f} | {most:,.0f} |"


if __name__ == "__main__":
    main(report, __doc__, owners=4_000, strangers=2_000, reports=100_000)
