"""An ROC curve of scores that never leave their owners: two servers and 2,000 owners, all local.

    python examples/federated.py [FOLDER]

sets two servers up in FOLDER (default: the current one), starts them on this machine, sends every
owner's report to both, and asks them for the curve. Strangers hold connections and say nothing
meanwhile, and one more owner sends a report that would count a thousand times: the servers reject
it. Only the process that plays the owners reads the scores; this script, the servers and the
analyst never do.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from shutil import copyfile

import numpy as np

from nolook.federated.batch_content import read_batch
from nolook.federated.client import Access, ServerClient, submit
from nolook.federated.point_functions import PointFunctions
from nolook.federated.reports import make_reports, unpack
from nolook.privacy.noise import SystemEntropy

SCORES = Path(__file__).parent / "data" / "bank_marketing_scores.parquet"
COMMAND = Path(sys.executable).with_name("nolook")
OWNERS = 2000
STRANGERS = 100  # at each server
START = 60  # seconds for a server to start


def nolook(*words):
    """Run a command and return what it printed."""
    command = [COMMAND, *map(str, words)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def free_ports(count):
    """Return ports that nothing listens on now."""
    with ExitStack() as stack:
        sockets = [
            stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)
        ]
        return [one.getsockname()[1] for one in sockets]


def set_up(folder, ports):
    """Set up both servers, give each what it needs of the other, and return their folders."""
    homes = [folder / f"server{role}" for role in (0, 1)]
    for home, port in zip(homes, ports, strict=True):
        words = ["--address", f"https://127.0.0.1:{port}", "--epsilon", 3]
        nolook("federated", "setup", home, *words)
    for home, other in (homes, homes[::-1]):
        copyfile(other / "public.json", home / "peer.json")
        copyfile(other / "hand-out" / "peer.token", home / "peer.token")
    return homes


def tokens(homes, who):
    """Return the files of the tokens that both servers made for owners or for the analyst."""
    return [home / "hand-out" / f"{who}.token" for home in homes]


def token_words(homes, who):
    """Return the words by which a command takes both tokens."""
    return [word for file in tokens(homes, who) for word in ("--token-file", file)]


@contextmanager
def server(home, batch, port):
    """Run one of the two servers."""
    words = ["serve", home, "--batch", batch, "--port", port]
    process = subprocess.Popen([COMMAND, "federated", *map(str, words)])
    try:
        wait_for(process, port)
        yield
    finally:
        process.terminate()
        process.wait()


def wait_for(process, port):
    """Return once a server takes connections."""
    end = time.monotonic() + START
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    sys.exit("a server did not start")


def describe(folder, homes):
    """Make the batch that names both servers and their keys; return its file."""
    batch = folder / "batch.json"
    words = ["--name", "deposits", "--kind", "roc", "--grid", f"{1 / 256}:1:{1 / 256}"]
    words += ["--epsilon", 1, "--minimum", OWNERS, "--output", batch]
    words += ["--column", "score", "--target", "deposit"]
    for role, home in enumerate(homes):
        words += [f"--server{role}", home / "public.json"]
    nolook("federated", "batch", *words)
    return batch


class Heavy(PointFunctions):
    """Point functions of an owner who wants to count a thousand times: no `nolook` makes these."""

    def generate(self, cells, source):
        """Make pairs of keys whose value at each cell is 1000 instead of 1."""
        for off in (999, -999):  # the sign of what is added is as random as the keys
            pair = super().generate(cells, source)
            for keys in pair:
                self._shape.parts(keys)["stops"][:, -1]["value"] += np.uint64(off % 2**64)
            if self.counted(pair) == 1000 * len(cells):
                return pair
        return self.generate(cells, source)

    def counted(self, pair):
        """Return what servers would count that add up all reports without a check."""
        shares = [self.check(role, keys, keys[:, :0]).counts for role, keys in enumerate(pair)]
        return int((shares[0] + shares[1]).view(np.int64).sum())


def forge(file, homes):
    """Send a report that would count a thousand times, with everything else as it should be."""
    batch = read_batch(file)
    heavy = Heavy(batch.functions.levels, batch.functions.context)
    vars(batch)["functions"] = heavy
    _, *halves = make_reports(batch, [0.5], np.array([True]), SystemEntropy())
    weight = heavy.counted([unpack(batch, half)[1] for half in halves])
    print(f"without the check, one forged report would count {weight:,} times")
    assert weight == 1000
    reached = zip(batch.servers, tokens(homes, "owner"), batch.authorities, strict=True)
    with ExitStack() as stack:
        servers = [stack.enter_context(ServerClient(Access(*each))) for each in reached]
        submit(batch, halves, servers)


def main():
    """Set up the servers, describe the batch, submit all reports, ask, end."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    folder.mkdir(parents=True, exist_ok=True)
    ports = free_ports(2)
    homes = set_up(folder, ports)
    batch = describe(folder, homes)
    with ExitStack() as stack:
        for home, port in zip(homes, ports, strict=True):
            stack.enter_context(server(home, batch, port))
        for port in ports * STRANGERS:  # who connect, and say nothing
            stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        start = time.perf_counter()
        words = ["--batch", batch, *token_words(homes, "owner"), "--table", SCORES]
        nolook("federated", "submit", *words, "--pending", folder / "pending")
        seconds = time.perf_counter() - start
        print(f"{OWNERS} owners reported to both servers in {seconds:.1f} s")
        forge(batch, homes)
        words = ["--batch", batch, *token_words(homes, "analyst")]
        written = ["--output", folder / "deposits.roc.json", "--report", folder / "deposits.html"]
        said = nolook("federated", "query", "--freeze", *words, *written)
        print(said, end="")
        assert f"{OWNERS:,} reports count. Not counted: 1 that" in " ".join(said.split())
        print(nolook("federated", "close", *words), end="")


if __name__ == "__main__":
    main()
