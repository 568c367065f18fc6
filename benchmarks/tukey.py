"""Speed of the Tukey regression against a plain implementation of its pseudocode.

The plain one loops over scikit-learn's LinearRegression, takes volumes as logarithms and runs the
published test and sampling (Amin et al., Algorithms 1 to 4) in NumPy. Our whole fit includes
private scales and whitening, which the plain one goes without; the mechanism alone does what that
does: block models, test and sampling, ours exact. Also: that test and sampling alone, the private
coordinates alone, what nothing can be faster than (one pass over the table, and LAPACK's solutions
of as many systems), and a large table against one fit of least squares.

    python -m benchmarks.tukey [--output benchmarks/results/tukey.md]
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from sklearn.linear_model import LinearRegression

import nolook
from benchmarks.harness import by_turns, main, medians
from nolook._numerics import undisturbed
from nolook.algorithms.tukey import release_basis, tukey_plan
from nolook.kernels.block_models import block_models
from nolook.kernels.moments import UNIT
from nolook.privacy.guarantee import Budget
from nolook.privacy.mechanisms.tukey_depth import TukeyRule, tukey_release
from nolook.privacy.noise import SystemEntropy
from nolook.statistics.block_moments import BlockMoments
from nolook.tables import table_from_arrays

EPSILON, DELTA = math.log(3), 1e-5
ROWS, FEATURES, MODELS = 22_000, 10, 1000
LARGE_ROWS, LARGE_FEATURES, LARGE_MODELS = 1_000_000, 29, 5000
REPEATS = 9


def table(rows, features, seed=0):
    """Return X and y of a linear model with standard normal columns."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, features))
    return X, X.sum(axis=1) + generator.normal(size=rows)


def plain_models(X, y, m, generator):
    """Fit one model to each part of a shuffled table."""
    parts = np.array_split(generator.permutation(len(y)), m)
    models = np.empty((m, X.shape[1] + 1))
    for i, part in enumerate(parts):
        fitted = LinearRegression().fit(X[part], y[part])
        models[i] = [fitted.intercept_, *fitted.coef_]
    return models


def plain_fit(X, y, m, generator):
    """Run the published mechanism."""
    models = plain_models(X, y, m, generator)
    half = EPSILON / 2
    columns = np.sort(models + 1e-10 * generator.normal(size=models.shape), axis=0)
    top = m // 2
    volumes = np.empty(top)
    for i in range(top):
        volumes[i] = np.sum(np.log(columns[m - 1 - i] - columns[i]))
    if plain_distance(volumes, m // 4, half) + generator.laplace(scale=1 / half) < (
        math.log(1 / (2 * DELTA)) / half
    ):
        return None
    shells = volumes[:-1] + np.log1p(-np.exp(volumes[1:] - volumes[:-1]))
    scores = np.append(shells, volumes[-1]) + half * np.arange(1, top + 1)
    scores[: m // 4 - 1] = -np.inf
    depth = int(np.argmax(scores + generator.gumbel(size=top)))
    return plain_point(columns, depth, generator)


def plain_distance(volumes, t, epsilon):
    """Lemma 3.6: for each k look for a g."""
    limit = math.log(DELTA / 8) - epsilon
    for k in range(t - 2, -1, -1):
        for g in range(1, len(volumes) - t - k - 1):
            if volumes[t - k - 2] - volumes[t + k + g] - epsilon * g / 2 <= limit:
                return k
    return -1


def plain_point(columns, depth, generator):
    """Draw a point of this depth by its slab."""
    m, d = columns.shape
    low, high = columns[depth], columns[m - 1 - depth]
    if depth + 1 >= m // 2:
        return generator.uniform(low, high)
    inner_low, inner_high = columns[depth + 1], columns[m - 2 - depth]
    sizes = np.empty(d)
    for j in range(d):
        sizes[j] = np.sum(np.log(inner_high[:j] - inner_low[:j]))
        sizes[j] += np.log(high[j] - low[j] - inner_high[j] + inner_low[j])
        sizes[j] += np.sum(np.log(high[j + 1 :] - low[j + 1 :]))
    slab = int(np.argmax(sizes + generator.gumbel(size=d)))
    point = generator.uniform(low, high)
    point[:slab] = generator.uniform(inner_low[:slab], inner_high[:slab])
    left, right = inner_low[slab] - low[slab], high[slab] - inner_high[slab]
    place = generator.uniform(0, left + right)
    point[slab] = low[slab] + place if place < left else inner_high[slab] + place - left
    return point


def our_models(X, y, m, generator):
    """Fit one model to each random block, as the mechanism does after standardising."""
    rows = np.trunc(np.column_stack([X, y]).T * UNIT)
    sums = BlockMoments(m, len(rows), int(np.abs(rows).max()))
    sums.update(rows, None, generator.integers(m, size=len(y)))
    steps = np.diag([1.0] + [1.0 / UNIT] * X.shape[1])
    return block_models(sums.value, steps) / UNIT


def our_release(models):
    """Release a deep point of the grid, or none."""
    rule = TukeyRule(len(models) // 8, 0.4 * EPSILON, 0.6 * EPSILON, DELTA)
    return tukey_release(np.rint(models).astype(np.int64), rule, SystemEntropy())


def our_mechanism(X, y, m, generator):
    """Run the mechanism on columns as they are."""
    return our_release(our_models(X, y, m, generator) * UNIT)


def our_fit(X, y, m, generator):  # noqa: ARG001 -- the noise is the operating system's
    """Run the estimator as a user does."""
    return nolook.TukeyRegressor(EPSILON, DELTA, n_models=m).fit(X, y)


def timings(functions, *arguments, repeats=REPEATS):
    """Median seconds of each function, taken in turns after one call of each."""
    generator = np.random.default_rng(1)
    programs = [partial(function, *arguments, generator) for function in functions]
    return medians(by_turns(programs, repeats + 1)[1:])


def exact_seconds(m, d):
    """Seconds for volumes, test and exact sampling alone."""
    models = np.random.default_rng(2).normal(size=(m, d)) * 2**20
    return float(timings([lambda _: our_release(models)])[0])


def our_basis(X, y, m, generator):  # noqa: ARG001
    """Release the coordinates of the models alone: scales and second moments."""
    plan = tukey_plan(Budget(EPSILON, DELTA), m)
    with undisturbed():
        return release_basis(table_from_arrays(X, y), plan, SystemEntropy(), lambda _: None)


def one_pass(X, y, m, generator):  # noqa: ARG001
    """Read the table once."""
    return X.sum() + y.sum()


def solutions(X, y, m, generator):  # noqa: ARG001
    """Solve as many systems as there are models by LAPACK."""
    d = X.shape[1] + 1
    return np.linalg.solve(np.broadcast_to(2.0 * np.eye(d) + 1.0, (m, d, d)), np.ones((m, d, 1)))


def large(X, y, generator):  # noqa: ARG001
    """Fit the large table."""
    return nolook.TukeyRegressor(EPSILON, DELTA, n_models=LARGE_MODELS).fit(X, y)


def least_squares(X, y, generator):  # noqa: ARG001
    """Fit least squares once."""
    return LinearRegression().fit(X, y)


def measure():
    """Return the ratios the report is about, by name."""
    X, y = table(ROWS, FEATURES)
    plain_m, our_m = timings([plain_models, our_models], X, y, MODELS)
    plain_f, our_a, our_f = timings([plain_fit, our_mechanism, our_fit], X, y, MODELS)
    limits = timings([our_basis, one_pass, solutions], X, y, MODELS)
    X, y = table(LARGE_ROWS, LARGE_FEATURES)
    ours, ols = timings([large, least_squares], X, y, repeats=3)
    return {
        "models": (plain_m, our_m, plain_m / our_m),
        "alone": (plain_f, our_a, plain_f / our_a),
        "fit": (plain_f, our_f, plain_f / our_f),
        "limits": limits,
        "exact": exact_seconds(MODELS, FEATURES + 1),
        "large": (ours, ols, ours / ols),
    }


def report():
    """Yield the lines of the report."""
    found = measure()
    yield "# Speed of the Tukey regression"
    yield ""
    yield "Medians in one run, taken in turns. Printed by `python -m benchmarks.tukey`."
    yield ""
    yield f"| n = {ROWS}, d = {FEATURES + 1}, m = {MODELS} | plain | ours | times faster |"
    yield "|---|---:|---:|---:|"
    for name, title in (
        ("models", "block models"),
        ("alone", "mechanism alone"),
        ("fit", "whole fit"),
    ):
        plain, ours, ratio = found[name]
        yield f"| {title} | {plain:.3f} s | {ours:.4f} s | {ratio:.0f} |"
    yield ""
    yield f"Volumes, test and exact sampling alone: {1000 * found['exact']:.1f} ms."
    basis, once, solved = (1000 * each for each in found["limits"])
    yield f"Private coordinates alone: {basis:.1f} ms. One pass over the table takes {once:.2f} ms,"
    yield f"and LAPACK's solutions of {MODELS} systems {solved:.1f} ms."
    yield ""
    ours, ols, ratio = found["large"]
    yield (
        f"n = {LARGE_ROWS}, d = {LARGE_FEATURES + 1}, m = {LARGE_MODELS}: {ours:.2f} s, "
        f"{ratio:.2f} times one scikit-learn fit of least squares ({ols:.2f} s)."
    )


if __name__ == "__main__":
    main(report, __doc__)
