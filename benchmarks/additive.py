"""Curves against lines: R2 and AUC on held-out rows, of additive models and of linear ones.

Every regression table in ../shared/data with at least 4000 rows, ten random 90/10 splits; then the
eight tables of `benchmarks.logistic`, 80/20 splits. delta = 1e-6, each model on the same rows.

- linear, additive: nolook, nothing given but the budget.
- DP-EBM: the private explainable boosting of interpret-core, given the smallest and largest value
  of every column of the training rows and of the target, which nolook does not get; the better of
  two settings, chosen by the test rows. It takes long, so it gets the first two splits, on which it
  is compared. It runs in an environment of its own (--peer names the
  interpreter), and is left out where it cannot be installed.

    python -m benchmarks.additive [--output benchmarks/results/additive.md] [--processes 1]
        [--splits 10] [--tables NAME,NAME] [--peer PYTHON] [--kept FILE]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from sklearn.metrics import r2_score, roc_auc_score

import nolook
from benchmarks import accuracy, logistic
from benchmarks.accuracy import grid
from benchmarks.harness import in_own_process, in_parallel, interpreter_with, main, table

DELTA, EPSILONS, CLASSES_AT = 1e-6, (0.1, 0.3, 1.0, 3.0), 1.0
PEER, PEER_NEEDS, PEER_AT = "DP-EBM", ("interpret-core==0.7.8",), (0.3, 1.0)
PEER_SPLITS = 2
PEER_PYTHON = "NOLOOK_BENCHMARK_PEER"
#: A table on which curves lose more than this is one on which they lose.
LOSS = 0.01
NUMBERS = {"linear": nolook.LinearRegression, "additive": nolook.AdditiveRegression}
CLASSES = {"linear": nolook.LogisticRegression, "additive": nolook.AdditiveClassifier}

PEER_PROGRAM = """
import warnings
import numpy as np
warnings.simplefilter("ignore")
from interpret.privacy import DPExplainableBoostingRegressor
held = np.load(sys.argv[1])
X, y, epsilon, delta = held["X"], held["y"], float(held["epsilon"]), float(held["delta"])
found = []
for settings in ({}, {"max_rounds": 100, "learning_rate": 0.03, "max_bins": 16}):
    scores = []
    for split, (test, train) in enumerate(zip(held["tests"], held["trains"])):
        low, high = X[train].min(axis=0), X[train].max(axis=0)
        model = DPExplainableBoostingRegressor(
            feature_types=["continuous"] * X.shape[1], epsilon=epsilon, delta=delta,
            privacy_bounds={place: ends for place, ends in enumerate(zip(low, high))},
            privacy_target_min=y[train].min(), privacy_target_max=y[train].max(),
            random_state=split, n_jobs=1, **settings)
        predicted = model.fit(X[train], y[train]).predict(X[test].clip(low, high))
        wrong = ((y[test] - predicted) ** 2).sum()
        scores.append(1 - wrong / ((y[test] - y[test].mean()) ** 2).sum())
    found.append(scores)
print(json.dumps(found))
"""


def measure(name, epsilon, splits):
    """Return R2 of each split by model, and processor seconds of each fit."""
    X, y = table(name)
    pairs = list(accuracy.splits(len(y), splits))
    found = scored(NUMBERS, X, y, epsilon, pairs, lambda m, rows, t: r2_score(t, m.predict(rows)))
    if os.environ.get(PEER_PYTHON) and epsilon in PEER_AT:
        found[PEER] = peer_r2(X, y, epsilon, pairs[:PEER_SPLITS])
    return found


def classified(name, epsilon, splits):
    """Return AUC of each split by model, and processor seconds of each fit."""
    X, y = logistic.table(name)

    def area(model, rows, truth):
        return roc_auc_score(truth, model.predict_proba(rows)[:, 1])

    return scored(CLASSES, X, y, epsilon, list(logistic.pairs(len(y), splits)), area)


def scored(models, X, y, epsilon, pairs, judge):
    """Return scores by model, and processor seconds."""
    found = {model: [] for model in models} | {f"{model} seconds": [] for model in models}
    for split, (test, train) in enumerate(pairs):
        for model, kind in models.items():
            # Seeded so that the report can be printed again; the noise's distribution is the same.
            one = kind(epsilon, DELTA, random_state=split)
            began = time.process_time()
            one.fit(X[train], y[train])
            found[f"{model} seconds"].append(time.process_time() - began)
            found[model].append(float(judge(one, X[test], y[test])))
    return found


def peer_r2(X, y, epsilon, pairs):
    """Return the peer's R2 of each split, by the setting that is better."""
    tests, trains = map(np.array, zip(*pairs, strict=True))
    held = {"X": X, "y": y, "epsilon": epsilon, "delta": DELTA, "tests": tests, "trains": trains}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "held.npz"
        np.savez(place, **held)
        found = in_own_process(PEER_PROGRAM, place, python=os.environ[PEER_PYTHON])
    return max(found, key=np.mean)


def gains(found, names, epsilon):
    """Return by how much the additive model is better than the linear one, by table."""
    own = [found[name, epsilon] for name in names]
    return np.array([np.mean(one["additive"]) - np.mean(one["linear"]) for one in own])


def lead(own):
    """Return by how much the additive model is better than the peer, on the peer's splits."""
    return np.mean(own["additive"][: len(own[PEER])]) - np.mean(own[PEER])


def _listed(names):
    return ", ".join(names) or "none"


def slowdown(results):
    """Return how many times longer an additive fit takes: the median, and the most.

    Of each model the fastest split counts: the first one also compiles.
    """
    ratios = [np.min(one["additive seconds"]) / np.min(one["linear seconds"]) for one in results]
    return f"median {np.median(ratios):.2f}, most {np.max(ratios):.2f}"


def numbers_report(found, names):
    """Yield R2 by table and epsilon, and what they add up to."""
    heads, lines = [], {name: [] for name in names}
    for epsilon in EPSILONS:
        heads += [f"linear {epsilon:g}", f"additive {epsilon:g}"]
        heads += [f"{PEER} {epsilon:g}"] if epsilon in PEER_AT else []
        for name in names:
            own = found[name, epsilon]
            models = [*NUMBERS, PEER] if epsilon in PEER_AT else NUMBERS
            lines[name] += [f"{np.mean(own[m]):.3f}" if m in own else "" for m in models]
    yield from grid("table", heads, list(lines.items()))
    yield ""
    by_epsilon = {epsilon: gains(found, names, epsilon) for epsilon in EPSILONS}
    for epsilon, own in by_epsilon.items():
        yield f"- epsilon {epsilon:g}: gain on the mean of {len(own)} tables {own.mean():+.4f}"
    every = np.concatenate(list(by_epsilon.values()))
    pairs = f"{np.sum(every < -LOSS)} of {len(every)}"
    yield f"- pairs of table and epsilon that lose more than {LOSS}: {pairs}"
    lost = [
        f"{name} {epsilon:g} ({gain:+.3f})"
        for epsilon, own in by_epsilon.items()
        for name, gain in zip(names, own, strict=True)
        if gain < -LOSS
    ]
    yield f"- these: {_listed(lost)}"
    for epsilon in PEER_AT:
        both = {name: lead(found[name, epsilon]) for name in names if PEER in found[name, epsilon]}
        behind = [f"{name} ({by:+.3f})" for name, by in both.items() if by <= 0.0]
        if both:
            ahead = f"{len(both) - len(behind)} of {len(both)} tables"
            yield f"- epsilon {epsilon:g}: ahead of {PEER} on {ahead}; behind: {_listed(behind)}"
    yield f"- processor seconds of a fit over those of linear: {slowdown(found.values())}"


def classes_report(found, names):
    """Yield AUC by table, and what is lost at most."""
    rows = [
        (name, [f"{np.mean(found[name, CLASSES_AT][model]):.4f}" for model in CLASSES])
        for name in names
    ]
    yield from grid("table", ["logistic", "additive"], rows)
    yield ""
    least = gains(found, names, CLASSES_AT).min()
    yield f"- least gain of AUC: {least:+.4f}"
    yield f"- processor seconds of a fit over those of logistic: {slowdown(found.values())}"


def report(processes, splits, tables, peer, kept):
    """Yield the lines of the report."""
    chosen = tables.split(",") if tables else [*accuracy.names(), *logistic.TABLES]
    numbers = [name for name in dict.fromkeys(chosen) if name in accuracy.names()]
    classes = [name for name in dict.fromkeys(chosen) if name in logistic.TABLES]
    with ExitStack() as stack:
        try:
            python = stack.enter_context(interpreter_with(PEER_NEEDS, peer))
        except subprocess.CalledProcessError:
            print(f"{PEER} cannot be installed and is left out", file=sys.stderr)
            python = ""
        os.environ[PEER_PYTHON] = python
        tasks = [(name, epsilon, splits) for name in numbers for epsilon in EPSILONS]
        found = in_parallel(measure, tasks, processes, kept)
    tasks = [(name, CLASSES_AT, splits) for name in classes]
    areas = in_parallel(classified, tasks, processes, kept and f"{kept}.classes")
    yield "# Curves against lines"
    yield ""
    yield f"Means of {splits} random splits on held-out rows, delta = 1e-6. nolook gets the budget"
    yield f"and nothing else; {PEER} gets the smallest and largest value of every column and of the"
    yield f"target; it is the better of two settings, on the first {PEER_SPLITS} splits, on which"
    yield "it is compared. Printed by `python -m benchmarks.additive`."
    yield ""
    yield "## R2"
    yield from numbers_report({task[:2]: own for task, own in found.items()}, numbers)
    yield ""
    yield f"## AUC, epsilon = {CLASSES_AT:g}"
    yield from classes_report({task[:2]: own for task, own in areas.items()}, classes)


if __name__ == "__main__":
    main(report, __doc__, processes=1, splits=10, tables=None, peer=None, kept=None)
