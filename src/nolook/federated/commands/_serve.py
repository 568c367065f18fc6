"""``nolook federated serve``: one of the two servers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nolook.errors import ParameterError
from nolook.federated.commands._options import check_extra

if TYPE_CHECKING:
    from nolook.federated.batch import Batch

__all__ = ["serve"]

_CALLERS = 8  # calls of a batch at once, but for reports


def serve(  # noqa: PLR0917 -- Typer gives every option by name
    role: Annotated[int, typer.Option(metavar="0|1", help="Which of the two it is.")],
    batch: Annotated[
        list[Path],
        typer.Option(metavar="FILE", help="A batch; may be given several times."),
    ],
    data: Annotated[Path, typer.Option(metavar="DIR", help="The folder for what is stored.")],
    ledger: Annotated[
        Path, typer.Option(metavar="FILE", help="Charged for every batch; of the relation replace.")
    ],
    tokens: Annotated[
        Path, typer.Option(metavar="FILE", help="Who may call, from `nolook federated token`.")
    ],
    certificate: Annotated[Path, typer.Option(metavar="FILE", help="This server's, in PEM.")],
    key: Annotated[Path, typer.Option(metavar="FILE", help="That certificate's key, in PEM.")],
    peer: Annotated[str, typer.Option(metavar="URL", help="The other server, with https://.")],
    peer_token_file: Annotated[
        Path, typer.Option(metavar="FILE", help="Holds the token that the other server made.")
    ],
    ca: Annotated[
        Path, typer.Option(metavar="FILE", help="The authority of the other server's certificate.")
    ],
    private_key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="From `nolook federated key`; opens owners' reports."),
    ] = None,
    client_ca: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Demand certificates of callers, of this authority."),
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 for any that is free.")] = 0,
    connections_per_address: Annotated[
        int, typer.Option(help="Owners' connections from one address; raise it behind a proxy.")
    ] = 100,
) -> None:
    """Take reports, and answer together with the other server. Neither sees a value."""
    check_extra()
    if role not in {0, 1}:
        raise ParameterError(f"--role is {role}; expected 0 or 1 (the other server has the other)")

    from nolook.federated.client import Access, ServerClient
    from nolook.federated.disk import make_folder, os_errors_as_store_errors
    from nolook.federated.private_key import read_private_key
    from nolook.federated.server.app import make_app
    from nolook.federated.server.batch_service import BatchService
    from nolook.federated.server.calls import Local
    from nolook.federated.server.connections import Connections, allow_files
    from nolook.federated.server.door import Door
    from nolook.federated.server.listening import Listening, listen
    from nolook.federated.server.rates import Rates
    from nolook.federated.server.release import check_ledger
    from nolook.federated.tokens import Tokens, read_tokens

    connections = Connections(connections_per_address)
    batches, known = _batches(batch), Tokens(tokens)
    if any(known.find(one) for one in read_tokens(peer_token_file)):
        raise ParameterError(
            "--peer-token-file holds a token of this server's own --tokens; expected one that the "
            "other server made"
        )
    private = None if private_key is None else read_private_key(private_key)
    doors = [Door(one, role, private) for one in batches]
    check_ledger(ledger)
    allow_files(len(batches))
    with os_errors_as_store_errors(data):
        make_folder(data)
    # A server that demands certificates shows its own to the other one.
    shown = (None, None) if client_ca is None else (certificate, key)
    with ServerClient(Access(peer, peer_token_file, ca, *shown), patience=5.0) as other:
        services = [BatchService(role, one, data / one.name, ledger, other) for one in batches]
        try:
            local = [Local(service, ThreadPoolExecutor(_CALLERS)) for service in services]
            app = make_app(list(zip(doors, local, strict=True)), known, connections, Rates())
            listening = Listening(host, port, certificate, key, client_ca)
            names = ", ".join(one.name for one in batches)
            listen(app, listening, connections, f"role {role} serves {names}")
        finally:
            for service in services:
                service.close()


def _batches(files: list[Path]) -> list[Batch]:
    from nolook.federated.batch_file import read_batch

    batches = [read_batch(file) for file in files]
    if len({one.name for one in batches}) < len(batches):
        raise ParameterError("--batch gives two batches of one name; expected each name once")
    return batches
