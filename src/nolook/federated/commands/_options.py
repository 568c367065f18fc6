"""Options of the federated commands that call both servers. Imports nothing numeric."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from attrs import frozen

from nolook.errors import ParameterError

if TYPE_CHECKING:
    from nolook.federated.batch import Batch
    from nolook.federated.client import ServerClient


@frozen
class Servers:
    """A batch, and how to reach both of its servers."""

    batch: Annotated[Path, typer.Option(metavar="FILE", help="The batch, the same file for all.")]
    token_file: Annotated[
        list[Path],
        typer.Option(metavar="FILE", help="Server 0's token; repeat the option for server 1's."),
    ]
    ca: Annotated[Path, typer.Option(metavar="FILE", help="Certificates to trust, in PEM.")]
    server0: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="The server of role 0, with https://; by default as in the batch.",
        ),
    ] = None
    server1: Annotated[
        str | None, typer.Option(metavar="URL", help="The same for the server of role 1.")
    ] = None
    certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="For servers that require one, in PEM.")
    ] = None
    key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="That certificate's key, in PEM.")
    ] = None

    @property
    def files(self) -> list[Path]:
        """The files that are read."""
        return [self.batch, *self.token_file, self.ca]

    @contextmanager
    def clients(self, batch: Batch) -> Iterator[tuple[ServerClient, ServerClient]]:
        """Yield a client of each server of the batch."""
        from nolook.federated.client import Access, ServerClient
        from nolook.federated.tokens import read_tokens

        if len(self.token_file) != 2:
            count = len(self.token_file)
            times = "once" if count == 1 else f"{count} times"
            raise ParameterError(
                f"--token-file is given {times}; expected twice, for server 0 and for server 1"
            )
        if (self.certificate is None) != (self.key is None):
            raise ParameterError("--certificate and --key: give both or neither")
        given = (self.server0, self.server1)
        urls = [one or name for one, name in zip(given, batch.servers, strict=True)]
        if urls[0].rstrip("/") == urls[1].rstrip("/"):
            raise ParameterError("--server0 and --server1 are the same; expected two servers")
        if set.intersection(*(set(read_tokens(file)) for file in self.token_file)):
            raise ParameterError(
                "--token-file gives both servers the same token (give each its own, since the "
                "operator of one server could use it at the other"
            )
        first, second = (
            Access(url, token, self.ca, self.certificate, self.key)
            for url, token in zip(urls, self.token_file, strict=True)
        )
        with ServerClient(first) as one, ServerClient(second) as other:
            yield one, other


def calls_servers(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that takes `Servers` first the options that these are made from."""
    _, *own = signature(command, eval_str=True).parameters.values()
    shared = signature(Servers, eval_str=True).parameters

    def run(**given: Any) -> None:  # noqa: ANN401 -- Typer has checked the types
        check_extra()
        servers = Servers(**{name: given.pop(name) for name in shared})
        command(servers=servers, **given)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    options = sorted((*shared.values(), *own), key=lambda one: one.default is not Parameter.empty)
    run.__signature__ = Signature(options)  # type: ignore[attr-defined]
    return run


def check_extra() -> None:
    """Refuse to go on without the libraries that only these commands need."""
    for name in ("cryptography", "httpx", "starlette", "uvicorn"):
        if find_spec(name) is None:
            raise ParameterError(f"{name} is not installed: pip install 'nolook[federated]'")
