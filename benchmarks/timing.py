"""What the time of a release tells: how it changes with the table, as ratios of medians.

Run with `python -m benchmarks.timing`. Every line compares two tables that differ in one thing; a
ratio far from 1 can be seen by whoever can measure the time.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

import nolook
from benchmarks.harness import by_turns, main, medians, seconds
from nolook.privacy._compare import floor_exponentials
from nolook.privacy._refine import LazyUniform, floor_exponential
from nolook.privacy.mechanisms.laplace import laplace_release
from nolook.privacy.mechanisms.top_k import canonical_lipschitz
from nolook.privacy.mechanisms.tukey_depth import TukeyRule, tukey_release
from nolook.privacy.noise import SystemEntropy

SOURCE = SystemEntropy()


def fits(rows_first, rows_second, *, extreme=False):
    """Fits of two tables."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(max(rows_first, rows_second), 5))
    y = X @ np.arange(5.0) + generator.normal(size=len(X))
    far = X.copy()
    if extreme:
        far[rows_second - 1] = 1e200
    return (
        lambda: nolook.LinearRegression().fit(X[:rows_first], y[:rows_first]),
        lambda: nolook.LinearRegression().fit(far[:rows_second], y[:rows_second]),
    )


def laplace(first, second, dtype):
    """Noise on ten thousand numbers of two sizes."""
    values = [np.array([value] * 10_000, dtype=dtype) for value in (first, second)]
    return tuple(lambda v=v: laplace_release(v, 1, 1.0, SOURCE) for v in values)


def sets(first, second):
    """Choices of ten out of a thousand."""
    return tuple(
        lambda scores=scores: canonical_lipschitz(scores, 10, 1.0, 1.0, SOURCE)
        for scores in (first, second)
    )


def points(first, second):
    """Deep points among a thousand models of ten numbers."""
    rule = TukeyRule(100, 1.0, 1.0, 1e-5)
    return tuple(lambda models=m: tukey_release(models, rule, SOURCE) for m in (first, second))


def doubtful():
    """A thousand geometric numbers, without and with one that float64 cannot decide."""
    words = np.full(1000, 2**63 + 12345, dtype=np.uint64)
    one = words.copy()
    one[500] = 2**39
    return tuple(lambda w=w: floor_exponentials(w, 700.0, lambda: 1) for w in (words, one))


def decide(times):
    """Decide what float64 cannot."""
    for _ in range(times):
        floor_exponential(LazyUniform(2**39, lambda: 1), Fraction(700))


def report():
    """Yield the lines of the table."""
    generator = np.random.default_rng(1)
    scores = np.arange(1000) * 100
    normal = generator.normal(size=(1000, 10))
    narrow, wide = ((normal * size).astype(np.int64) for size in (2**4, 2**40))
    lines = {
        "a fit; ten times as many rows": (fits(20_000, 200_000), 15),
        "a fit; one row more": (fits(19_999, 20_000), 60),
        "a fit; one row far away": (fits(20_000, 20_000, extreme=True), 60),
        "Laplace noise, 64 bits; values of 2^60 and not 0": (laplace(0, 2**60, np.int64), 200),
        "Laplace noise, Python ints; values of 2^100 and not 0": (laplace(0, 2**100, object), 100),
        "a set of 10 of 1000; equal scores and not distant ones": (sets(scores, scores * 0), 200),
        "a Tukey release; models far apart and not close": (points(narrow, wide), 60),
        "geometric numbers; one of a thousand decided exactly": (doubtful(), 200),
    }
    yield "what differs | seconds | ratio"
    for name, (tasks, runs) in lines.items():
        first, second = medians(by_turns(tasks, runs + 1)[1:])  # the first turn does not count
        yield f"{name} | {first:.6f} | {second / first:.2f}"
    yield f"one exact decision | {seconds(lambda: decide(100)) / 100:.6f} |"


if __name__ == "__main__":
    main(report, __doc__)
