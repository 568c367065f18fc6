"""How often the intervals of the default regression cover the truth, on simulated tables.

Normal features with autoregressive correlation, normal errors, epsilon = 1, delta = 1e-6. For each
kind of table: the share of coefficients whose 95 % interval covers the population's coefficient,
the mean half width of the intervals and the root mean squared error of the released coefficients
(both in units of the coefficients' standard deviation), and the share of runs whose interval of R2
covers the population's R2 of the released model.

    python -m benchmarks.intervals [--output benchmarks/results/intervals.md] [--runs 40]
"""

from __future__ import annotations

import numpy as np

import nolook
from benchmarks.harness import main

# rows, features, correlation of neighbouring features, noise over signal (standard deviations)
KINDS = [
    (4_000, 5, 0.0, 1.0),
    (20_000, 5, 0.5, 1.0),
    (4_000, 20, 0.5, 1.0),
    (20_000, 20, 0.5, 1.0),
    (20_000, 20, 0.9, 1.0),
    (100_000, 10, 0.5, 0.3),
]


def simulate(rows, features, correlation, noise, seed):
    """Return X, y, the population's coefficients, the features' covariance and the error's sd."""
    generator = np.random.default_rng(seed)
    place = np.arange(features)
    covariance = correlation ** np.abs(place[:, None] - place)
    slopes = np.random.default_rng(7).normal(size=features)
    sd = noise * np.sqrt(slopes @ covariance @ slopes)
    X = generator.normal(size=(rows, features)) @ np.linalg.cholesky(covariance).T
    y = 3 + X @ slopes + generator.normal(scale=sd, size=rows)
    return 10 * X + 5, y, slopes / 10, 100 * covariance, sd


def one_run(kind, seed):
    """Return coverage, half width, error and coverage of R2 of one fit."""
    X, y, slopes, covariance, sd = simulate(*kind, seed)
    model = nolook.LinearRegression(1.0, 1e-6, random_state=seed).fit(X, y)
    low, high = model.coef_interval_.T
    wrong = model.coef_ - slopes
    true_r2 = 1 - (wrong @ covariance @ wrong + sd**2) / (slopes @ covariance @ slopes + sd**2)
    return (
        np.mean((low <= slopes) & (slopes <= high)),
        np.mean(high - low) / 2 / slopes.std(),
        np.sqrt(np.mean(wrong**2)) / slopes.std(),
        model.r2_interval_[0] <= true_r2 <= model.r2_interval_[1],
    )


def report(runs):
    """Yield the lines of the report."""
    yield "# Coverage of the 95 % intervals"
    yield ""
    yield f"Simulated tables, {runs} runs a row, epsilon = 1, delta = 1e-6."
    yield "Printed by `python -m benchmarks.intervals`."
    yield ""
    yield (
        "| rows | features | correlation | noise/signal | coverage | half width | error"
        " | coverage of R2 |"
    )
    yield "|---:|---:|---:|---:|---:|---:|---:|---:|"
    for kind in KINDS:
        mean = np.mean([one_run(kind, seed) for seed in range(runs)], axis=0)
        rows, features, correlation, noise = kind
        yield (
            f"| {rows:,} | {features} | {correlation} | {noise} | {mean[0]:.3f} | {mean[1]:.3f}"
            f" | {mean[2]:.3f} | {mean[3]:.2f} |"
        )


if __name__ == "__main__":
    main(report, __doc__, runs=40)
