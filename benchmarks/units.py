"""What it costs to protect units with all their rows, and whether the answers stay right.

*Time.* 10,000,000 rows of 1,000,000 units, 30 features, one Parquet file: a fit that protects units
beside one that protects rows, each in a process of its own, taking turns.

*Accuracy.* 100,000 visits of 20,000 patients, of whom a fifth are held out: R2 on the held-out
patients' visits, each patient counting once, of the fit that protects patients, of the fit on one
visit of each, and of fits with a fixed number of visits each.

*Large units.* Units of 1,000,000 rows, sorted by value: how far the exact weighted mean is from the
mean over units of their means, in scales.

*Intervals.* Panels with 1 to 50 rows a unit, features and errors correlated within a unit: how many
of the 95 % intervals hold the coefficient.

    python -m benchmarks.units [--output benchmarks/results/units.md] [--runs 20] [--repeats 3]
        [--rows 10000000]
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import nolook
from benchmarks.fit import CHUNK, FEATURES
from benchmarks.harness import in_own_process, in_parallel, main, median_ratio, medians
from nolook.statistics.design_moments import DesignMoments
from nolook.tables.folding import Mapped

ROWS_PER_UNIT = 10
EPSILONS = (0.3, 1.0)
CORRELATIONS = (0.0, 0.3, 0.6, 0.9)
SIZES = ("1", "1 to 5", "1 to 50", "50")
UNITS = 4_000

FIT = """
import nolook
from nolook.estimators.linear import LinearRegression
table = nolook.read_table(sys.argv[1], "y", features={features}, unit={unit})
start = time.perf_counter()
LinearRegression(1.0, 1e-6).fit(table)
print(json.dumps([time.perf_counter() - start, memory("VmHWM") / 2**20]))
"""


def write_table(path, rows):
    """Write rows in random order, each of a random unit."""
    generator = np.random.default_rng(0)
    slopes = generator.normal(size=FEATURES)
    names = [f"x{j}" for j in range(FEATURES)]
    schema = pa.schema([*((name, pa.float64()) for name in (*names, "y")), ("id", pa.int64())])
    with pq.ParquetWriter(path, schema, use_dictionary=False) as writer:
        for _ in range(0, rows, CHUNK):
            X = generator.normal(size=(CHUNK, FEATURES)) * 3 + 10
            y = X @ slopes + generator.normal(size=CHUNK)
            ids = generator.integers(rows // ROWS_PER_UNIT, size=CHUNK)
            writer.write_table(pa.table([*X.T, y, ids], schema=schema), row_group_size=CHUNK)


def time_lines(rows, repeats):
    """Yield what the times and memory are."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        write_table(path, rows)
        features = [f"x{j}" for j in range(FEATURES)]
        programs = [FIT.format(features=features, unit=unit) for unit in (None, "'id'")]
        found = [[in_own_process(program, path) for program in programs] for _ in range(repeats)]
    turns = [[seconds for seconds, _ in turn] for turn in found]
    each, units = medians(turns)
    yield f"- a fit that protects rows: {each:.1f} s; units: {units:.1f} s"
    yield f"- protecting units takes {median_ratio(turns, 1, 0):.2f} times as long"
    yield f"- peak memory of the process: {max(turn[1][1] for turn in found):.0f} MB"


def visits(patients, rows, seed):
    """Return the patient of each visit, features and target: sicker patients come more often."""
    generator = np.random.default_rng(seed)
    illness = generator.normal(size=patients)
    often = np.exp(0.8 * illness)
    more = generator.choice(patients, size=rows - patients, p=often / often.sum())
    patient = generator.permutation(np.concatenate([np.arange(patients), more]))
    age = generator.uniform(20, 90, size=patients)[patient]
    blood = 120 + 8 * illness[patient] + 0.3 * (age - 55) + generator.normal(0, 10, rows)
    count = generator.poisson(np.exp(0.4 * illness[patient] + 0.5))
    sex = generator.integers(2, size=patients)[patient]
    X = np.column_stack([age, blood, count, sex])
    y = 40 + 0.8 * age + 0.25 * blood + 3 * count - 4 * sex
    y += 9 * generator.normal(size=patients)[patient] + 12 * generator.normal(size=rows)
    return patient, X, y


def held_out_r2(model, patient, X, y):
    """Return R2 over patients who count once each."""
    weights = 1.0 / np.bincount(patient)[patient]
    middle = np.average(y, weights=weights)
    errors = np.average((y - model.predict(X)) ** 2, weights=weights)
    return 1.0 - errors / np.average((y - middle) ** 2, weights=weights)


def as_table(patient, X, y, **unit):
    """Return a table of visits."""
    columns = {f"x{j}": column for j, column in enumerate(X.T)}
    features = list(columns)
    return nolook.read_table(
        pa.table({**columns, "y": y, "id": patient}), "y", features=features, **unit
    )


def accuracy(epsilon, run):
    """Return the R2 of each way to protect patients."""
    patient, X, y = visits(25_000, 125_000, run)
    test = patient >= 20_000
    rest = patient[~test], X[~test], y[~test]
    order = np.random.default_rng(run).permutation(rest[0].size)
    _, first = np.unique(rest[0][order], return_index=True)
    one = order[first]
    tables = {
        "weights": as_table(*rest, unit="id"),
        "one row of each": as_table(*(part[one] for part in rest)),
        **{
            f"at most {most}": as_table(*rest, unit="id", rows_per_unit=most) for most in (1, 5, 20)
        },
    }
    return {
        name: held_out_r2(
            nolook.LinearRegression(epsilon, 1e-6, random_state=run).fit(table),
            patient[test] - 20_000,
            X[test],
            y[test],
        )
        for name, table in tables.items()
    }


def accuracy_lines(runs):
    """Yield the mean R2, and how far weights are from one row of each patient."""
    yield "| epsilon | weights | one row of each | at most 1 | at most 5 | at most 20 |"
    yield "|---:|---:|---:|---:|---:|---:|"
    found = in_parallel(accuracy, [(e, run) for e in EPSILONS for run in range(runs)], 2)
    below = []
    for epsilon in EPSILONS:
        each = [found[epsilon, run] for run in range(runs)]
        means = {name: np.mean([one[name] for one in each]) for name in each[0]}
        yield f"| {epsilon} | " + " | ".join(f"{mean:.4f}" for mean in means.values()) + " |"
        less = np.median([one["one row of each"] - one["weights"] for one in each])
        below.append(f"- epsilon {epsilon}: weights are {less:.4f} below one row of each (median)")
    yield ""
    yield from below


def large_units():
    """Return the error of a weighted mean of units of a million rows, whose scale is 1."""
    generator = np.random.default_rng(0)
    rows, unit = 10**6, 2**14
    means, tables = [], []
    for number in range(5):
        values = np.sort(generator.normal(number, 1.0, rows))
        means.append(values.mean())
        tables.append(pa.table({"x": values, "y": values, "id": np.full(rows, number)}))
    table = nolook.read_table(pa.concat_tables(tables), "y", features=["x"], unit="id")
    whole = table.unit.weight_scale
    moments = DesignMoments(2, 51**2 * unit**2, whole)

    def grid_rows(numbers, weights):
        ones = np.full(numbers.shape[1], float(unit))
        yield np.stack([ones, np.trunc(numbers[-1] * unit)]), weights

    table.fold(Mapped(moments, grid_rows))
    mean = float(moments.value[0, 1]) / float(moments.value[0, 0])
    return abs(mean - np.mean(means))


def panel(correlation, sizes, seed):
    """Return the unit of each row, features, target and the true coefficients."""
    generator = np.random.default_rng(seed)
    low, _, high = sizes.partition(" to ")
    counts = generator.integers(int(low), int(high or low) + 1, size=UNITS)
    unit = np.repeat(np.arange(UNITS), counts)
    between, within = np.sqrt(correlation), np.sqrt(1.0 - correlation)

    def correlated(width):
        shared = generator.normal(size=(UNITS, width))[unit]
        return between * shared + within * generator.normal(size=(unit.size, width))

    X = correlated(4)
    X[:, 3] = generator.normal(size=UNITS)[unit]  # the same in all rows of a unit
    slopes = np.array([1.0, -0.5, 0.0, 0.7])
    y = 2 + X @ slopes + 1.5 * correlated(1)[:, 0]
    order = generator.permutation(unit.size)
    return unit[order], X[order], y[order], np.append(slopes, 2.0)


def covered(correlation, sizes, epsilon, run):
    """Tell of each coefficient, the intercept last, whether its interval holds it: None if none."""
    unit, X, y, truth = panel(correlation, sizes, run)
    table = as_table(unit, X, y, unit="id")
    model = nolook.LinearRegression(epsilon, 1e-6, random_state=run).fit(table)
    intervals = [*model.coef_interval_, model.intercept_interval_]
    return [
        None
        if one is None or np.isnan(one).any()
        else [bool(one[0] <= true <= one[1]), float(one[1] - one[0]) / 2]
        for one, true in zip(intervals, truth, strict=True)
    ]


def interval_lines(runs):
    """Yield the coverage by correlation within units and their sizes."""
    settings = [(c, s, e) for c in CORRELATIONS for s in SIZES for e in (1.0, 10.0)]
    found = in_parallel(covered, [(*one, run) for one in settings for run in range(runs)], 2)
    yield "| correlation | rows a unit | epsilon | coverage | least column | given | half width |"
    yield "|---:|---:|---:|---:|---:|---:|---:|"
    least = 1.0
    for one in settings:
        each = [found[(*one, run)] for run in range(runs)]
        given = [value for values in each for value in values if value is not None]
        share = np.mean([held for held, _ in given])
        columns = [[v[0] for v in column if v is not None] for column in zip(*each, strict=True)]
        lowest = min(np.mean(column) for column in columns if column)
        half = np.mean([half for _, half in given])
        correlation, sizes, epsilon = one
        yield (
            f"| {correlation} | {sizes} | {epsilon} | {share:.3f} | {lowest:.3f}"
            f" | {len(given) / sum(map(len, each)):.2f} | {half:.3f} |"
        )
        least = min(least, share)
    yield ""
    yield f"- least coverage of a setting: {least:.3f}"


def report(runs, repeats, rows):
    """Yield the lines of the report."""
    yield "# Units with all their rows"
    yield ""
    yield "Printed by `python -m benchmarks.units`."
    yield ""
    yield "## Time and memory"
    yield ""
    yield f"{rows:,} rows of {rows // ROWS_PER_UNIT:,} units in random order, {FEATURES} features."
    yield ""
    yield from time_lines(rows, repeats)
    yield ""
    yield "## R2 on held-out patients"
    yield ""
    yield f"100,000 visits of 20,000 patients; means of {runs} runs."
    yield ""
    yield from accuracy_lines(runs)
    yield ""
    yield "## Large units"
    yield ""
    yield f"- weighted mean of units of 1,000,000 rows, off by {large_units():.1e} scales"
    yield ""
    yield "## Intervals on panels"
    yield ""
    yield f"{UNITS:,} units; {runs} runs of four coefficients and an intercept."
    yield ""
    yield from interval_lines(runs)


if __name__ == "__main__":
    main(report, __doc__, runs=20, repeats=3, rows=10_000_000)
