"""``nolook federated setup``: everything that a new server needs, in a folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from nolook.cli._declared import with_options
from nolook.federated.commands._options import check_extra

FolderArgument = Annotated[Path, typer.Argument(metavar="FOLDER", help="The server's folder.")]


@with_options(
    {
        "--address URL": "Where others reach the server, with https://.",
        "--delta": "The ledger's; above 0 for batches with a delta.",
    }
)
def setup(folder: FolderArgument, address: str, epsilon: float, delta: float = 0.0) -> None:
    """Make a server's keys, certificate, tokens and ledger, for all of its batches together.

    Epsilon and delta are the ledger's: all answers of this server together stay within them.
    """
    check_extra()
    from nolook.federated.folder import Folder
    from nolook.privacy.guarantee import Budget

    made = Folder(folder)
    port = made.make(address, Budget(epsilon, delta))
    sys.stdout.write(
        f"For the other server and the batch: {made.public}\n"
        f"Secret, one for each receiver: owner.token, analyst.token and peer.token (for the other "
        f"server) in {made.handed_out}\n"
        f"From the other server: its public.json as {made.peer}, its peer.token as "
        f"{made.peer_token}\n"
        f"Then: nolook federated serve {folder} --batch batch.json --host 0.0.0.0 --port {port}\n"
        f"Or, with the batch as {folder / 'batch.json'}: docker compose --project-directory "
        f"{folder} up --detach\n"
    )
