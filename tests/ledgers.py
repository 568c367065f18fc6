"""New ledgers for tests; each kind is made once and copied, since making one waits for the disk."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

import nolook

ENOUGH = nolook.Budget(9.0, 1e-3)


@functools.cache
def _content(budget: nolook.Budget, relation: str, name: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.ledger"
        nolook.Ledger.create(path, budget, name=name, relation=relation).close()
        return path.read_bytes()


def new_ledger(
    path: Path,
    budget: nolook.Budget = ENOUGH,
    relation: str = "add-remove",
    name: str = "a",
) -> Path:
    """Write a new ledger, in place of an older one."""
    for ending in ("-wal", "-shm"):
        Path(f"{path}{ending}").unlink(missing_ok=True)
    path.write_bytes(_content(budget, relation, name))
    return path
