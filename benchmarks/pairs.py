"""All two-way tables of a table in one release, against AIM's synthetic rows.

AIM (McKenna and others 2022, at its defaults, with the same pairs as its workload) is the one of
private-pgm: clone github.com/ryan112358/private-pgm and name its folder `mechanisms`. Numbers are
cut at their deciles for both, so both are told the same levels; a row is the unit, epsilon is 1
and delta 1e-6. The error is the total variation between a pair's shares and the true ones, the
mean over pairs; nolook's is that of its estimates, AIM's that of its model and of its rows.

    python -m benchmarks.pairs --aim private-pgm/mechanisms [--peer PYTHON with mbi 1.1.0]
        [--runs 3] [--names bank_marketing,diabetes_readmission] [--columns 10] [--quick]
        [--output benchmarks/results/pairs.md]

--columns keeps the first so many columns of each table: without a graphics processor AIM takes
hours for all of them.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

import nolook
from benchmarks.harness import DATA, in_own_process, interpreter_with, main

EPSILON, DELTA = 1.0, 1e-6
NEEDS = ["mbi==1.1.0"]
#: Columns that the stored tables hold as one indicator for each level.
SPREAD = {
    "bank_marketing": ["job", "marital", "education", "contact", "poutcome"],
    "diabetes_readmission": [
        *("diag_1", "diag_2", "diag_3", "race"),
        *("admission_type_id", "discharge_disposition_id", "admission_source_id"),
    ],
}
MOST_LEVELS = 30
PROGRAM = """
import contextlib, io, itertools, json, sys, time
folder, path, seed, epsilon, delta = sys.argv[1:]
sys.path.insert(0, folder)
import numpy as np
from aim import AIM
from mbi import Dataset, Domain
stored = np.load(path)
names = list(stored.files)
sizes = [int(stored[name].max()) + 1 for name in names]
data = Dataset({name: stored[name] for name in names}, Domain(names, sizes))
pairs = list(itertools.combinations(names, 2))
def share(source, pair):
    counts = source.project(pair).datavector()
    return counts / counts.sum()
def error(source):
    each = (abs(share(data, pair) - share(source, pair)).sum() / 2 for pair in pairs)
    return float(np.mean(list(each)))
np.random.seed(int(seed))
begun = time.perf_counter()
with contextlib.redirect_stdout(io.StringIO()):
    model, rows = AIM(float(epsilon), float(delta)).run(data, [(pair, 1.0) for pair in pairs])
print(json.dumps([error(model), error(rows), time.perf_counter() - begun]))
"""


def levels_of(name, columns):
    """Return the code of each value of a table, by column; 0 columns are all."""
    frame = pd.read_parquet(DATA / f"{name}.parquet")
    for column in SPREAD[name]:
        own = [each for each in frame if each.startswith(f"{column}_")]
        frame[column] = frame[own].to_numpy().argmax(axis=1)
        frame = frame.drop(columns=own)
    return {
        column: pd.factorize(values, sort=True)[0]
        if values.nunique() <= MOST_LEVELS
        else pd.qcut(values, 10, labels=False, duplicates="drop").to_numpy()
        for column, values in frame.iloc[:, : columns or None].items()
    }


def released(codes):
    """Return the mean error of a release of all pairs, and its seconds."""
    frame = pd.DataFrame({name: own.astype(str) for name, own in codes.items()})
    levels = {
        name: [str(code) for code in range(int(own.max()) + 1)] for name, own in codes.items()
    }
    begun = time.perf_counter()
    found = nolook.tabulate(
        nolook.read_table(frame, categories=levels),
        all_pairs=[*codes],
        epsilon=EPSILON,
        delta=DELTA,
    )
    took = time.perf_counter() - begun
    (estimate,) = (each for each in found.measured if each.name == "estimate")
    errors = []
    for pair in combinations(codes, 2):
        sizes = [int(codes[name].max()) + 1 for name in pair]
        true = np.zeros(sizes)
        np.add.at(true, tuple(codes[name] for name in pair), 1.0)
        # Two more cells a column: values that are not declared, and missing ones.
        own = estimate.estimates.value[found.groups_of(pair)].reshape([size + 2 for size in sizes])
        whole = np.pad(true / true.sum(), ((0, 2), (0, 2)))
        errors.append(np.abs(own / own.sum() - whole).sum() / 2.0)
    return float(np.mean(errors)), took


def report(aim, peer, names, columns, runs):
    """Yield the lines of the page."""
    yield "# All pairs of columns"
    yield ""
    yield f"Mean total variation over pairs, epsilon {EPSILON:g}, of {runs} releases each; AIM at"
    yield "its defaults, in the same run. Seconds are medians; AIM's are of JAX on one processor."
    if columns:
        yield f"Of each table the first {columns} columns."
    yield ""
    yield "| table | columns | pairs | nolook | AIM | AIM's rows | ratio | seconds | AIM's |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    with interpreter_with(NEEDS, peer) as python, tempfile.TemporaryDirectory() as folder:
        for name in names.split(","):
            codes = levels_of(name, columns)
            path = Path(folder) / f"{name}.npz"
            np.savez(path, **codes)
            own, seconds = zip(*(released(codes) for _ in range(runs)), strict=True)
            found = [
                in_own_process(PROGRAM, aim, str(path), str(seed), EPSILON, DELTA, python=python)
                for seed in range(runs)
            ]
            model, rows, took = zip(*found, strict=True)
            cells = (f"{statistics.fmean(each):.4f}" for each in (own, model, rows))
            ratio = statistics.fmean(own) / statistics.fmean(model)
            pairs = len(codes) * (len(codes) - 1) // 2
            times = (f"{statistics.median(each):.3g}" for each in (seconds, took))
            cells = [name, str(len(codes)), str(pairs), *cells, f"{ratio:.2f}", *times]
            yield f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main(
        report,
        __doc__,
        aim="private-pgm/mechanisms",
        peer="",
        names=",".join(SPREAD),
        columns=0,
        runs=3,
        quick={"runs": 1},
    )
