"""Six tasks in each of the well-known libraries, each in an environment of its own.

    python -m benchmarks.comparison [--output benchmarks/results/comparison.md]

makes `.venv-comparison-NAME` for each library on first use (Tumult needs Java 17), runs its file in
it, and prints the page `benchmarks/results/comparison.md`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import harness

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
# File, name, and the packages, at the versions that were compared; NumPy and PyArrow come along.
LIBRARIES = {
    "nolook": ("nolook", None),
    "opendp": ("OpenDP", ["opendp==0.16.0"]),
    "diffprivlib": ("diffprivlib", ["diffprivlib==0.6.6", "scikit-learn<1.9"]),
    "tumult": ("Tumult", ["tmlt.analytics==0.21.0", "setuptools<81"]),
    "smartnoise": ("SmartNoise", ["smartnoise-sql==1.0.10", "setuptools<81"]),
    "pydp": ("Google (PyDP)", ["python-dp==1.1.5"]),
}
# What is asked, and what is written: numbers of digits differ.
TASKS = {
    "rows": ("number of rows: off by, rows", "{:.0f}"),
    "mean": ("mean weight: off by, carats", "{:.4f}"),
    "quartiles": ("quartiles of the weight: the worst off by, carats", "{:.3f}"),
    "groups": ("rows of each of 5 cuts: the worst off by, rows", "{:.0f}"),
    "regression": ("linear regression on 6 columns: R2", "{:.3g}"),
    "auc": ("area under a ROC curve: off by", "{:.4f}"),
}


def environment(name, packages):
    """Return the interpreter of a library's environment, made on first use."""
    if packages is None:
        return Path(sys.executable)
    folder = ROOT / f".venv-comparison-{name}"
    python = folder / "bin" / "python"
    if not (folder / "made").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        install = [python, "-m", "pip", "install", "--quiet", *packages, "numpy", "pyarrow"]
        subprocess.run(install, check=True)
        (folder / "made").touch()
    return python


def measured(name, packages):
    """Return what a library's file printed, by task."""
    command = [environment(name, packages), HERE / f"with_{name}.py"]
    single = {"OPENBLAS_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:  # Spark leaves one behind
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **single},
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
    lines = (line for line in done.stdout.splitlines() if line.startswith("{"))
    return {found["task"]: found for found in map(json.loads, lines)}


def cells(results, write):
    """Yield the rows of a table of tasks by libraries."""
    yield "| task | " + " | ".join(LIBRARIES[name][0] for name in results) + " |"
    yield "|---|" + "---|" * len(results)
    for task, (asked, digits) in TASKS.items():
        row = [write(found[task], digits) if task in found else "-" for found in results.values()]
        yield f"| {asked} | " + " | ".join(row) + " |"


def report():
    """Yield the lines of the page."""
    results = {name: measured(name, packages) for name, (_, packages) in LIBRARIES.items()}
    yield "# Six tasks in six libraries"
    yield ""
    yield "53,940 diamonds, epsilon = 1 for each task (delta = 1e-6 for the regression and"
    yield "SmartNoise), add/remove (diffprivlib's regression: replaced rows); the"
    yield "median of 20 runs, 5 of Tumult's. A star: something had to be guessed without looking"
    yield "at the table. A dash: the library does not offer it."
    yield "Printed by `python -m benchmarks.comparison`."
    yield ""
    yield "<!-- table -->"
    yield ""
    yield from cells(
        results, lambda one, digits: digits.format(one["value"]) + " \\*" * bool(one["guessed"])
    )
    yield ""
    yield "## What had to be guessed"
    yield ""
    yield from cells(results, lambda one, _: one["guessed"] or "nothing")
    yield ""
    yield "## Seconds of a run"
    yield ""
    yield from cells(results, lambda one, _: f"{one['seconds']:.2g}")


if __name__ == "__main__":
    harness.main(report, __doc__)
