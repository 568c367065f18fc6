"""``nolook federated serve``: one of the two servers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nolook.cli._declared import with_options
from nolook.errors import ParameterError
from nolook.federated.commands._options import check_extra
from nolook.federated.commands._setup import FolderArgument

if TYPE_CHECKING:
    from nolook.federated.batch import Batch


@with_options(
    {
        "--batch FILE": "A batch; may be given several times.",
        "--host": "The address to listen at.",
        "--port": "0 for any that is free.",
        "--connections-per-address": "Owners' connections from one network address.",
        "--proxy ADDRESS": "A proxy that passes TLS on; its connections begin with the PROXY "
        "protocol.",
    }
)
def serve(
    folder: FolderArgument,
    batch: list[Path],
    host: str = "127.0.0.1",
    port: int = 0,
    connections_per_address: int = 100,
    proxy: str | None = None,
) -> None:
    """Take reports, and answer together with the other server. Neither sees a value."""
    check_extra()

    from nolook.federated.client import Access
    from nolook.federated.folder import Folder, read_party
    from nolook.federated.sealing import Unsealer, read_private_key
    from nolook.federated.server.app import make_app
    from nolook.federated.server.connections import Connections, allow_files
    from nolook.federated.server.release import check_ledger
    from nolook.federated.server.running import answer, configured, listening, opened
    from nolook.federated.tokens import Tokens, read_tokens

    files = Folder(folder)
    batches, known, peer = _batches(batch), Tokens(files.tokens), read_party(files.peer)
    if any(known.find(one) for one in read_tokens(files.peer_token)):
        raise ParameterError(
            f"{str(files.peer_token)!r} holds a token of this server (put the other server's "
            "peer.token there)"
        )
    check_ledger(files.ledger, batches)
    private = read_private_key(files.private_key)
    unsealers = [Unsealer(one, private) for one in batches]
    connections = Connections(connections_per_address)
    allow_files(len(batches))
    access = Access(peer.url, files.peer_token, peer.authority)
    config = configured(files.certificate, files.certificate_key)
    with (
        listening(host, port, connections, proxy) as listener,
        opened(unsealers, files, access) as services,
    ):
        app = make_app(services, known, connections)
        names = ", ".join(one.name for one in batches)
        answer(config, app, listener, f"{folder.name} serves {names}")


def _batches(files: list[Path]) -> list[Batch]:
    from nolook.federated.batch_content import read_batch

    batches = [read_batch(file) for file in files]
    if len({one.name for one in batches}) < len(batches):
        raise ParameterError("--batch gives two batches of one name (leave one out)")
    return batches
