"""``nolook federated status``: how far a batch is at both servers."""

from __future__ import annotations

import sys

from nolook.cli._declared import with_options
from nolook.federated.commands._options import Servers


@with_options()
def status(servers: Servers) -> None:
    """Show the state and the number of reports of a batch at both servers.

    The analyst's tokens are needed. Nothing changes at the servers.
    """
    from nolook.federated.analyst import status as ask
    from nolook.federated.batch_content import read_batch
    from nolook.federated.client import printable

    batch = read_batch(servers.batch)
    with servers.clients(batch) as both:
        found = ask(batch, both)
    lines = [f"{batch.name}: {batch.kind}, answered once it has {batch.minimum} reports"]
    for role, one in enumerate(found):
        closed = "" if one.closed is None else f", closed {one.closed}"
        line = f"server {role}: {one.state}, {one.count} reports (opened {one.opened}{closed})"
        if one.agreed is not None:
            line += f"; {one.agreed} counted, {one.rejected} that the servers do not agree on"
        if one.missing is not None:
            line += f"; cannot be closed yet: {one.missing[1]}"
        lines.append(printable(line))
    sys.stdout.write("\n".join(lines) + "\n")
