"""Options that the federated commands share. Imports nothing numeric."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nolook.errors import ParameterError

if TYPE_CHECKING:
    from nolook.federated.batch import Batch
    from nolook.federated.client import Access


BatchOption = Annotated[
    Path, typer.Option("--batch", metavar="FILE", help="The batch: one file for everybody.")
]
Server0Option = Annotated[
    str | None,
    typer.Option(
        "--server0",
        metavar="URL",
        help="The server of role 0, with https://; by default what the batch calls it.",
    ),
]
Server1Option = Annotated[
    str | None, typer.Option("--server1", metavar="URL", help="The server of role 1, likewise.")
]
TokenFileOption = Annotated[
    list[Path],
    typer.Option(
        "--token-file",
        metavar="FILE",
        help="Holds the token for server 0; give it again for server 1.",
    ),
]
CaOption = Annotated[
    Path, typer.Option("--ca", metavar="FILE", help="Certificates to trust, in PEM.")
]
ClientCertificateOption = Annotated[
    Path | None,
    typer.Option("--certificate", metavar="FILE", help="To show servers that demand one, in PEM."),
]
ClientKeyOption = Annotated[
    Path | None, typer.Option("--key", metavar="FILE", help="That certificate's key, in PEM.")
]


def check_extra() -> None:
    """Refuse to go on without the libraries that these commands alone need."""
    for name in ("cryptography", "httpx", "starlette", "uvicorn"):
        if find_spec(name) is None:
            raise ParameterError(
                f"this needs {name}, which is not installed; expected nolook with its federated "
                "part (pip install 'nolook[federated]')"
            )


def accesses(
    batch: Batch,
    servers: tuple[str | None, str | None],
    tokens: list[Path],
    ca: Path,
    certificate: Path | None,
    key: Path | None,
) -> tuple[Access, Access]:
    """Return how to reach both servers."""
    from nolook.federated.client import Access
    from nolook.federated.tokens import read_tokens

    if len(tokens) != 2:
        times = "once" if len(tokens) == 1 else f"{len(tokens)} times"
        raise ParameterError(
            f"--token-file is given {times}; expected twice, for server 0 and for server 1"
        )
    if (certificate is None) != (key is None):
        raise ParameterError("--certificate and --key are not both given; expected both or neither")
    urls = [given or name for given, name in zip(servers, batch.servers, strict=True)]
    if urls[0].rstrip("/") == urls[1].rstrip("/"):
        raise ParameterError("--server0 and --server1 are the same; expected two servers")
    if set(read_tokens(tokens[0])) & set(read_tokens(tokens[1])):
        raise ParameterError(
            "--token-file gives both servers the same token; expected one of each, since whoever "
            "runs one server could use it at the other"
        )
    first, second = (
        Access(url, token, ca, certificate, key) for url, token in zip(urls, tokens, strict=True)
    )
    return first, second
