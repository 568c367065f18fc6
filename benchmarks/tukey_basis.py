"""What the block models of the Tukey regression should see: whitened or raw columns.

In-sample R2 at epsilon = ln 3 and delta = 1e-5 on the papers' tables. `papers/amin2023/results` has
the published mechanism on the same tables.

    python -m benchmarks.tukey_basis [--output benchmarks/results/tukey_basis.md]
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics import r2_score

import nolook
from benchmarks import regressors
from benchmarks.harness import main
from benchmarks.regressors import DELTA, EPSILON, RUNS, table
from papers.amin2023 import RawTukeyRegressor

VERSIONS = {
    "whitened": nolook.TukeyRegressor,
    "raw": RawTukeyRegressor,
}


def scores(version, X, y):
    """Return R2 of each run, NaN where it failed."""
    found = np.full(RUNS, np.nan)
    for run in range(RUNS):
        try:
            model = version(EPSILON, DELTA, random_state=run).fit(X, y)
        except nolook.PrivateFitFailed:
            continue
        found[run] = r2_score(y, model.predict(X))
    return found


def cell(found):
    """Median, and failures if there are any."""
    failed = int(np.isnan(found).sum())
    if failed == len(found):
        return "failed"
    median = f"{np.nanmedian(found):.3f}"
    return f"{median} ({failed} failed)" if failed else median


def report():
    """Yield the lines of the report."""
    yield "# Coordinates of the block models"
    yield ""
    yield (
        f"In-sample R2, medians of those of {RUNS} runs that passed, epsilon = ln 3, delta = 1e-5, "
        "number of models automatic."
    )
    yield "Printed by `python -m benchmarks.tukey_basis`."
    yield ""
    yield f"| table | {' | '.join(VERSIONS)} |"
    yield "|---" + "|---:" * len(VERSIONS) + "|"
    for name in regressors.PUBLISHED:
        X, y = table(name)
        found = [scores(version, X, y) for version in VERSIONS.values()]
        yield f"| {name} | {' | '.join(map(cell, found))} |"


if __name__ == "__main__":
    main(report, __doc__)
