"""Options of the federated commands that call both servers. Imports nothing numeric."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from attrs import frozen

from nolook.cli._options import form_of
from nolook.errors import ParameterError

if TYPE_CHECKING:
    from nolook.federated.batch import Batch
    from nolook.federated.client import ServerClient


_PATIENCE = 300.0  # seconds for a server that is busy or away


@frozen
class Servers:
    """A batch, and how to reach both of its servers."""

    batch: Annotated[Path, form_of("--batch FILE", "The batch, the same file for all.")]
    token_file: Annotated[
        list[Path],
        form_of("--token-file FILE", "Server 0's token; repeat the option for server 1's."),
    ]

    def __attrs_post_init__(self) -> None:
        check_extra()

    @property
    def files(self) -> list[Path]:
        """The files that are read."""
        return [self.batch, *self.token_file]

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
        if set.intersection(*(set(read_tokens(file)) for file in self.token_file)):
            raise ParameterError(
                "--token-file gives both servers the same token (give each its own, since the "
                "operator of one server could use it at the other"
            )
        first, second = (
            ServerClient(Access(*way), _PATIENCE, report=_tell)
            for way in zip(batch.servers, self.token_file, batch.authorities, strict=True)
        )
        with first, second:
            yield first, second


def _tell(message: str) -> None:
    sys.stderr.write(f"nolook: {message}\n")


def check_extra() -> None:
    """Refuse to go on without the libraries that only these commands need."""
    for name in ("cryptography", "starlette", "uvicorn"):
        if find_spec(name) is None:
            raise ParameterError(f"{name} is not installed: pip install 'nolook[federated]'")
