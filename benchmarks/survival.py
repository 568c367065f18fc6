"""Whether the log-rank test holds its level, how often intervals are right, and a curve's error.

Everything is of `nolook.survival` itself, next to SciPy's curve and test without privacy on the
same rows. Times are days from exponential laws, rounded up; in the test's table groups are censored
at different rates. The error is of the table flchain of scikit-survival (7,874 rows, 2,169 deaths):
the root mean square over whole days up to the 99th percentile, against its exact curve.

    python -m benchmarks.survival [--wheel FILE] [--runs 200] [--quick]

The wheel is what `pip download --no-deps scikit-survival` stores; without it flchain is left out.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

import nolook
from benchmarks.harness import main

EPSILONS = (0.1, 0.3, 1.0)
SIZES = (500, 2_000, 20_000)
LEVEL = 0.05
FLCHAIN = "sksurv/datasets/data/flchain.arff"
#: Deviations from 0 that are found in 90 % of runs.
NINETY = 3.24
PLACES = np.array([100.0, 300.0, 600.0])


def drawn(generator, rows, mean, censoring):
    """Return days, and whether the event happened then."""
    ends, seen = generator.exponential(mean, rows), generator.exponential(censoring, rows)
    seen = np.minimum(seen, 900.0)
    return np.ceil(np.minimum(ends, seen)), ends <= seen


def read(days, happened, **columns):
    """Return a table of whole days."""
    frame = pd.DataFrame({"days": days.astype(int), "died": happened, **columns})
    return nolook.read_table(frame)


def censored(days, happened):
    """Return times as SciPy takes them."""
    return stats.CensoredData(uncensored=days[happened], right=days[~happened])


def row(*cells):
    """Return a row of a table."""
    return f"| {' | '.join(cells)} |"


def tests(runs):
    """Yield how often the log-rank test rejects equal hazards, and different ones."""
    yield row("rows", "epsilon", "hazards", "with a p-value", "p < .05", "SciPy: p < .05")
    yield row(*["---"] * 6)
    for rows in SIZES:
        for epsilon in EPSILONS:
            # About two in three have the event.
            other = np.exp(NINETY * 2.0 / np.sqrt(rows * 0.66))
            for ratio in (1.0, other) if rows > SIZES[0] else (1.0,):
                generator = np.random.default_rng(0)
                shown = found = peers = 0
                for run in range(runs):
                    sides = [
                        drawn(generator, rows // 2, 300.0 / hazard, limit)
                        for hazard, limit in ((1.0, 1_500.0), (ratio, 500.0))
                    ]
                    peers += stats.logrank(*(censored(*each) for each in sides)).pvalue < LEVEL
                    days, died = (np.concatenate(each) for each in zip(*sides, strict=True))
                    table = read(days, died, arm=np.arange(days.size) >= rows // 2)
                    tested = nolook.survival(
                        table, "days", "died", "arm", epsilon=epsilon, random_state=run
                    ).p_value
                    shown += tested is not None
                    found += tested is not None and tested < LEVEL
                    if run == runs // 5 and not shown:
                        break  # hardly any has one
                rates = f"{shown / runs:.2f}", f"{found / shown:.3f}" if shown else "-"
                done = run + 1
                yield row(
                    f"{rows:,}",
                    f"{epsilon:g}",
                    "equal" if ratio == 1.0 else f"{ratio:.2f} times",
                    *rates,
                    f"{peers / done:.3f}",
                )


def coverage(runs):
    """Yield how often intervals hold the truth."""
    yield row("rows", "epsilon", *(f"S({place:g})" for place in PLACES), "median", "SciPy: S(300)")
    yield row(*["---"] * 7)
    for rows, epsilon in ((2_000, 1.0), (20_000, 0.3), (20_000, 1.0)):
        generator, held = np.random.default_rng(1), np.zeros(5)
        for run in range(runs):
            days, died = drawn(generator, rows, 300.0, 900.0)
            curve = nolook.survival(
                read(days, died), "days", "died", epsilon=epsilon, random_state=run
            ).curves[0]
            _, low, high = curve.at(PLACES)
            truth = np.exp(-PLACES / 300.0)
            held[:3] += (low <= truth) & (truth <= high)
            # The population's median of days rounded up.
            _, low, high = curve.median()
            held[3] += (low or 0.0) <= 208.0 and (high is None or high >= 207.0)
            plain = stats.ecdf(censored(days, died)).sf.confidence_interval()
            ends = (each.evaluate(PLACES[1:2])[0] for each in (plain.low, plain.high))
            held[4] += next(ends) <= truth[1] <= next(ends)
        yield row(f"{rows:,}", f"{epsilon:g}", *(f"{each:.3f}" for each in held / runs))


def flchain(wheel):
    """Return the days and deaths of flchain."""
    with zipfile.ZipFile(wheel) as kept:
        lines = kept.read(FLCHAIN).decode().splitlines()
    names = [line.split()[1].strip("'\"") for line in lines if line.lower().startswith("@attr")]
    first = next(place for place, line in enumerate(lines) if line.lower().startswith("@data"))
    cells = [line.split(",") for line in lines[first + 1 :] if line]
    days = np.array([float(each[names.index("futime")]) for each in cells])
    return days, np.array([each[names.index("death")] in {"1", "dead"} for each in cells])


def errors(wheel, runs):
    """Yield the error of the curve of flchain."""
    days, died = flchain(wheel)
    at = np.arange(1.0, np.quantile(days, 0.99))
    exact = stats.ecdf(censored(days, died)).sf.evaluate(at)
    yield row("epsilon", "RMSE", "largest of the runs", "part of the days that is shown")
    yield row(*["---"] * 4)
    for epsilon in EPSILONS:
        found, shown = [], []
        for run in range(runs):
            curve = nolook.survival(
                read(days, died), "days", "died", epsilon=epsilon, random_state=run
            ).curves[0]
            wrong = curve.at(at)[0] - exact
            shown.append(np.mean(~np.isnan(wrong)))
            found.append(np.nanmean(wrong**2))
        size = np.sqrt(np.mean(found))
        yield row(
            f"{epsilon:g}", f"{size:.4f}", f"{np.sqrt(max(found)):.4f}", f"{np.mean(shown):.3f}"
        )


def report(runs, wheel):
    """Yield the lines of the page."""
    yield "# Survival curves"
    yield ""
    yield f"The log-rank test in {runs:,} runs of two groups, one censored three times as fast."
    yield ""
    yield from tests(runs)
    yield ""
    yield f"Share of 95 % intervals with the population's value in them, of {runs:,} releases."
    yield ""
    yield from coverage(runs)
    if wheel:
        few = max(2, runs // 5)
        yield ""
        yield f"Error of the curve of flchain, root mean square of {few} releases."
        yield ""
        yield from errors(Path(wheel), few)


if __name__ == "__main__":
    main(report, __doc__, runs=200, wheel="", quick={"runs": 3})
