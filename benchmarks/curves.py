"""What the bands of an additive model's curves cover, on real tables as populations.

Rows are drawn with replacement from six real tables. A band is for the curve of the population's
own additive model in the design that was released (`population_curves`): the same knots, columns
and target clipped and errors cut as released, rows shrunk to the released norm. A curve is a
contrast to its mean, that of the population. Points are quantiles of a column, from 2.5 % to
97.5 %; a column of few values has each of them once.

    python -m benchmarks.curves [--output benchmarks/results/curves.md] [--runs 40]
        [--processes 1] [--only NAME,NAME] [--kept FILE]

--only names populations; --kept a file where results stay until the report is complete.
"""

from __future__ import annotations

import numpy as np

from benchmarks.accuracy import grid
from benchmarks.harness import in_parallel, main
from benchmarks.intervals import mean_of_given, percent
from benchmarks.logistic_coverage import likeliest
from benchmarks.populations import REAL, TARGET_SCALES, bounded_influence, population
from nolook.algorithms.glm.additive_inference import additive_curves, feature_entries
from nolook.algorithms.glm.counts import CountRelease, NoisyCounts
from nolook.algorithms.glm.likelihood import NoisyLikelihood
from nolook.algorithms.glm.linear import LinearRelease
from nolook.algorithms.glm.logistic import LogisticRelease
from nolook.estimators.base import whole_mu
from nolook.privacy.guarantee import Budget
from nolook.privacy.noise import SeededSource
from nolook.tables import table_from_arrays

ROWS, EPSILONS, DELTA = 20_000, (0.3, 1.0, 3.0), 1e-6
POINTS = np.linspace(0.025, 0.975, 20)
# A column is judged where it was given a band in a fifth of the runs.
JUDGED = 0.2
#: Targets of other families: whether above the median, and numbers of events that grow with it.
OTHERS = ("halves", "counts")


def entries_of(release, place, values):
    """Return the entries of a feature: its standard values, then their deviations."""
    scaling = release.scaling
    standard = (values - scaling.center[place]) / scaling.scale[place]
    standard = standard.clip(scaling.limits[0][place], scaling.limits[1][place])
    curve = release.curves[np.count_nonzero(release.kept[:place])] if release.curves else None
    return np.vstack([standard[None], *([] if curve is None else [curve.at(standard)])])


def population_curves(release, X, y):
    """Return for each kept feature its entries' part of the population's model, and their means.

    Of models that fit the population alike it is the shortest, as rows are whitened.
    """
    scaling, spread, kept = release.scaling, release.spread, np.flatnonzero(release.kept)
    standard = np.empty((len(spread.center), len(y)))
    found = list(zip(kept, (entries for entries, _ in feature_entries(release)), strict=True))
    for place, entries in found:
        standard[np.array(entries) - 1] = entries_of(release, place, X[:, place])
    whitened = spread.map @ (standard - spread.center[:, None])
    lengths = np.sqrt((whitened**2).sum(axis=0))
    factor = np.minimum(1.0, release.norm / np.sqrt(1.0 + lengths**2))
    rows = np.vstack([np.ones(len(y)), whitened]).T
    means = standard @ factor**2 / (factor @ factor)
    if isinstance(release, NoisyLikelihood):
        family = (np.exp, abs) if isinstance(release, NoisyCounts) else ()
        theta = spread.model(likeliest(rows, factor**2, y / scaling.scale[-1], *family))
        return {place: (theta[entries], means[np.array(entries) - 1]) for place, entries in found}
    rows *= factor[:, None]
    target = (y - scaling.center[-1]) / scaling.scale[-1]
    target = target.clip(-TARGET_SCALES, TARGET_SCALES) * factor
    ends = release.clip.bound / (factor * lengths.clip(2.0))
    theta = spread.model(bounded_influence(rows, target, ends)[0])
    return {
        place: (scaling.scale[-1] * theta[entries], means[np.array(entries) - 1])
        for place, entries in found
    }


def bands(release, X, y, unit=1.0):
    """Return of each column the share of points whose band holds the population's curve, half the
    band's width and the curve's error over `unit` (NaN without a band), and whether it is a line.
    """
    own = np.full((X.shape[1], 4), np.nan)
    truths = population_curves(release, X, y)
    for place, curve in enumerate(additive_curves(release)[2]):
        if curve.band is None:
            continue
        points = np.unique(np.quantile(X[:, place], POINTS))
        theta, means = truths[place]
        truth = theta @ (entries_of(release, place, points) - means[:, None])
        low, high = (np.interp(points, curve.places, end) for end in curve.band.T)
        own[place] = (
            np.mean((low <= truth) & (truth <= high)),
            np.mean(high - low) / 2 / unit,
            np.mean(np.abs(curve.at(points) - truth)) / unit,
            curve.straight,
        )
    return own


def on_population(name, rows, epsilon, runs):
    """Return of each run and column: the share of points whose band holds the curve, half widths
    and errors over the target's deviation (NaN where there is no band), and whether it is a line.
    """
    name, _, other = name.partition(" as ")
    X, y = population(name)
    kind, unit = LinearRelease, y.std()
    if other:
        kind, unit = {"halves": LogisticRelease, "counts": CountRelease}[other], 1.0
        bent = np.exp(((y - y.mean()) / y.std()).clip(-3.0, 3.0) / 2.0)
        y = y > np.median(y) if other == "halves" else np.floor(3.0 * bent)
    mu, found = whole_mu(Budget(epsilon, DELTA)), []
    for run in range(runs):
        chosen = np.random.default_rng(run).integers(len(y), size=rows)
        table = table_from_arrays(X[chosen], y[chosen])
        release = kind(mu, straight=()).run(table, SeededSource(run), lambda _: None)
        found.append(bands(release, X, y, unit).tolist())
    return found


def report(runs, processes, only, kept):
    """Yield the lines of the report."""
    names = (
        only.split(",")
        if only
        else [*REAL, *(f"{name} as {other}" for name in REAL for other in OTHERS)]
    )
    tasks = [(name, ROWS, epsilon, runs) for name in names for epsilon in EPSILONS]
    yield "# What the bands of curves cover"
    yield ""
    yield f"95 % bands, {ROWS:,} rows drawn with replacement, {runs} runs, delta = 1e-6. Printed"
    yield "by `python -m benchmarks.curves`. Covered: of the points of columns with a band, those"
    yield "whose band holds the curve of the population's additive model in the released design."
    yield "Curves: of the bands, those of columns that are not lines. Half width, error: means,"
    yield "over the deviation of the target; of halves, targets cut at the median, and"
    yield "of counts in logarithms."
    yield ""
    heads = ["epsilon", "covered", "of curves", "least column", "given", "curves", "half width",
             "error"]  # fmt: skip
    lines, judged, pooled = [], [], []
    for (name, _, epsilon, _), own in in_parallel(on_population, tasks, processes, kept).items():
        covered, half, error, straight = np.array(own, dtype=float).transpose(2, 0, 1)
        given = ~np.isnan(covered)
        columns = mean_of_given(covered, axis=0)[given.sum(axis=0) >= JUDGED * runs]
        judged.extend(columns)
        pooled.append(covered.ravel())
        cells = [
            f"{epsilon:g}",
            percent(mean_of_given(covered)),
            percent(mean_of_given(np.where(straight == 0.0, covered, np.nan))),
            percent(columns.min(initial=np.inf) if len(columns) else np.nan),
            f"{given.mean():.2f}",
            percent(mean_of_given(1.0 - straight)),
            f"{mean_of_given(half):.3f}",
            f"{mean_of_given(error):.3f}",
        ]
        lines.append((name, cells))
    yield from grid("population", heads, lines)
    yield ""
    yield f"- covered, of all points given: {mean_of_given(np.concatenate(pooled)):.3f}"
    low = [column for column in judged if column < 0.85]
    yield f"- columns judged: {len(judged)}, of which covered less than .85: {len(low)}"
    yield f"- least coverage of such a column: {min(judged, default=np.nan):.3f}"


if __name__ == "__main__":
    main(report, __doc__, runs=40, processes=1, only=None, kept=None)
