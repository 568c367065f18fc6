"""``nolook federated close``: the end of a batch, whose answers stay."""

from __future__ import annotations

import sys
from contextlib import ExitStack

from nolook.cli._options import QuietOption
from nolook.federated.commands._options import (
    BatchOption,
    CaOption,
    ClientCertificateOption,
    ClientKeyOption,
    Server0Option,
    Server1Option,
    TokenFileOption,
    accesses,
    check_extra,
)


def close(
    batch: BatchOption,
    token_file: TokenFileOption,
    ca: CaOption,
    server0: Server0Option = None,
    server1: Server1Option = None,
    certificate: ClientCertificateOption = None,
    key: ClientKeyOption = None,
    quiet: QuietOption = False,
) -> None:
    """End a batch at both servers: reports, sums and secrets are erased, answers stay.

    The analyst's tokens are needed. A batch that was not answered never will be.
    """
    check_extra()

    from nolook.federated.analyst import end
    from nolook.federated.batch_file import read_batch
    from nolook.federated.client import ServerClient

    shared = read_batch(batch)
    reach = accesses(shared, (server0, server1), token_file, ca, certificate, key)
    with ExitStack() as stack:
        end(shared, [stack.enter_context(ServerClient(one)) for one in reach])
    if not quiet:
        sys.stdout.write(f"{shared.name} has ended at both servers\n")
