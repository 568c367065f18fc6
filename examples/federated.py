"""An ROC curve of scores that never leave their owners: two servers and 2,000 owners, all local.

    python examples/federated.py [FOLDER]

makes certificates and tokens in FOLDER (default: the current one), starts two servers on this
machine, sends every owner's report to both, and asks them for the curve. Strangers hold connections
and say nothing meanwhile, and one more owner sends a report that would count a thousand times: the
servers reject it. Only the process that plays the owners reads the scores; this script, the servers
and the analyst never do.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
from certificates import Authority

from nolook.federated.batch_file import read_batch
from nolook.federated.client import Access, ServerClient, submit
from nolook.federated.point_functions import PointFunctions
from nolook.federated.reports import make_reports
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


def token(folder, role, *servers):
    """Make a token at each of some servers and return the files that hold them."""
    files = []
    for server in servers:
        file = folder / f"{role}{server}.token"
        file.write_text(
            nolook("federated", "token", role, "--file", folder / f"server{server}.tokens")
        )
        files.append(file)
    return files


@contextmanager
def server(role, folder, authority, ports, peer_token):
    """Run one of the two servers with its own ledger and folder."""
    certificate, key = authority.sign(f"server{role}")
    ledger = folder / f"server{role}.ledger"
    nolook("ledger", "create", ledger, "--epsilon", 3, "--delta", 0, "--relation", "replace")
    words = [
        *("--role", role, "--batch", folder / "batch.json", "--data", folder / f"state{role}"),
        *("--ledger", ledger, "--tokens", folder / f"server{role}.tokens"),
        *("--certificate", certificate, "--key", key, "--port", ports[role]),
        *("--peer", f"https://127.0.0.1:{ports[1 - role]}", "--peer-token-file", peer_token),
        *("--ca", authority.path, "--private-key", folder / f"server{role}.private"),
    ]
    process = subprocess.Popen([COMMAND, "federated", "serve", *map(str, words)])
    try:
        wait_for(process, ports[role])
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


def describe(folder, ports):
    """Make both servers' keys, and the batch that names servers and keys; return its file."""
    batch = folder / "batch.json"
    words = ["--name", "deposits", "--kind", "roc", "--grid", f"{1 / 256}:1:{1 / 256}"]
    words += ["--epsilon", 1, "--minimum", OWNERS, "--output", batch]
    for role, port in enumerate(ports):
        public = nolook("federated", "key", "--output", folder / f"server{role}.private").strip()
        words += [f"--server{role}", f"https://127.0.0.1:{port}", f"--key{role}", public]
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
        shares = [self.expand(role, keys)[-1] for role, keys in enumerate(pair)]
        return int((shares[0] + shares[1]).view(np.int64).sum())


def forge(folder, tokens, ca):
    """Send a report that would count a thousand times, with everything else as it should be."""
    batch = read_batch(folder / "batch.json")
    true = batch.functions
    vars(batch)["functions"] = Heavy(true.levels, true.stops, true.context)
    _, *halves = make_reports(batch, [0.5], np.array([True]), SystemEntropy())
    with ExitStack() as stack:
        reach = (Access(url, *files, ca) for url, *files in zip(batch.servers, tokens, strict=True))
        servers = [stack.enter_context(ServerClient(one)) for one in reach]
        submit(batch, halves, servers)


def main():
    """Describe the batch, start the servers, submit all reports, ask, end."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    folder.mkdir(parents=True, exist_ok=True)
    authority, ports = Authority(folder), free_ports(2)
    common = ["--batch", describe(folder, ports), "--ca", authority.path]
    # Each server makes a token for the other.
    known_by_1, known_by_0 = token(folder, "peer", 1, 0)
    owners, analyst = (token(folder, role, 0, 1) for role in ("owner", "analyst"))
    with (
        server(0, folder, authority, ports, known_by_1),
        server(1, folder, authority, ports, known_by_0),
        ExitStack() as strangers,
    ):
        for port in ports * STRANGERS:  # who connect, and say nothing
            strangers.enter_context(socket.create_connection(("127.0.0.1", port)))
        start = time.perf_counter()
        files = [word for file in owners for word in ("--token-file", file)]
        table = ["--table", SCORES, "--column", "score", "--target", "deposit"]
        nolook("federated", "submit", *common, *files, *table, "--pending", folder / "pending")
        seconds = time.perf_counter() - start
        print(f"{OWNERS} owners reported to both servers in {seconds:.1f} s")
        forge(folder, owners, authority.path)
        files = [word for file in analyst for word in ("--token-file", file)]
        written = ["--output", folder / "deposits.roc.json", "--report", folder / "deposits.html"]
        said = nolook("federated", "query", "--freeze", *common, *files, *written)
        print(said, end="")
        assert f"{OWNERS:,} reports count. Not counted: 1 that" in " ".join(said.split())
        print(nolook("federated", "close", *common, *files), end="")


if __name__ == "__main__":
    main()
