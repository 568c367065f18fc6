"""Two real servers: processes on loopback that speak TLS, with files of their own."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import time
from contextlib import suppress
from pathlib import Path
from shutil import copyfile

import nolook
from nolook.federated.batch_content import write_batch
from nolook.federated.client import Access, ServerClient
from nolook.federated.folder import Folder
from nolook.federated.sealing import seal
from nolook.federated.tokens import make_tokens
from tests.federated.certificates import Authority
from tests.federated.made import KEYS, PRIVATE

PATIENCE = 60.0  # seconds for a process to start


def free_ports(n):
    """Return ports that nobody listens at now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Pair:
    """Two servers for some batches.

    Parameters
    ----------
    forks : Forks
    folder : Path
    batches : sequence of Batch
    budget : float
        Epsilon of both ledgers.
    delta : float
        Of both ledgers.
    options : sequence
        Further words that start a server.
    """

    def __init__(self, forks, folder: Path, batches, *, budget=1e5, delta=0.0, options=()) -> None:
        self.forks, self.folder, self.options = forks, folder, options
        self.batches = [self._write(batch) for batch in batches]
        self.authority = Authority(folder)
        self.ca = self.authority.path
        self.ports = free_ports(2)
        self.urls = [f"https://127.0.0.1:{port}" for port in self.ports]
        self.processes = [None, None]
        self.errors = [folder / f"server{role}.errors" for role in (0, 1)]
        self.greetings = [folder / f"server{role}.greeting" for role in (0, 1)]
        self.homes = [Folder(folder / f"server{role}") for role in (0, 1)]
        for role, home in enumerate(self.homes):
            home.path.mkdir()
            certificate, key = self.authority.sign(f"server{role}")
            certificate.rename(home.certificate)
            key.rename(home.certificate_key)
            home.private_key.write_text(f"nolook private key {PRIVATE[role].hex()}\n")
            budgets = nolook.Budget(budget, delta)
            nolook.Ledger.create(home.ledger, budgets, name="all", relation="replace").close()
            public = {"url": self.urls[role], "key": KEYS[role], "authority": self.ca.read_text()}
            home.public.write_text(json.dumps(public))
        self.tokens = {
            who: [folder / f"{who}{role}.token" for role in (0, 1)]
            for who in ("owner", "analyst", "peer")
        }
        for who, files in self.tokens.items():
            for home, file in zip(self.homes, files, strict=True):
                file.write_text(make_tokens(who, home.tokens)[0])
        for role, home in enumerate(self.homes):
            copyfile(self.homes[1 - role].public, home.peer)
            copyfile(self.tokens["peer"][1 - role], home.peer_token)

    def _write(self, batch):
        path = self.folder / f"{batch.name}.json"
        write_batch(batch, path)
        return path

    def data(self, role) -> Path:
        return self.homes[role].state

    def words(self, role):
        """Return the words that start a server."""
        words = ["federated", "serve", self.homes[role].path, *self.options]
        for batch in self.batches:
            words += ["--batch", batch]
        return [*words, "--port", self.ports[role]]

    def launch(self, role, arm=None, root=None):
        """Start a server without waiting until it listens."""
        self.greetings[role].unlink(missing_ok=True)
        self.processes[role] = self.forks.run(
            self.words(role), self.greetings[role], self.errors[role], root or self.folder, arm
        )

    def listening(self, role):
        """Wait until a server listens; False if it ends instead."""
        patience = time.monotonic() + PATIENCE
        while self.processes[role].alive():
            with suppress(FileNotFoundError):
                if self.greetings[role].read_text().endswith(f" at {self.urls[role]}\n"):
                    return True
            assert time.monotonic() < patience, "a server did not start in time"
            time.sleep(0.005)
        self.kill(role)
        return False

    def start(self, *roles):
        for role in roles or (0, 1):
            self.launch(role)
        for role in roles or (0, 1):
            assert self.listening(role), self.errors[role].read_text()
        return self

    def kill(self, role):
        """End a server as `kill -9` does."""
        if self.processes[role] is not None:
            self.processes[role].kill()
            self.processes[role] = None

    def close(self):
        for role in (0, 1):
            self.kill(role)

    def access(self, who, role):
        return Access(self.urls[role], self.tokens[who][role], self.ca.read_text())

    def client(self, who, role, patience=30.0):
        return ServerClient(self.access(who, role), patience)

    def said(self):
        """Return all that both servers said of errors."""
        return "".join(path.read_text() for path in self.errors if path.exists())


class Caller:
    """Calls a server word for word, over a connection that is kept."""

    def __init__(self, pair, role, who="owner"):
        self._context = ssl.create_default_context(cafile=pair.ca)
        self.role, self.port = role, pair.ports[role]
        self.token = pair.tokens[who][role].read_text() if who else None
        self.source = None  # the network address to call from
        self._connection = None

    def __call__(self, method, path, body=None, headers=None):
        """Return the status and the document; a lost connection is opened again once."""
        if self._connection is None:
            self._connection = http.client.HTTPSConnection(
                "127.0.0.1",
                self.port,
                context=self._context,
                timeout=PATIENCE,
                source_address=self.source and (self.source, 0),
            )
        sent = {"authorization": f"Bearer {self.token}"} if self.token else {}
        try:
            self._connection.request(method, path, body, {**sent, **(headers or {})})
            response = self._connection.getresponse()
            content = response.read()
        except BaseException:
            self.close()
            raise
        if response.will_close:
            self.close()
        return response.status, json.loads(content) if content[:1] == b"{" else content

    def put(self, batch, *reports):
        """Send reports, sealed."""
        body = b"".join(seal(batch, self.role, report) for report in reports)
        return self("POST", f"/v1/batches/{batch.name}/reports", body)

    def connection(self):
        """Return a connection of its own, for what no client library would send."""
        source = self.source and (self.source, 0)
        plain = socket.create_connection(("127.0.0.1", self.port), PATIENCE, source)
        return self._context.wrap_socket(plain, server_hostname="127.0.0.1")

    def close(self):
        if self._connection is not None:
            with suppress(OSError):
                self._connection.close()
            self._connection = None
