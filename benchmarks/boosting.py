"""Time of a round of boosted AdaSSP against a plain one in NumPy, and the memory of a whole fit.

A table of 500,000 rows and 30 features of doubles in memory. The plain round is the pseudocode in
NumPy: predictions, clipped residuals, their products with the rows, noise, one linear solve. The
programs take turns in one process, and ratios are taken turn by turn. Memory is the peak of a
process of its own, less what it had after importing and fitting a small table.

    python -m benchmarks.boosting [--output benchmarks/results/boosting.md] [--repeats 15]
"""

from __future__ import annotations

import math
import os
import statistics

import numpy as np

from benchmarks.harness import in_own_process, main, seconds
from nolook.algorithms.glm.designs import Blocks, WeightedDesign, exact_gram
from nolook.algorithms.whitening import Spread
from nolook.privacy.noise import byte_source
from nolook.statistics.design_moments import product_sensitivity
from nolook.statistics.grid_models import GridModel
from nolook.statistics.weighted_rows import RESIDUAL_UNIT, UnitProducts
from nolook.tables import table_from_arrays
from papers.public_design import public_scaling

ROWS, FEATURES = 500_000, 30
IN_A_ROW = 10
UNIT, LIMIT, NORM, RESIDUAL = 2**12, 5.0, 7.0, 2

MEMORY = """
import numpy as np
import nolook
generator = np.random.default_rng(0)
small = generator.normal(size=(1000, {features}))
nolook.BoostedAdaSSPRegressor(1.0, 1e-6).fit(small, small[:, 0])
X, y = np.empty(({rows}, {features})), np.empty({rows})
before = memory("VmRSS")
for part in np.array_split(X, 100):
    generator.standard_normal(out=part)
generator.standard_normal(out=y)
nolook.BoostedAdaSSPRegressor(1.0, 1e-6).fit(X, y)
print(json.dumps([(memory("VmHWM") - before) / (X.nbytes + y.nbytes)]))
"""


def table():
    """Return features and target."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(ROWS, FEATURES))
    return X, X @ generator.normal(size=FEATURES) / 5 + generator.normal(size=ROWS)


def plain_round(design, label, theta, inverse, sigma, generator):
    """Take a round as the pseudocode has it, in NumPy."""
    residuals = np.clip(label - design @ theta, -RESIDUAL, RESIDUAL)
    gradient = design.T @ residuals + sigma * generator.normal(size=theta.size)
    return theta + inverse @ gradient


def blocks_of(X, y):
    """Return the rows of a table by public scales, kept in memory."""
    table, squared = table_from_arrays(X, y), int(NORM * UNIT) ** 2
    scaling = public_scaling(table.column_names, 1.0, LIMIT)
    design = WeightedDesign(scaling, squared, UNIT, Spread.standard(FEATURES))
    blocks = Blocks(table, design, math.inf)
    exact_gram(blocks)
    return blocks


def our_round(blocks, theta, inverse, source):
    """Take a round as nolook does, exact sums and exact noise."""
    design, largest = blocks.design, RESIDUAL * RESIDUAL_UNIT
    model = GridModel(*design.on_grid(theta))
    products = UnitProducts(model, 1, largest)
    sensitivity = product_sensitivity(design.squared_radius, largest)
    found = blocks.release(products, sensitivity, UNIT * RESIDUAL_UNIT, 0.03, source)
    return model.spacing * model.whole + inverse @ found.value


def seconds_of_a_round(work):
    """Return the time of a round, of several in a row as in a fit."""
    work()  # BLAS threads of the program before have come to rest
    return seconds(lambda: [work() for _ in range(IN_A_ROW)]) / IN_A_ROW


def programs():
    """Return the four programs by name."""
    X, y = table()
    design = np.column_stack([np.ones(ROWS), X])
    columns = np.asfortranarray(design)
    inverse = np.linalg.inv(design.T @ design)
    theta = np.linspace(-1.0, 1.0, FEATURES + 1)
    generator = np.random.default_rng(1)
    sigma = NORM * RESIDUAL / 0.03

    blocks, source = blocks_of(X, y), byte_source(None)
    return {
        "NumPy, rows together": lambda: plain_round(design, y, theta, inverse, sigma, generator),
        "NumPy, columns together": lambda: plain_round(
            columns, y, theta, inverse, sigma, generator
        ),
        "one read of X": X.max,
        "nolook": lambda: our_round(blocks, theta, inverse, source),
    }


def agreement():
    """Return the largest relative difference of the two gradients on a table none is clipped in."""
    X, y = table()
    part, label = X[:20_000].clip(-1, 1), y[:20_000]
    design = np.column_stack([np.ones(len(part)), part])
    theta = np.linspace(-1.0, 1.0, FEATURES + 1)
    plain = design.T @ np.clip(label - design @ theta, -RESIDUAL, RESIDUAL)
    blocks = blocks_of(part, label)
    model = GridModel(*blocks.design.on_grid(theta))
    exact = blocks.fold(UnitProducts(model, 1, RESIDUAL * RESIDUAL_UNIT)).value
    ours = exact.astype(float) / (UNIT * RESIDUAL_UNIT)
    return float(np.abs(ours - plain).max() / np.abs(plain).max())


def report(repeats):
    """Yield the lines of the report."""
    yield "# A round of boosted AdaSSP"
    yield ""
    yield f"{ROWS:,} rows, {FEATURES} features, doubles in memory, {os.cpu_count()} processors,"
    yield f"medians of {repeats} turns of {IN_A_ROW} rounds. nolook's round has exact sums and"
    yield "exact noise. Printed by `python -m benchmarks.boosting`."
    yield ""
    yield "| program | ms | nolook is so many times faster |"
    yield "|---|---:|---:|"
    work = programs()
    turns = [
        {name: seconds_of_a_round(program) for name, program in work.items()}
        for _ in range(repeats)
    ]
    ratios = {}
    for name in work:
        typical = 1000 * statistics.median(turn[name] for turn in turns)
        ratios[name] = statistics.median(turn[name] / turn["nolook"] for turn in turns)
        yield f"| {name} | {typical:.1f} | {ratios[name]:.2f} |"
    yield ""
    plain, read = ratios["NumPy, rows together"], ratios["one read of X"]
    yield f"- faster than NumPy's plain round on an ordinary array: {plain:.2f} times"
    yield f"- time over one read of X: {1 / read:.2f}"
    code = MEMORY.format(rows=ROWS, features=FEATURES)
    (memory,) = in_own_process(code)
    yield f"- peak memory of a fit, the table included: {memory:.2f} times the table"
    digits = -math.log10(agreement())
    yield f"- the two gradients agree to {digits:.1f} digits where no row is shrunk"


if __name__ == "__main__":
    main(report, __doc__, repeats=15)
