"""Run the command line in this process or another, and make small tables for it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import nolook

BUDGET = ("--epsilon", "1", "--delta", "1e-6")


class Result(NamedTuple):
    """How a command ended."""

    status: int
    out: str
    err: str


def run(*words: object, cwd: Path, env: dict | None = None) -> Result:
    """Run `nolook` in a process of its own."""
    command = Path(sys.executable).with_name("nolook")
    return run_python_script([str(command), *map(str, words)], cwd=cwd, env=env)


def run_patched(program: str, *words: object, cwd: Path, env: dict | None = None) -> Result:
    """Run the command line in a process of its own after a few lines of Python."""
    script = f"import sys\n{program}\nsys.argv = {['nolook', *map(str, words)]!r}\n"
    script += "from nolook.cli import main\nmain()\n"
    return run_python_script([sys.executable, "-c", script], cwd=cwd, env=env)


def run_python_script(command: list[str], *, cwd: Path, env: dict | None) -> Result:
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "100", **(env or {})},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Result(done.returncode, done.stdout, done.stderr)


#: Of small tables: not a round number, which an estimate may happen to be.
ROWS = 4014


def says(text: str, number: int) -> re.Match | None:
    """Find a number that stands in a text by itself, not among the digits of another.

    The noisy number of rows, which may happen to be the true one, does not count.
    """
    text = re.sub(r"(?i)(about|fewer than) [\d,]+", "", text)
    return re.search(rf"(?<![\d.,]){number}(?!\d|\.\d)", text.replace(f"{number:,}", str(number)))


def columns(rows: int = ROWS, seed: int = 0) -> dict:
    """A small table: income depends on age and height; city is text, member a boolean."""
    generator = np.random.default_rng(seed)
    age = generator.uniform(20, 60, rows)
    height = generator.normal(170, 10, rows)
    return {
        "age": age,
        "height": height,
        "member": generator.random(rows) < 0.5,
        "city": generator.choice(["Bern", "Basel", "Chur"], rows),
        "income": 1000 * age + 50 * height + generator.normal(0, 3000, rows),
    }


def names_in(folder: Path) -> set[str]:
    """Name the files of a folder, a ledger and the table it started with apart."""
    names = {path.name for path in folder.iterdir()}
    return {name for name in names if not name.startswith(("a.ledger", "people.parquet"))}


def spent(folder: Path) -> tuple[float, list[str]]:
    """Return what a ledger was charged, and for what."""
    with nolook.Ledger(folder / "a.ledger") as ledger:
        return ledger.spent.epsilon, [entry.description for entry in ledger.history()]


def write_table(path: Path, data: dict) -> Path:
    pq.write_table(pa.table(data), path)
    return path
