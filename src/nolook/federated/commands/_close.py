"""``nolook federated close``: the end of a batch, whose answers stay."""

from __future__ import annotations

import sys

from nolook.cli._options import QuietOption
from nolook.federated.commands._options import Servers, calls_servers


@calls_servers
def close(servers: Servers, quiet: QuietOption = False) -> None:
    """End a batch at both servers: reports, sums and secrets are erased, answers stay.

    The analyst's tokens are needed. A batch that was not answered never will be.
    """
    from nolook.federated.analyst import end
    from nolook.federated.batch_file import read_batch

    batch = read_batch(servers.batch)
    with servers.clients(batch) as both:
        end(batch, both)
    if not quiet:
        sys.stdout.write(f"{batch.name} has ended at both servers\n")
