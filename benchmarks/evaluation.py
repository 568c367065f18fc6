"""How an evaluation splits its budget: noise of the areas and of the groups, by their shares.

Probabilities of logistic regressions on real tables, and of a rare outcome (100,000 rows, half a
percent positive). An error is squared and divided by the variance that drawing these rows from a
population has: that of 40 bootstrap samples for the areas, of the binomial law for a group's number
of positives. Errors of the groups are means over ten groups.

    python -m benchmarks.evaluation [--output FILE] [--runs 40]
"""

from __future__ import annotations

import numpy as np
from attrs import frozen
from sklearn.metrics import average_precision_score, roc_auc_score

from benchmarks.harness import DATA, main
from nolook.algorithms.evaluation import CALIBRATION_SHARE, scores_release
from nolook.algorithms.roc_curve import area
from nolook.privacy.noise import SeededSource
from nolook.tables import table_from_arrays
from papers.barczewski2024.experiments import TABLES
from papers.barczewski2024.scores import scored

EPSILONS = (0.1, 0.3, 1.0)
SHARES = (0.1, 0.2, CALIBRATION_SHARE, 0.5, 0.7)
GROUPS = 10
SAMPLES = 40
RARE_ROWS = 100_000


@frozen
class Rows:
    """Probabilities with what happened."""

    scores: np.ndarray
    positive: np.ndarray

    @property
    def table(self):
        """The table that a release reads."""
        return table_from_arrays(self.scores[:, np.newaxis], self.positive)


def rare():
    """Return probabilities of a rare outcome, which are right."""
    generator = np.random.default_rng(0)
    scores = 1 / (1 + np.exp(6.5 - 1.5 * generator.normal(size=RARE_ROWS)))
    return Rows(scores, generator.random(RARE_ROWS) < scores)


def release(epsilon, share):
    """Return the release with another share for the groups."""
    return scores_release(epsilon, groups=GROUPS, share=share)


def areas(positive, scores):
    """Return AUC and average precision."""
    return np.array([roc_auc_score(positive, scores), average_precision_score(positive, scores)])


def sampling(rows):
    """Return the variances of both areas over bootstrap samples."""
    generator = np.random.default_rng(1)
    draws = (generator.integers(0, len(rows.scores), len(rows.scores)) for _ in range(SAMPLES))
    return np.var([areas(rows.positive[draw], rows.scores[draw]) for draw in draws], axis=0)


def of_groups(table, rows):
    """Return the mean over groups of the noise's variance over that of sampling."""
    group = np.searchsorted(table.borders[1:-1], rows.scores, side="left")
    counts, expected = (
        np.bincount(group, weights, minlength=len(table.counts)) for weights in (None, rows.scores)
    )
    binomial = expected * (1 - expected / np.maximum(counts, 1))
    return np.mean(table.difference_error**2 / np.maximum(binomial, 1))


def errors(rows, epsilon, share, runs):
    """Return the errors of AUC, average precision and groups, in variances of sampling."""
    exact, variances = areas(rows.positive, rows.scores), sampling(rows)
    found = []
    for seed in range(runs):
        judged = release(epsilon, share).run(rows.table, SeededSource(seed), lambda _: None)
        off = np.array([area(*judged.curve.rates), judged.curve.average_precision]) - exact
        found.append((*(off**2 / variances), of_groups(judged.table, rows)))
    return np.mean(found, axis=0)


def rejections(rows, epsilon, runs):
    """Return how often p-values are below 0.05 where the probabilities are right."""
    hits = 0
    for seed in range(runs):
        drawn = np.random.default_rng(seed).random(len(rows.scores)) < rows.scores
        right = Rows(rows.scores, drawn)
        judged = release(epsilon, CALIBRATION_SHARE).run(
            right.table, SeededSource(seed), lambda _: None
        )
        hits += judged.table.p_value < 0.05
    return hits / runs


def shares_report(tables, runs):
    """Yield the lines on shares."""
    yield "## Errors by the share for the groups, in variances of sampling"
    yield ""
    yield f"{runs} runs. AUC / average precision / groups; the sum of the third and of the mean of"
    yield "the first two in brackets."
    yield ""
    yield f"| table | epsilon | {' | '.join(f'{share:g}' for share in SHARES)} |"
    yield "|---|---:|" + "---:|" * len(SHARES)
    excess = []
    for name, rows in tables.items():
        for epsilon in EPSILONS:
            found = [errors(rows, epsilon, share, runs) for share in SHARES]
            sums = [each[:2].mean() + each[2] for each in found]
            excess.append(np.array(sums) / min(sums))
            cells = [
                f"{each[0]:.2g} / {each[1]:.2g} / {each[2]:.2g} ({total:.2g})"
                for each, total in zip(found, sums, strict=True)
            ]
            yield f"| {name} | {epsilon:g} | {' | '.join(cells)} |"
    yield ""
    yield "The sum over the least of its row, mean (most) over all rows of the table:"
    yield ""
    for share, own in zip(SHARES, np.transpose(excess), strict=True):
        yield f"- share {share:g}: {own.mean():.2f} ({own.max():.2f})"


def report(runs):
    """Yield all lines."""
    about = __doc__.split("\n\n")[1].strip()
    yield from ("# One budget for curves and groups", "", *about.splitlines(), "")
    known = {name: scored(name, DATA) for name in TABLES}
    tables = {name: Rows(one.scores, one.positive) for name, one in known.items()}
    tables["rare"] = rare()
    yield from shares_report(tables, runs)
    yield from ("", "## How often the p-value is below 0.05 where probabilities are right", "")
    yield f"| table | {' | '.join(f'epsilon {epsilon:g}' for epsilon in EPSILONS)} |"
    yield "|---|" + "---:|" * len(EPSILONS)
    rates = []
    for name, rows in tables.items():
        rates.append([rejections(rows, epsilon, 5 * runs) for epsilon in EPSILONS])
        yield f"| {name} | {' | '.join(f'{rate:.3f}' for rate in rates[-1])} |"
    yield ""
    yield f"{5 * runs} runs each; at most {np.max(rates):.3f}"


if __name__ == "__main__":
    main(report, __doc__, runs=40)
