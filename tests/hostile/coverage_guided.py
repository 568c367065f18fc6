"""Feed a reader bytes that atheris chooses by what they reach; ends with an error at a fault.

Run as ``python -m tests.hostile.coverage_guided READER FOLDER -runs=N``.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import nolook

__all__ = ["READERS"]


def _table(path: Path) -> None:
    levels = {"c": ["Bern", "Basel", None], "d": ["x"]}
    for missing in ("zero", "drop-row"):
        opened = nolook.read_table(
            path, "y", features=["a", "b", "c", "d"], categories=levels, missing=missing
        )
        opened.read_through()
        for _ in opened.batches():
            pass


def _model(path: Path) -> None:
    nolook.save(nolook.load(path), path)
    nolook.load(path)


def _ledger(path: Path) -> None:
    with nolook.Ledger(path) as ledger:
        ledger.history()


READERS = {
    "csv": _table,
    "parquet": _table,
    "arrow": _table,
    "ipc": _table,
    "json": _model,
    "ledger": _ledger,
}


def main() -> None:
    """Run one reader."""
    import atheris

    # Only here: collecting tests imports this module, and must not change others.
    with atheris.instrument_imports(include=["nolook.tables", "nolook.formats", "nolook.privacy"]):
        for module in ("nolook.tables", "nolook.formats.model_file", "nolook.privacy.ledger"):
            importlib.import_module(module)
    name, folder = sys.argv[1:3]
    path = Path(folder) / f"input.{name}"

    def one(content: bytes) -> None:
        path.write_bytes(content)
        try:
            READERS[name](path)
        except nolook.NolookError as error:
            if "\n" in str(error):
                raise AssertionError("several lines") from error

    seeds = str(Path(folder) / "seeds")
    atheris.Setup([sys.argv[0], *sys.argv[3:], seeds], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
