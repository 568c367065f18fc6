"""Private ROC curves: the error of the area, and how often the 95 % intervals hold the exact curve.

Scores of known shapes and of logistic regressions on real tables. An interval is for the exact
curve of the same rows on the same grid, found or given; it says nothing of a larger population.

    python -m benchmarks.roc [--output FILE] [--runs 400]
"""

from __future__ import annotations

import itertools

import numpy as np
from attrs import frozen

import nolook
from benchmarks.harness import DATA, main
from nolook.algorithms.evaluation import scores_release
from nolook.algorithms.roc_curve import ClassScores, RocCurve, _found, area
from nolook.privacy.noise import SeededSource
from nolook.statistics.cell_counts import CellCounts
from nolook.tables import table_from_arrays
from papers.barczewski2024.experiments import TABLES
from papers.barczewski2024.scores import scored

GRID = nolook.LinearGrid(1 / 256, 1, 1 / 256)
ERROR_EPSILON = 0.1
ROWS = (500, 2000, 5000, 20_000)
EPSILONS = (0.1, 0.3, 1.0)
POSITIVES = (0.02, 0.1, 0.5)
RELATIONS = ("add-remove", "replace")
SHAPES = ("normal", "atoms", "framingham", "bank_marketing")
MAX_FPR = 0.2
NAMES = ("AUC", "partial AUC", "band", "average precision", "precision band", "base rate")


@frozen
class Setting:
    """A table, a budget, and whether the grid is given or found."""

    rows: int
    epsilon: float
    positives: float
    shape: str
    given: bool
    relation: str


def settings():
    """Return all of numbers of rows, epsilons and shares; shapes, grids and relations in turn."""
    kinds = list(itertools.product(SHAPES, (True, False), RELATIONS))
    everything = itertools.product(ROWS, EPSILONS, POSITIVES)
    # By a step without a factor in common with their numbers, so that all meet all.
    return [Setting(*one, *kinds[5 * place % len(kinds)]) for place, one in enumerate(everything)]


def table(setting, real):
    """Return scores and whether rows are positive, and the grid if it is given."""
    generator = np.random.default_rng(setting.rows)
    positive = np.arange(setting.rows) < round(setting.positives * setting.rows)
    if setting.shape in real:
        given = real[setting.shape]
        classes = (given.scores[given.positive], given.scores[~given.positive])
        scores = np.where(positive, *(generator.choice(each, setting.rows) for each in classes))
        return scores, positive, nolook.LinearGrid(1 / 128, 1, 1 / 128)
    scores = generator.normal(size=setting.rows) + positive
    if setting.shape == "atoms":
        return np.round(scores + 2).clip(0, 6), positive, nolook.LinearGrid(0, 6, 1)
    return scores, positive, nolook.LinearGrid(-4, 5, 9 / 127)


def exact_curve(curve, scores, positive):
    """Return the curve of the same rows on the same grid, without noise."""
    classes = []
    for found, chosen in ((curve.positive, positive), (curve.negative, ~positive)):
        counted = CellCounts(found.points)
        counted.update(scores[chosen])
        counts = np.cumsum(counted.value).astype(float)
        classes.append(ClassScores(found.points, counts, counts[-1], found.noise, counts))
    return RocCurve(*classes)


def precision_at(curve, recalls):
    """Return the precision at recalls above 0, between thresholds too."""
    true, rows = _found((curve.positive.counts, curve.negative.counts), recalls)
    return true / rows


def covered(setting, rows, seed):
    """Return what share of each kind of interval holds the exact number, and their widths."""
    scores, positive, grid = rows
    curve = nolook.ROCCurve(
        setting.epsilon,
        grid if setting.given else None,
        relation=setting.relation,
        random_state=seed,
    ).fit(scores, positive)
    exact = exact_curve(curve._curve, scores, positive)
    part = curve._curve.partial_area(MAX_FPR)
    fpr, low, high = curve.band_[:, 1:-1]
    heights = np.interp(fpr, *exact.rates)
    recalls, least, most = curve.precision_band_[:, 1:]
    ends = [
        (*curve.auc_noise_interval_, area(*exact.rates)),
        (part.low, part.high, exact.partial_area(MAX_FPR).value),
        (low, high, heights),
        (*curve.average_precision_interval_, exact.average_precision),
        (least, most, precision_at(exact, recalls)),
        (*curve.base_rate_interval_, np.mean(positive)),
    ]
    # Numbers that agree are not told apart by rounding.
    hits = [np.mean((low - 1e-9 <= x) & (x <= high + 1e-9)) for low, high, x in ends]
    return hits, [np.mean(high - low) for low, high, _ in ends]


def errors(table, runs):
    """Return the mean error of the area with the grid given and found, over all runs."""
    found = []
    for seed in range(runs):
        for given in (True, False):
            source = SeededSource(seed)
            plan = scores_release(ERROR_EPSILON, grid=GRID if given else None)
            rows = table_from_arrays(table.scores[:, np.newaxis], table.positive)
            curve = plan.run(rows, source, lambda _: None).curve
            found.append(abs(area(*curve.rates) - table.auc))
    return np.reshape(found, (runs, 2)).mean(axis=0)


def error_report(tables, runs):
    """Yield the lines on the error of the area."""
    yield f"## Mean error of the AUC at epsilon = {ERROR_EPSILON:g}"
    yield ""
    yield f"Scores of a logistic regression; {runs} runs. Given grid: LinearGrid(1/256, 1, 1/256)."
    yield ""
    yield "| table | rows | AUC | grid given | grid found |"
    yield "|---|---:|---:|---:|---:|"
    for name, table in tables.items():
        given, found = errors(table, runs)
        rows = f"{len(table.scores):,}"
        yield f"| {name} | {rows} | {table.auc:.3f} | {given:.4f} | {found:.4f} |"
    yield ""


def coverage_report(tables, runs):
    """Yield the lines on coverage."""
    yield "## Coverage of 95 % intervals"
    yield ""
    yield "How often each holds what the exact curve of these rows on this grid says, and its mean"
    yield f"width; {runs} runs a setting. Partial AUC: standardised, up to a false positive rate of"
    yield f"{MAX_FPR:g}. Bands: means over 199 false positive rates and over 200 recalls."
    yield ""
    yield f"| rows | epsilon | positives | scores | grid | relation | {' | '.join(NAMES)} |"
    yield "|---:|---:|---:|---|---|---" + "|---:" * len(NAMES) + "|"
    all_hits = []
    for setting in settings():
        rows = table(setting, tables)
        hits, widths = np.mean([covered(setting, rows, seed) for seed in range(runs)], axis=0)
        all_hits.append(hits)
        cells = " | ".join(f"{a:.3f} ({b:.2g})" for a, b in zip(hits, widths, strict=True))
        grid = "given" if setting.given else "found"
        yield (
            f"| {setting.rows:,} | {setting.epsilon:g} | {setting.positives:.0%} | {setting.shape}"
            f" | {grid} | {setting.relation} | {cells} |"
        )
    yield ""
    for name, own in zip(NAMES, np.transpose(all_hits), strict=True):
        yield f"- {name}: mean coverage {own.mean():.3f}, least {own.min():.3f}"
    yield ""


def report(runs):
    """Yield all lines."""
    yield "# Private ROC curves: errors and intervals"
    yield ""
    yield "The regressions are fitted without privacy on the whole table and score the same rows,"
    yield "as in Barczewski, Mawass and Ramon (2024). That only shows the size of the noise; on"
    yield "rows that matter it would give them away."
    yield ""
    tables = {name: scored(name, DATA) for name in TABLES}
    yield from error_report(tables, runs)
    yield from coverage_report(tables, runs)


if __name__ == "__main__":
    main(report, __doc__, runs=400)
