"""Sizes of a private regression's errors, and effects on the mean, on targets with a long tail.

Four tables with skewed targets: 20 random halves each, fitted by `linear` at epsilon .3 and 1.

- held: how often the intervals hold the quantiles that half and nine in ten of the errors have, of
  the rows of the fit, and of the other half of the table; over those that are given.
- typical error before: how often the interval of the root mean squared error, errors above four
  scales cut, holds the root mean squared error. Here, only where it is given.
- one-sided: how often large errors are said to be on one side.
- within: where they are, how often least squares of all rows differs from the coefficient by no
  more than the bound that is given, times what the other columns make of it, and the interval's
  half width; over coefficients with an interval.

    python -m benchmarks.error_sizes [--output benchmarks/results/error_sizes.md] [--processes 2]
        [--splits 20]
"""

from __future__ import annotations

import numpy as np

import nolook
from benchmarks.harness import in_parallel, less_redundant, main, table

# Of some the logarithm of the target is kept.
TABLES = {
    "house_16H": False,
    "sulfur": False,
    "Brazilian_houses": True,
    "SGEMM_GPU_kernel_performance": True,
}
MOST_ROWS, BUDGETS, DELTA = 40_000, (0.3, 1.0), 1e-6
SHARES = {"median_error": 0.5, "p90_error": 0.9}


def rows(name):
    """Return a table in its own units, without columns that follow from others."""
    X, y = table(name)
    places = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
    return less_redundant(X[places]), np.exp(y[places]) if TABLES[name] else y[places]


def holds(model, name, truth):
    """Return whether an interval holds a number; None if there is none."""
    ends = getattr(model, f"{name}_interval_")
    return None if ends is None else bool(ends[0] <= truth <= ends[1])


def differences(model, X, y):
    """Return whether least squares is as near each coefficient as is said."""
    design = np.column_stack([np.ones(len(y)), X])
    plain = np.linalg.lstsq(design, y, rcond=None)[0][1:]
    inflated = np.sqrt(np.diag(np.linalg.inv(np.corrcoef(X.T)))) / X.std(axis=0)
    half = np.ptp(model.coef_interval_, axis=1) / 2
    known = np.isfinite(half)
    within = np.abs(plain - model.coef_) <= model.cut_errors_.effect * inflated + half
    return within[known].tolist()


def measure(name, epsilon, splits):
    """Return what each of some fits of a table says, and whether it holds."""
    X, y = rows(name)
    found = []
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(len(y))
        train, other = order[: len(y) // 2], order[len(y) // 2 :]
        model = nolook.LinearRegression(epsilon, DELTA, random_state=seed).fit(X[train], y[train])
        errors = np.abs(y - model.predict(X))
        one = {"rmse": holds(model, "rmse", np.sqrt(np.mean(errors[train] ** 2)))}
        for measured, share in SHARES.items():
            ends = getattr(model, f"{measured}_interval_")
            one[measured] = holds(model, measured, np.quantile(errors[train], share))
            one[f"{measured}, others"] = holds(model, measured, np.quantile(errors[other], share))
            value = getattr(model, f"{measured}_")
            one[f"{measured}, width"] = None if ends is None else float(np.ptp(ends)) / value
        one["within"] = differences(model, X, y) if model.cut_errors_ else None
        found.append(one)
    return found


def _held(values):
    given = [value for value in values if value is not None]
    return f"{sum(given)} of {len(given)}" if given else "-"


def _width(values):
    given = [value for value in values if value is not None]
    return f"{np.median(given):.2f}" if given else "-"


def report(processes, splits):
    """Yield the lines of the report."""
    yield "# Sizes of errors, and effects on the mean, on skewed targets\n"
    yield f"{splits} random halves of each table, delta {DELTA}. By benchmarks/error_sizes.py.\n"
    yield (
        "| table | epsilon | half: held | other rows | width | 90 %: held | other rows | width "
        "| RMSE given, held | one-sided | effects within |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    tasks = [(name, epsilon, splits) for name in TABLES for epsilon in BUDGETS]
    measured_all = in_parallel(measure, tasks, processes)
    for (name, epsilon, _), found in measured_all.items():
        cells = []
        for measured in SHARES:
            columns = (measured, f"{measured}, others")
            cells += [_held([one[column] for one in found]) for column in columns]
            cells.append(_width([one[f"{measured}, width"] for one in found]))
        cells.append(_held([one["rmse"] for one in found]))
        told = [one["within"] for one in found if one["within"] is not None]
        cells += [f"{len(told)} of {len(found)}", _held([each for one in told for each in one])]
        yield f"| {name} | {epsilon} | {' | '.join(cells)} |"
    every = [one[size] for found in measured_all.values() for one in found for size in SHARES]
    given = [one for one in every if one is not None]
    yield f"\n- held, of all intervals of sizes given: {np.mean(given):.3f}"


if __name__ == "__main__":
    main(report, __doc__, processes=1, splits=20, quick={"splits": 2})
