"""``nolook federated close``: the end of a batch, whose answers stay."""

from __future__ import annotations

import sys

from nolook.cli._declared import with_options
from nolook.federated.commands._options import Servers


@with_options({"--unanswered": "End a batch without an answer; it will have none."})
def close(servers: Servers, unanswered: bool = False, quiet: bool = False) -> None:
    """End a batch at both servers: reports, sums and secrets are erased, answers stay.

    The analyst's tokens are needed.
    """
    from nolook.federated.analyst import end
    from nolook.federated.batch_content import read_batch

    batch = read_batch(servers.batch)
    with servers.clients(batch) as both:
        end(batch, both, unanswered=unanswered)
    if not quiet:
        sys.stdout.write(f"{batch.name} has ended at both servers\n")
