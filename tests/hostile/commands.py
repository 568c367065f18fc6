"""One row for each command that makes a release: its own words. A new one adds a row."""

from __future__ import annotations

import csv
import functools
import io
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import nolook
from tests.report.hand_made import fitted

__all__ = ["COMMANDS", "release"]


def _listed(columns: Sequence[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(columns)
    return line.getvalue()


def _grids(columns: Sequence[str]) -> list[str]:
    return [word for name in columns for word in ("--grid", f"{name}=0:10:1")]


_FOLDER = tempfile.TemporaryDirectory(prefix="nolook-models-")


@functools.cache
def _model(column: str) -> str:
    """Write a private model of some target from one column; return its file."""
    path = Path(_FOLDER.name) / f"{_model.cache_info().misses}.json"
    nolook.save(fitted((column, "what happened")), path)
    return str(path)


# For columns of numbers and the classes "y"; all are cheap.
COMMANDS: dict[str, Callable[[Sequence[str]], list[str]]] = {
    "fit": lambda columns: [
        *("--target", "y", "--features", _listed(columns)),
        *("--delta", "1e-6", "--method", "adassp"),
    ],
    "select": lambda columns: [
        *("--target", "y", "--features", _listed(columns)),
        *("-k", str(max(1, len(columns) - 1))),
    ],
    # The first column is what happened, if there is another one.
    "evaluate": lambda columns: [
        *("--target", columns[0] if len(columns) > 1 else "y"),
        *("--model", _model(columns[-1])),
        *("--positive", "1"),  # of doubles, which are numbers otherwise
    ],
    "ecdf": lambda columns: ["--column", columns[0], "--grid", "0:10:1"],
    "quantiles": lambda columns: ["--columns", _listed(columns), *_grids(columns)],
    "tabulate": lambda columns: [
        *("--mean", _listed(columns), "--median", _listed(columns[:1])),
    ],
    "compare-groups": lambda columns: ["--value", columns[0], "--by", "y", "--categories", "y=0,1"],
    "survival": lambda columns: ["--time", columns[0], "--event", "y", "--categories", "y=0,1"],
    "describe": lambda columns: ["--features", _listed(columns)],
    "roc": lambda columns: ["--score", columns[0], "--target", "y", "--grid", "0:10:1"],
    "calibration": lambda columns: ["--probability", columns[0], "--target", "y"],
}


def release(name: str, table: str, columns: Sequence[str]) -> list[str]:
    """Return the words of a command that makes a release of a table."""
    return [name, table, *COMMANDS[name](columns), "--epsilon", "1"]
