"""How many models the Tukey mechanism needs: the smallest number whose test passes.

For standard normal models, by simulation: the smallest m for which the test of
propose-test-release passes with probability 0.99. The result is the table that
`nolook.algorithms.tukey_models` reads.

    python scripts/tukey_models.py [--output src/nolook/algorithms/tukey_models.json]
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

import numpy as np

from nolook.algorithms.tukey import SAMPLE_SHARE, tukey_depth
from nolook.privacy.mechanisms.propose_test_release import distance_scale, passing_threshold

DIMENSIONS = (1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128)
EPSILONS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 16.0, 32.0)
DELTAS = (1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
PASS = 0.99
PRECISION = 1.01
OUTPUT = Path(__file__).resolve().parents[1] / "src/nolook/algorithms/tukey_models.json"


def log_volumes(models):
    """Logarithms of the volumes of depth 1, 2, ...; models have shape (m, d)."""
    columns = np.sort(models, axis=0)
    top = (len(columns) + 1) // 2
    widths = columns[::-1][:top] - columns[:top]
    return np.log(np.maximum(widths, 1e-12)).sum(axis=1)


def distance(volumes, depth, epsilon_sample, delta):
    """Distance to unsafety of `privacy.mechanisms.tukey_depth`, in floating point."""
    rate, top = epsilon_sample / 2, len(volumes)
    inner = np.append(volumes[1:], -np.inf)
    shells = volumes + np.log(-np.expm1(np.minimum(inner - volumes, -1e-15)))
    weights = np.logaddexp.accumulate((shells + rate * np.arange(1, top + 1))[::-1])[::-1]
    k = np.arange(0, min(depth - 1, top - depth))
    left = epsilon_sample + rate * (depth + k) + volumes[depth - k - 2]
    holds = left <= math.log(delta) + weights[depth + k]
    return int(np.argmin(holds)) - 1 if not holds.all() else len(k) - 1


def passing(d, m, epsilon, delta, repeats):
    """Probability that the test passes for m normal models in d dimensions."""
    generator = np.random.default_rng([d, m])
    epsilon_sample = SAMPLE_SHARE * epsilon
    epsilon_test = epsilon - epsilon_sample
    ratio = math.exp(-1 / distance_scale(epsilon_test))
    threshold = passing_threshold(epsilon_test, delta)
    chances = []
    for _ in range(repeats):
        volumes = log_volumes(generator.normal(size=(m, d)))
        missing = threshold - distance(volumes, tukey_depth(m), epsilon_sample, delta)
        late = ratio**missing / (1 + ratio) if missing > 0 else 0.0
        chances.append(late if missing > 0 else 1 - ratio ** (1 - missing) / (1 + ratio))
    return float(np.mean(chances))


def smallest(d, epsilon, delta, guess):
    """Smallest number of models that passes, to one per cent."""
    repeats = max(4, min(40, 200_000 // (guess * d)))

    def enough(m):
        return passing(d, m, epsilon, delta, repeats) >= PASS

    low, high = max(2, int(guess / 1.1)), math.ceil(guess * 1.1)
    while enough(low):
        if low == 2:
            return 2
        low, high = max(2, int(low / 1.3)), low
    while not enough(high):
        low, high = high, math.ceil(high * 1.3)
    while high - low > 1 and high > PRECISION * low:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def table():
    """Return the numbers of models, shape (dimensions, epsilons, deltas)."""
    found = np.zeros((len(DIMENSIONS), len(EPSILONS), len(DELTAS)), dtype=int)
    for i, d in enumerate(DIMENSIONS):
        for j, epsilon in reversed(list(enumerate(EPSILONS))):
            for k, delta in enumerate(DELTAS):
                if k:
                    guess = found[i, j, k - 1] + 10
                elif j + 1 < len(EPSILONS):
                    guess = found[i, j + 1, k] * EPSILONS[j + 1] / epsilon
                else:
                    guess = 60
                found[i, j, k] = smallest(d, epsilon, delta, int(guess))
        print(f"d = {d}: {found[i, 3].tolist()} at epsilon = {EPSILONS[3]}", flush=True)
    return found


def main():
    """Make the table and write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=OUTPUT)
    output = parser.parse_args().output
    document = {
        "dimensions": DIMENSIONS,
        "epsilons": EPSILONS,
        "deltas": DELTAS,
        "models": table().tolist(),
    }
    output.write_text(json.dumps(document) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
