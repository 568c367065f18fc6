"""Coverage of the logistic regression's intervals.

The truth is the likeliest model of the population for the columns, scales and norm of each release.
Rows are drawn anew from a law, or with replacement from a table that stands for a population.

    python -m benchmarks.logistic_coverage [--output benchmarks/results/logistic_coverage.md]
        [--runs 10]
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

import nolook
from benchmarks import harness
from benchmarks.harness import main

DELTA = 1e-6
TABLES = (
    "bank_marketing", "framingham_imputed", "amin_california", "amin_diamonds", "house_16H",
    "cpu_act", "SGEMM_GPU_kernel_performance", "diabetes_readmission",
)  # fmt: skip
NOT_CUT = ("bank_marketing", "framingham_imputed", "diabetes_readmission")
#: Law, size of the slopes, log-odds at 0, rows, epsilon.
LAWS = (
    ("normal", 0.3, 0.0, 20_000, 1.0),
    ("normal", 1.0, 0.0, 5_000, 1.0),
    ("normal", 1.0, 0.0, 20_000, 10.0),
    ("half of the columns binary", 0.5, -1.5, 5_000, 0.3),
    ("half of the columns binary", 0.5, -1.5, 20_000, 1.0),
    ("half of the columns skewed", 0.3, -1.0, 5_000, 1.0),
    ("half of the columns skewed", 0.3, -1.0, 20_000, 1.0),
)
SAMPLES = ((5_000, 1.0), (20_000, 1.0), (20_000, 3.0), (20_000, 10.0))


def drawn(law, slope, constant, rows, seed):
    """Return rows of six correlated columns, and classes."""
    generator = np.random.default_rng(seed)
    places = np.arange(6)
    near = 0.5 ** np.abs(places[:, None] - places)
    X = generator.normal(size=(rows, 6)) @ np.linalg.cholesky(near).T
    if "binary" in law:
        X[:, ::2] = X[:, ::2] > 0.3
    if "skewed" in law:
        X[:, ::2] = np.exp(X[:, ::2] / 2)
    slopes = np.random.default_rng(5).normal(size=6) * slope
    return X, generator.random(rows) < expit(constant + X @ slopes)


def truth(model, X, y):
    """Return the slopes, in the columns' units, that are the likeliest in a population."""
    scaling, kept = model.scaling_, model.scaling_.visible[:-1]
    low, high = (end[:-1] for end in scaling.limits)
    z = ((X - scaling.center[:-1]) / scaling.scale[:-1]).clip(low, high)
    z = ((z - model.spread_.center) @ model.spread_.map)[:, kept]
    z *= np.minimum(1.0, model.row_norm_ / np.maximum(np.linalg.norm(z, axis=1), 1e-300))[:, None]
    rows, theta = np.column_stack([np.ones(len(z)), z]), np.zeros(1 + z.shape[1])
    for _ in range(60):
        p = expit(rows @ theta)
        curvature = (rows * (p * (1 - p))[:, None]).T @ rows
        step = np.linalg.pinv(curvature, rcond=1e-7, hermitian=True) @ (rows.T @ (y - p))
        theta += step * min(1.0, 2.0 / np.abs(step).max())
        if np.abs(step).max() < 1e-6:
            break
    return model.spread_.map[:, kept] @ theta[1:] / scaling.scale[:-1]


def covered(epsilon, sample, population, runs):
    """Return how many intervals held the truth, how many were given, and of how many slopes."""
    held = given = slopes = 0
    for run in range(runs):
        model = nolook.LogisticRegression(epsilon, DELTA, random_state=run).fit(*sample(run))
        slopes += len(model.coef_)
        if not model.visible_:
            continue
        ends, true = model.coef_interval_, truth(model, *population)
        known = ~np.isnan(ends[:, 0])
        given += int(known.sum())
        held += int(((ends[:, 0] <= true) & (true <= ends[:, 1]))[known].sum())
    return held, given, slopes


def simulated(runs):
    """Yield the rows of simulated tables."""
    total = np.zeros(3)
    for law, slope, constant, rows, epsilon in LAWS:
        population = drawn(law, slope, constant, 500_000, 10**6)
        found = covered(
            epsilon,
            lambda run, law=(law, slope, constant, rows): drawn(*law, run),
            population,
            runs,
        )
        total += found
        yield f"| {law}, slopes of {slope:g} | {rows:,} | {epsilon:g} | {_shares(*found)} |"
    yield f"| all | | | {_shares(*total)} |"


def populations():
    """Yield the tables by name, with classes; and less columns that follow from others."""
    for name in TABLES:
        X, y = harness.table(name)
        y = y.astype(bool) if name in NOT_CUT else y > np.median(y)
        yield name, X, y
        fewer = harness.less_redundant(X)
        if len(fewer.T) < len(X.T):
            yield f"{name}, levels left out", fewer, y


def real(runs):
    """Yield the rows of samples from tables."""
    total = np.zeros(3)
    for name, X, y in populations():
        for rows, epsilon in SAMPLES:

            def sample(run, X=X, y=y, rows=rows):
                some = np.random.default_rng(run).integers(len(y), size=rows)
                return X[some], y[some]

            found = covered(epsilon, sample, (X, y), max(2, runs // 4) if len(X.T) > 99 else runs)
            total += found
            yield f"| {name} | {rows:,} | {epsilon:g} | {_shares(*found)} |"
    yield f"| all | | | {_shares(*total)} |"


def _shares(held, given, slopes):
    share = "-" if given == 0 else f"{held / given:.3f}"
    return f"{share} | {given / slopes:.2f}"


def report(runs):
    """Yield what intervals cover, and of how many coefficients there is one."""
    yield "# Coverage of the 95 % intervals of a private logistic regression's slopes"
    yield ""
    yield (
        f"Shares of the intervals given that hold the truth, {4 * runs} runs of simulated tables "
        f"and {runs} samples of real ones (of wide ones a quarter, but at least 2)."
    )
    yield "Printed by `python -m benchmarks.logistic_coverage`."
    yield ""
    for head, lines in (("simulated table", simulated(4 * runs)), ("population", real(runs))):
        yield f"| {head} | rows | epsilon | cover | given |"
        yield "|---|---:|---:|---:|---:|"
        yield from lines
        yield ""


if __name__ == "__main__":
    main(report, __doc__, runs=10)
