"""``nolook federated serve``: one of the two servers."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nolook.errors import ParameterError
from nolook.federated.commands._options import check_extra

if TYPE_CHECKING:
    from nolook.federated.batch import Batch


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
        Path,
        typer.Option(metavar="FILE", help="From `nolook federated key`; opens owners' reports."),
    ],
    client_ca: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Demand certificates of callers, of this authority."),
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 for any that is free.")] = 0,
    connections_per_address: Annotated[
        int, typer.Option(help="Owners' connections from one network address.")
    ] = 100,
    proxy: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="A proxy that passes TLS on; its connections begin with the PROXY protocol.",
        ),
    ] = None,
) -> None:
    """Take reports, and answer together with the other server. Neither sees a value."""
    check_extra()
    if role not in {0, 1}:
        raise ParameterError(f"--role is {role}; expected 0 or 1 (the other server has the other)")

    from nolook.federated.client import Access
    from nolook.federated.sealing import read_private_key
    from nolook.federated.server.app import make_app, refuse_unknown
    from nolook.federated.server.connections import Connections, allow_files
    from nolook.federated.server.release import check_ledger
    from nolook.federated.server.report_intake import ReportIntake
    from nolook.federated.server.running import answer, configured, listening, opened
    from nolook.federated.tokens import Tokens, read_tokens

    batches, known = _batches(batch), Tokens(tokens)
    if any(known.find(one) for one in read_tokens(peer_token_file)):
        raise ParameterError(
            "--peer-token-file holds a token of this server's own --tokens (the other server makes "
            "its peer token)"
        )
    check_ledger(ledger)
    trusted = _address(proxy)
    private = read_private_key(private_key)
    intakes = [ReportIntake(one, role, private) for one in batches]
    connections = Connections(connections_per_address)
    allow_files(len(batches))
    # A server that demands certificates shows its own to the other one.
    shown = (None, None) if client_ca is None else (certificate, key)
    access = Access(peer, peer_token_file, ca, *shown)
    configured(refuse_unknown, certificate, key, client_ca)  # before any file is made
    with (
        opened(role, batches, data, ledger, access) as services,
        listening(host, port, connections, trusted) as listener,
    ):
        app = make_app(list(zip(intakes, services, strict=True)), known, connections)
        names = ", ".join(one.name for one in batches)
        config = configured(app, certificate, key, client_ca)
        answer(config, listener, f"role {role} serves {names}")


def _address(proxy: str | None) -> str | None:
    """Return a network address as connections have it."""
    try:
        return None if proxy is None else str(ip_address(proxy))
    except ValueError:
        raise ParameterError(
            f"--proxy is {proxy!r}; expected the network address that it connects from"
        ) from None


def _batches(files: list[Path]) -> list[Batch]:
    from nolook.federated.batch_file import read_batch

    batches = [read_batch(file) for file in files]
    if len({one.name for one in batches}) < len(batches):
        raise ParameterError("--batch gives two batches of one name (leave one out)")
    return batches
