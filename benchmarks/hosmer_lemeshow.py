"""How far a private Hosmer-Lemeshow statistic is off, against the paper's constants.

A logistic regression, fitted without privacy on the whole table, scores the same rows, as in
Barczewski, Mawass and Ramon (2024), section 6.6. That only shows the size of the noise; on rows
that matter it would give them away. Errors are ((private H - H)/H)^2, where H is exact and its ten
groups lie between the exact deciles; so they count the error of the private borders as well.

    python -m benchmarks.hosmer_lemeshow [--output FILE] [--runs 100]
"""

from __future__ import annotations

import numpy as np

from benchmarks.distribution_figures import draw, statistic
from benchmarks.distribution_scores import scored
from benchmarks.harness import main
from nolook.algorithms.hosmer_lemeshow import hosmer_lemeshow_plan, release_groups
from nolook.privacy.noise import SeededSource
from nolook.tables.folding import Batches
from papers.barczewski2024 import chi_squared, hosmer_lemeshow

TABLES = {"bank_marketing": 6, "diabetes_readmission": 10}  # and the paper's figure
EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0)
GROUPS = 10

METHODS = """\
{runs} runs, 10 groups, all under the paper's relation, replacement. *Paper*: Algorithm 2,
unsmoothed, with epsilon' = epsilon/(L + 9), L = 8: (L + 1) epsilon' for the tree, so that its
nodes' noise has scale 1/epsilon', as has that of each O and E. The next column gives the tree
epsilon' only. *Our release, H as in the paper* divides by noisy numbers; *nolook* is
`HosmerLemeshow.statistic_`."""
STEPS = {
    "published": "paper",
    "literal": "paper, tree scale (L + 1)/epsilon'",
    "borders": "our release, H as in the paper",
    "ours": "nolook",
}


def exact_statistic(table):
    """Return H between the exact deciles."""
    deciles = np.quantile(table.scores, np.arange(1, GROUPS) / GROUPS)
    group = np.searchsorted(deciles, table.scores)
    observed = np.bincount(group, table.positive)
    expected = np.bincount(group, table.scores)
    rows = np.bincount(group)
    return chi_squared(observed, rows - observed, expected, rows - expected)


def private_statistic(table, method, epsilon, seed):
    """Return one private statistic."""
    source = SeededSource(seed)
    if method in ("published", "literal"):
        literal = method == "literal"
        return hosmer_lemeshow(
            table.scores, table.positive, GROUPS, epsilon, source, literal=literal
        )
    plan = hosmer_lemeshow_plan(epsilon, GROUPS, "replace")
    found = release_groups(table, plan, source, lambda _: None)[1]
    if method == "ours":
        return found.statistic
    return chi_squared(
        found.positives, found.negatives, found.expected_positives, found.expected_negatives
    )


def errors(table, runs):
    """Return the squared relative errors by method and epsilon, of all runs."""
    exact = exact_statistic(table)
    return {
        (method, epsilon): np.array(
            [
                (private_statistic(table, method, epsilon, seed) / exact - 1) ** 2
                for seed in range(runs)
            ]
        )
        for method in STEPS
        for epsilon in EPSILONS
    }


def rejections(table, epsilon, runs, *, calibrated):
    """Return how often p-values are below 0.05; with labels drawn from the scores if calibrated."""
    hits = 0
    for seed in range(runs):
        rows = table
        if calibrated:
            generator = np.random.default_rng(seed)
            labels = generator.random(len(table.scores)) < table.scores
            rows = Batches([(table.scores, labels, None)])
        plan = hosmer_lemeshow_plan(epsilon, GROUPS, "replace")
        found = release_groups(rows, plan, SeededSource(seed), lambda _: None)[1]
        hits += found.p_value < 0.05
    return hits / runs


def ratios(found, paper, epsilon):
    """Return our error by the paper's, in the mean and in the median."""
    return [
        middle(found["ours", epsilon]) / middle(found[paper, epsilon])
        for middle in (np.mean, np.median)
    ]


def lines_of(name, table, found, runs):
    """Yield the lines of one table."""
    yield from ("", f"## {name}", "")
    yield f"{len(table.scores)} rows, H = {exact_statistic(table):.1f}. Mean (median) of all runs."
    yield ""
    yield f"| epsilon | {' | '.join(STEPS.values())} | nolook / paper: mean, median |"
    yield f"|---:|{'---:|' * (len(STEPS) + 1)}"
    for epsilon in EPSILONS:
        cells = [found[method, epsilon] for method in STEPS]
        shown = [f"{np.mean(cell):.4g} ({np.median(cell):.4g})" for cell in cells]
        mean, median = ratios(found, "published", epsilon)
        yield f"| {epsilon:g} | {' | '.join(shown)} | {mean:.2g}, {median:.2g} |"
    yield from ("", "How often the p-value is below 0.05:", "")
    yield "| epsilon | labels drawn from the scores | labels of the table |"
    yield "|---:|---:|---:|"
    for epsilon in EPSILONS:
        shares = [rejections(table, epsilon, runs, calibrated=one) for one in (True, False)]
        yield f"| {epsilon:g} | {shares[0]:.2f} | {shares[1]:.2f} |"


def report(runs, folder):
    """Yield the lines of the report, and draw the figures if there is a folder for them."""
    about = __doc__.split("\n\n")[1].strip()
    yield from ("# Hosmer-Lemeshow statistic: squared relative error", "", about, "")
    yield from METHODS.format(runs=runs).splitlines()
    worst = 0.0
    for name, figure in TABLES.items():
        table = scored(name)
        found = errors(table, runs)
        means = {
            label: [np.mean(found[method, epsilon]) for epsilon in EPSILONS]
            for method, label in STEPS.items()
        }
        picture = f"{figure}_hosmer_lemeshow_{name}"
        if folder:
            draw(folder, picture, statistic, EPSILONS, means, f"{name}, mean of runs")
        yield from lines_of(name, table, found, runs)
        worst = max(
            worst,
            *(
                max(ratios(found, paper, epsilon))
                for epsilon in EPSILONS
                for paper in ("published", "literal")
            ),
        )
    yield ""
    yield (
        "nolook's error over that of either column of the paper, in the mean and in the median, at "
        f"every epsilon: at most {worst:.2g}."
    )


if __name__ == "__main__":
    main(report, __doc__, figures=True, runs=100)
