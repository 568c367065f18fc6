"""Coverage of the logistic regression's intervals.

The truth is what each release estimates of the population: columns clipped by its scales, and rows
weighted by its norm as the likelihood's equation weighs them, with the mean that of the whole row.
Of a law the model is true, so that this is near the law's own slopes, the likelihood's value, which
intervals are held against as well. Rows are drawn anew from a law, or with replacement from a table
that stands for a population.

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
    return X, generator.random(rows) < expit(constant + X @ slopes_of(slope))


def slopes_of(slope):
    """Return a law's slopes."""
    return np.random.default_rng(5).normal(size=6) * slope


def truth(model, X, y):
    """Return the slopes, in the columns' units, that a release estimates of a population.

    They solve ``sum f^2 x (y - p(theta'x)) = 0`` over whole rows x = (1, z), z whitened and
    ``f = min(1, weight_norm_ / |x|)``.
    """
    scaling, kept = model.scaling_, model.scaling_.detected[:-1]
    low, high = (end[:-1] for end in scaling.limits)
    z = ((X - scaling.center[:-1]) / scaling.scale[:-1]).clip(low, high)
    z = ((z - model.spread_.center) @ model.spread_.map)[:, kept]
    rows = np.column_stack([np.ones(len(z)), z])
    weights = np.minimum(1.0, model.weight_norm_ / np.linalg.norm(rows, axis=1)) ** 2
    theta = likeliest(rows, weights, y)
    return model.spread_.map[:, kept] @ theta[1:] / scaling.scale[:-1]


def likeliest(rows, weights, y, mean=expit, slope=lambda p: p * (1 - p)):
    """Return the likeliest model of weighted rows; of those that are as likely the shortest.

    Means are a function of scores, and grow by `slope` of the mean.
    """
    theta = np.zeros(rows.shape[1])
    for _ in range(60):
        p = mean(rows @ theta)
        curvature = (rows * (weights * slope(p))[:, None]).T @ rows
        gradient = rows.T @ (weights * (y - p))
        step = np.linalg.pinv(curvature, rcond=1e-7, hermitian=True) @ gradient
        theta += step * min(1.0, 2.0 / np.abs(step).max())
        if np.abs(step).max() < 1e-6:
            break
    return theta


def covered(epsilon, sample, population, runs, law=np.nan):
    """Count the intervals that held the truth, those given, slopes, and those that held the law's.

    None holds a law's slopes that are not known.
    """
    held = given = slopes = lawful = 0
    for run in range(runs):
        model = nolook.LogisticRegression(epsilon, DELTA, random_state=run).fit(*sample(run))
        slopes += len(model.coef_)
        if not model.detected_:
            continue
        ends, true = model.coef_interval_, truth(model, *population)
        known = ~np.isnan(ends[:, 0])
        given += int(known.sum())
        held += _holding(ends[known], true[known])
        lawful += _holding(ends[known], np.broadcast_to(law, true.shape)[known])
    return held, given, slopes, lawful


def _holding(ends, values):
    return int(((ends[:, 0] <= values) & (values <= ends[:, 1])).sum())


def simulated(runs):
    """Yield the rows of simulated tables."""
    total = np.zeros(4)
    for law, slope, constant, rows, epsilon in LAWS:
        population = drawn(law, slope, constant, 500_000, 10**6)
        found = covered(
            epsilon,
            lambda run, law=(law, slope, constant, rows): drawn(*law, run),
            population,
            runs,
            slopes_of(slope),
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

            some = max(2, runs // 4) if len(X.T) > 99 else runs
            found = covered(epsilon, sample, (X, y), some)[:3]
            total += found
            yield f"| {name} | {rows:,} | {epsilon:g} | {_shares(*found)} |"
    yield f"| all | | | {_shares(*total)} |"


def _shares(held, given, slopes, *lawful):
    first, *rest = ("-" if given == 0 else f"{each / given:.3f}" for each in (held, *lawful))
    return " | ".join([first, f"{given / slopes:.2f}", *rest])


def report(runs):
    """Yield what intervals cover, and of how many coefficients there is one."""
    yield "# Coverage of the 95 % intervals of a private logistic regression's slopes"
    yield ""
    yield (
        f"Shares of the intervals given that hold the truth, {4 * runs} runs of simulated tables "
        f"and {runs} samples of real ones (of wide ones a quarter, but at least 2). The truth is "
        "what the release names: columns clipped and long rows with less weight. Of a simulated "
        "table the last column holds them against the slopes it was drawn by."
    )
    yield "Printed by `python -m benchmarks.logistic_coverage`."
    yield ""
    for head, lines in (("simulated table", simulated(4 * runs)), ("population", real(runs))):
        law = head == "simulated table"
        yield f"| {head} | rows | epsilon | cover | given |{' cover the law |' * law}"
        yield f"|---|---:|---:|---:|---:|{'---:|' * law}"
        yield from lines
        yield ""


if __name__ == "__main__":
    main(report, __doc__, runs=10)
