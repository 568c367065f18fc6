"""How many owners a server takes in, each over a TLS connection of its own, and who slows it down.

One server of two, on loopback: it has the sealed report of every owner opened, checked and on its
disk before it answers. Its processor time an owner is that of the quickest tenth, as others used
the machine; one core takes in 1 owner in that time. The time by the clock includes the callers,
who are on the same two cores. With `--former`, runs alternate with those of a checkout of commit
9b5147b, whose servers could hold connections in two processes apart from the one with the files.

    python -m benchmarks.federated_load [--output benchmarks/results/federated_load.md]
        [--owners 20000] [--strangers 2000] [--former DIR] [--runs 5]
"""

from __future__ import annotations

import multiprocessing
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import numpy as np

import nolook
from benchmarks.harness import main
from examples.certificates import Authority
from nolook.federated.batch import Batch
from nolook.federated.batch_file import write_batch
from nolook.federated.reports import make_reports
from nolook.federated.sealing import make_private_key, seal
from nolook.federated.tokens import make_tokens
from nolook.privacy.noise import SystemEntropy

CALLERS = 2  # processes that play owners
THREADS = 8  # owners at once, of each of them
PARTS = 10  # of which the quickest is shown: others use the machine
# What runs in a checkout of the former server.
FORMER = """
from benchmarks.federated_load import measured
if __name__ == "__main__":
    print(*measured({owners}, 0))
"""
TICK = os.sysconf("SC_CLK_TCK")


def prepared(folder, owners):
    """Write all that a server needs; return its words, the batch, and an owner's token."""
    keys = [make_private_key(folder / f"private{role}") for role in (0, 1)]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    names = (f"https://127.0.0.1:{port}", "https://127.0.0.1:1")
    batch = Batch(
        "load", "ecdf", 1.0, nolook.LinearGrid(0, 255, 1), owners, servers=names, keys=tuple(keys)
    )
    write_batch(batch, folder / "batch.json")
    authority = Authority(folder)
    certificate, key = authority.sign("server")
    nolook.Ledger.create(
        folder / "ledger", nolook.Budget(1.0), name="load", relation="replace"
    ).close()
    (token,) = make_tokens("owner", folder / "tokens")
    (folder / "peer").write_text(make_tokens("peer", folder / "others")[0])
    words = ["federated", "serve", "--role", 0, "--batch", folder / "batch.json"]
    words += ["--data", folder / "data", "--ledger", folder / "ledger", "--ca", authority.path]
    words += ["--tokens", folder / "tokens", "--certificate", certificate, "--key", key]
    words += ["--private-key", folder / "private0", "--peer", names[1], "--port", port]
    words += ["--peer-token-file", folder / "peer"]
    words += ["--connections-per-address", 512]  # all owners have one address here
    return words, batch, token, authority.path, port


@contextmanager
def served(words):
    """Run the server; give the process."""
    command = Path(sys.executable).with_name("nolook")
    with subprocess.Popen(
        [command, *map(str, words)], stdout=subprocess.PIPE, text=True
    ) as process:
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
        return line.recv(12) in {b"HTTP/1.1 201", b"HTTP/1.1 200"}
    return False


def called(port, ca, requests):
    """Send requests, each over a connection of its own; return how many were answered by 201."""
    context = ssl.create_default_context(cafile=ca)
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
    ids, first, _ = make_reports(batch, values, None, SystemEntropy())
    found = []
    for name, report in zip(ids, first, strict=True):
        body = seal(batch, 0, report.tobytes())
        head = f"PUT /v1/batches/load/reports/{name.tobytes().hex()} HTTP/1.1\r\nhost: x\r\n"
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
        words, batch, token, ca, port = prepared(Path(name), owners)
        requests = requests_of(batch, token, owners)
        with served(words) as process, strangers(port, idle):
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


def measured_formerly(folder, owners):
    """Return the same of a former server, measured by its own benchmark."""
    script = Path(folder, "former.py")  # processes of a pool import it
    script.write_text(FORMER.format(owners=owners), encoding="utf-8")
    paths = os.pathsep.join([str(Path(folder).resolve()), str(Path(folder, "src").resolve())])
    done = subprocess.run(
        [sys.executable, script.name],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [float(number) for number in done.stdout.split()]


def compared(former, owners, runs):
    """Yield the lines that compare one process with a former server of three."""
    found = {"one process": [], "two for connections, one for files": []}
    for _ in range(runs):
        now, then = found.values()
        now.append(measured(owners, 0))
        then.append(measured_formerly(former, owners))
    now, then = (np.median(np.array(some), axis=0) for some in found.values())
    yield from ("", "## One process instead of three", "")
    yield f"Medians of {runs} runs each, by turns, of {owners:,} owners."
    heads = ("server", "owners/s by the clock", "ms of processor an owner")
    yield from ("", f"| {' | '.join(heads)} |", "|---|" + "---:|" * 2)
    for name, (clock, used, _) in zip(found, (now, then), strict=True):
        yield f"| {name} | {clock:,.0f} | {1e3 * used:.2f} |"
    cores = "two cores shared with the callers"
    yield ""
    yield f"- by the clock, on {cores}, one process takes in {now[0] / then[0]:.2f} times as many"
    yield f"- one core takes in {then[1] / now[1] / 2:.2f} times as many as three processes on two"


def report(owners, strangers, former, runs):
    """Yield the lines of the report."""
    about = __doc__.split("\n\n")[1].strip()
    yield from ("# Intake of a federated server: new TLS connections", "", about, "")
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
    if former is not None:
        yield from compared(former, owners // 10, runs)


if __name__ == "__main__":
    main(report, __doc__, owners=20_000, strangers=2_000, former=None, runs=5)
