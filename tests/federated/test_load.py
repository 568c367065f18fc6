"""Many owners at once: nothing is lost, and how fast it went."""

from __future__ import annotations

import sys
import threading
import time

import numpy as np
import pytest
from attrs import evolve

from nolook.federated import analyst
from tests.federated.made import LOUD, SMALL, reports
from tests.federated.servers import Caller, Pair

UPLOADERS = 8
BATCH = evolve(SMALL, epsilon=LOUD)


def upload_all(pair, ids, sent):
    """Send every report by several uploaders at once; return which were new at either server."""
    new = [set(), set()]

    def upload(which):
        callers = [Caller(pair, role, "owner") for role in (0, 1)]
        for i in range(which, len(ids), UPLOADERS):
            for role, caller in enumerate(callers):
                if caller.put(BATCH, sent[role][i])[1].get("new"):
                    new[role].add(i)
        for caller in callers:
            caller.close()

    threads = [threading.Thread(target=upload, args=(k,)) for k in range(UPLOADERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return new


@pytest.mark.parametrize("owners", [300, pytest.param(2_000, marks=pytest.mark.slow)])
def test_many_owners_and_eight_uploaders(forks, tmp_path, capsys, owners):
    ids, *sent, values, _ = reports(BATCH, owners)
    pair = Pair(forks, tmp_path, [BATCH]).start()
    try:
        start = time.perf_counter()
        new = upload_all(pair, ids, sent)
        seconds = time.perf_counter() - start
        assert [len(one) for one in new] == [owners] * 2
        analysts = [pair.client("analyst", role) for role in (0, 1)]
        assert analyst.freeze(BATCH, analysts).startswith(f"{owners:,} reports count.")
        found = analyst.ask(BATCH, analysts)
        total = sum(answer.numbers["count"] for answer in found)
        wanted = np.bincount(values.astype(int), minlength=8)
        assert total[-8:].tolist() == wanted.tolist()
        assert pair.said() == ""
        for one in analysts:
            one.close()
    finally:
        pair.close()
    with capsys.disabled():
        rate = owners / seconds
        sys.stdout.write(f"\n{owners} owners, {UPLOADERS} uploaders: {rate:.0f} owners/s, both ")
        sys.stdout.write("servers, on this machine with whatever else it did\n")
