"""Logistic regression against scikit-learn's without privacy, and against private ones.

Random 80/20 splits of eight tables, five of them with the target cut at its median; delta = 1e-6.
The rows for testing are judged by AUC and log loss.

- scikit-learn: its LogisticRegression on standardised columns, not private.
- nolook: nothing given but the budget.
- DP-SGD: the settings of `papers.amin2023.DPSGDRegressor` on the logistic loss, columns
  standardised privately, noise in floating point; gradients are clipped at half the root of
  their length.
- objective perturbation (Chaudhuri et al. 2011) with Gaussian noise: half of what remains of
  epsilon for the noise, half for the curvature.
- DP-Newton (after Ganesh et al. 2023): noisy gradients and Hessians of six steps, eigenvalues kept
  above the noise. Both on rows by our private scales and norm, once whitened as ours are and once
  not; what is shown is the better of the two, chosen by the test rows.
- diffprivlib: its LogisticRegression on columns standardised by the table itself, at the best of
  ten norms, chosen by the test rows: it sees much that nolook does not. It spends epsilon and no
  delta. It runs in an environment of its own (--peer names the interpreter).

    python -m benchmarks.logistic [--output benchmarks/results/logistic.md] [--splits 10]
        [--peer_splits 3] [--peer PYTHON] [--kept FILE]

The time of a million rows comes last. ``benchmarks.logistic_coverage`` has what intervals cover.
"""

from __future__ import annotations

import math
import os
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from attrs import evolve
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from sklearn.linear_model import LogisticRegression as Likelihood
from sklearn.metrics import log_loss, roc_auc_score

import nolook
from benchmarks import harness
from benchmarks.harness import in_own_process, in_parallel, interpreter_with, main
from nolook.algorithms.glm.designs import limit_for, release_spread, whitened_bound
from nolook.algorithms.glm.logistic import LogisticRelease
from nolook.algorithms.scaling import ScaleSearch
from nolook.algorithms.whitening import Spread
from nolook.kernels.moments import UNIT
from nolook.privacy.accounting import gaussian_mu
from nolook.privacy.guarantee import Budget
from nolook.privacy.noise import SeededSource
from nolook.tables import table_from_arrays
from papers.amin2023 import dpsgd

DELTA = 1e-6
BUDGETS = (0.3, 1.0)
CUT = (
    "amin_california", "amin_diamonds", "house_16H", "cpu_act", "SGEMM_GPU_kernel_performance",
)  # fmt: skip
TABLES = ("bank_marketing", "diabetes_readmission", "framingham_imputed", *CUT)
# Of tables that take long.
MOST_SPLITS = {"diabetes_readmission": 3, "SGEMM_GPU_kernel_performance": 5}
BASE, OURS = "scikit-learn", "nolook"
PRIVATE = ("DP-SGD", "objective perturbation", "DP-Newton")
PEER, PEER_NEEDS = "diffprivlib", ("diffprivlib==0.6.6", "scikit-learn<1.6")
PEER_PYTHON = "NOLOOK_BENCHMARK_PEER"
NORMS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 20.0)
NEWTON_STEPS = 6
TIMES = 9
SGD_STEPS, SGD_RATE = 200, 16.0

PEER_PROGRAM = """
import warnings
import numpy as np
from diffprivlib.models import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
warnings.simplefilter("ignore")
held = np.load(sys.argv[1])
X, y, epsilon = held["X"], held["y"], float(held["epsilon"])
found = []
for norm in held["norms"]:
    scores = []
    for split, (test, train) in enumerate(zip(held["tests"], held["trains"])):
        model = LogisticRegression(epsilon=epsilon, data_norm=float(norm), max_iter=200,
                                   random_state=split)
        p = model.fit(X[train], y[train]).predict_proba(X[test])[:, 1]
        scores.append([roc_auc_score(y[test], p), log_loss(y[test], p)])
    found.append(scores)
print(json.dumps(found))
"""

TIMED = """
import pyarrow.parquet as pq
start = time.perf_counter()
if sys.argv[2] == "nolook":
    import nolook
    table = nolook.read_table(sys.argv[1], target="y")
    nolook.LogisticRegression(1.0, 1e-6).fit(table)
else:
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    held = pq.read_table(sys.argv[1])
    X = np.column_stack([held[name].to_numpy() for name in held.column_names[:-1]])
    LogisticRegression().fit(X, held["y"].to_numpy())
print(json.dumps([time.perf_counter() - start, memory("VmHWM")]))
"""


def table(name):
    """Return X and the classes."""
    X, y = harness.table(name)
    return X, y > np.median(y) if name in CUT else y.astype(bool)


def pairs(rows, count):
    """Yield test and training rows of each split."""
    for split in range(count):
        order = np.random.default_rng(split).permutation(rows)
        yield order[: rows // 5], order[rows // 5 :]


def judged(y, p):
    """Return AUC and log loss."""
    return [float(roc_auc_score(y, p)), float(log_loss(y, p.clip(1e-9, 1 - 1e-9)))]


def standardised(X, train):
    """Return the columns by mean and deviation of some rows."""
    scale = X[train].std(axis=0)
    return (X - X[train].mean(axis=0)) / np.where(scale > 0, scale, 1.0)


class PrivateRows:
    """Rows (1, x) by the private scales and norm that nolook's own release begins with."""

    def __init__(self, X, y, mu, seed, whitened):
        release, source = LogisticRelease(mu), SeededSource(seed)
        held = table_from_arrays(X, y)
        scaling = release._scales().run(held, source, lambda _: None)
        self.scaling = evolve(scaling, limit=limit_for(scaling.rows.value, mu))
        self.kept = scaling.detected[:-1]
        held, some = held.select(self.kept), self.scaling.select(self.kept)
        self.spread, spent = Spread.standard(held.n_columns - 1), ["scales", "norms"]
        if whitened:
            self.spread = release_spread(held, some, release._mu("spread"), source)
            spent.append("spread")
        # As many rows beyond it as lose as much as a longer norm would add to the noise.
        size = held.n_columns
        few = min(2.0 * size * math.sqrt(2 * size) / release._mu("gram"), 0.5 * scaling.rows.value)
        squared = whitened_bound(held, some, self.spread, few, release._mu("norms"), source)
        self.norm = math.sqrt(1.0 + squared / UNIT**2)
        self.mu = mu * math.sqrt(1.0 - sum(release.shares()[part] for part in spent))

    def rows(self, X):
        """Return the rows of features."""
        scaling = self.scaling
        low, high = (end[:-1] for end in scaling.limits)
        z = ((X - scaling.center[:-1]) / scaling.scale[:-1]).clip(low, high)[:, self.kept]
        z = (z - self.spread.center) @ self.spread.map
        far = np.linalg.norm(z, axis=1) / math.sqrt(self.norm**2 - 1.0)
        return np.column_stack([np.ones(len(z)), z / np.maximum(far, 1.0)[:, None]])


def objective_perturbation(held, X, y, generator):
    """Minimise the log loss, a random linear term and a ridge."""
    rows, mine = held.rows(X), _epsilon_of(held.mu)
    # A row's curvature is norm^2 / 4, of rank 1: the ridge keeps its log-ratio within half.
    ridge = held.norm**2 / 4.0 / math.expm1(mine / 2.0)
    sigma = held.norm / gaussian_mu(Budget(mine / 2.0, DELTA))
    slope = generator.normal(size=rows.shape[1]) * sigma
    signs = 2.0 * y - 1.0

    def objective(theta):
        margins = signs * (rows @ theta)
        value = -log_expit(margins).sum() + 0.5 * ridge * theta @ theta + slope @ theta
        return value, -rows.T @ (signs * expit(-margins)) + ridge * theta + slope

    found = minimize(objective, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B")
    return found.x


def _epsilon_of(mu):
    """Return the epsilon that a mu is at DELTA."""
    low, high = 1e-4, 20.0
    while high > low * 1.0001:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if gaussian_mu(Budget(middle, DELTA)) < mu else (low, middle)
    return low


def newton(held, X, y, generator):
    """Take steps by noisy Hessians along noisy gradients, half of mu^2 for each."""
    rows = held.rows(X)
    size, mu = rows.shape[1], held.mu / math.sqrt(2 * NEWTON_STEPS)
    theta = np.zeros(size)
    for _ in range(NEWTON_STEPS):
        p = expit(rows @ theta)
        gradient = rows.T @ (y - p) + generator.normal(size=size) * held.norm / mu
        sigma = held.norm**2 / 4.0 / mu
        upper = np.triu(generator.normal(size=(size, size)) / math.sqrt(2), 1)
        noise = upper + upper.T + np.diag(generator.normal(size=size))
        hessian = (rows * (p * (1 - p))[:, None]).T @ rows + sigma * noise
        values, vectors = np.linalg.eigh(hessian)
        values = np.maximum(values, sigma * math.sqrt(size))
        theta = theta + vectors @ ((vectors.T @ gradient) / values)
    return theta


def sgd(X, y, epsilon, seed):
    """Return a function that gives the log-odds of rows."""
    budget, generator = Budget(epsilon, DELTA), np.random.default_rng(seed)
    mu = gaussian_mu(budget) * math.sqrt(dpsgd.SCALES_SHARE)
    search = ScaleSearch(mu, target=False)
    scaling = search.run(table_from_arrays(X, y), SeededSource(seed), lambda _: None)
    low, high = (end[:-1] for end in scaling.limits)
    kept = scaling.detected[:-1]

    def rows_of(X):
        z = ((X - scaling.center[:-1]) / scaling.scale[:-1]).clip(low, high)[:, kept]
        return np.column_stack([np.ones(len(z)), z])

    rows = rows_of(X)
    size, clip = rows.shape[1], math.sqrt(rows.shape[1]) / 2.0
    lengths = np.linalg.norm(rows, axis=1)
    sigma = dpsgd.noise_multiplier(budget, SGD_STEPS) * clip
    rate = SGD_RATE / size * dpsgd.SAMPLE_EVERY / scaling.rows.value
    theta, velocity, last = np.zeros(size), np.zeros(size), []
    for _ in range(SGD_STEPS):
        some = generator.random(len(rows)) < 1.0 / dpsgd.SAMPLE_EVERY
        bound = clip / lengths[some]
        error = (y[some] - expit(rows[some] @ theta)).clip(-bound, bound)
        noisy = error @ rows[some] + generator.normal(size=size) * sigma
        velocity = 0.9 * velocity + 0.1 * noisy
        theta = theta + rate * velocity
        last.append(theta)
    final = np.mean(last[SGD_STEPS // 2 :], axis=0)
    return lambda X: rows_of(X) @ final


def measure(name, epsilon, splits, peer_splits):
    """Return AUC and log loss of each split, by method; those of a constant are [0.5, ...]."""
    X, y = table(name)
    found = {method: [] for method in ("constant", BASE, OURS, "DP-SGD")}
    both = {(method, rows): [] for method in PRIVATE[1:] for rows in (False, True)}
    for split, (test, train) in enumerate(pairs(len(y), splits)):
        found["constant"].append(judged(y[test], np.full(len(test), y[train].mean())))
        z = standardised(X, train)
        base = Likelihood(max_iter=500).fit(z[train], y[train])
        found[BASE].append(judged(y[test], base.predict_proba(z[test])[:, 1]))
        # Seeded so that the report can be printed again; the noise's distribution is the same.
        ours = nolook.LogisticRegression(epsilon, DELTA, random_state=split)
        p = ours.fit(X[train], y[train]).predict_proba(X[test])[:, 1]
        found[OURS].append(judged(y[test], p))
        log_odds = sgd(X[train], y[train], epsilon, split)
        found["DP-SGD"].append(judged(y[test], expit(log_odds(X[test]))))
        mu = gaussian_mu(Budget(epsilon, DELTA))
        for whitened in (False, True):
            held, generator = (
                PrivateRows(X[train], y[train], mu, split, whitened),
                np.random.default_rng(split),
            )
            for method, fit in zip(PRIVATE[1:], (objective_perturbation, newton), strict=True):
                theta = fit(held, X[train], y[train], generator)
                scores = judged(y[test], expit(held.rows(X[test]) @ theta))
                both[method, whitened].append(scores)
    for method in PRIVATE[1:]:
        found[method] = max((both[method, rows] for rows in (False, True)), key=_median_auc)
    if os.environ.get(PEER_PYTHON):
        found[PEER] = best_of_norms(X, y, epsilon, peer_splits)
    return found


def best_of_norms(X, y, epsilon, splits):
    """Return diffprivlib's AUC and log loss of each split, at the norm with the best median AUC."""
    tests, trains = map(np.array, zip(*pairs(len(y), splits), strict=True))
    held = {"X": standardised(X, trains[0]), "y": y, "epsilon": epsilon}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "held.npz"
        np.savez(place, tests=tests, trains=trains, norms=NORMS, **held)
        found = in_own_process(PEER_PROGRAM, place, python=os.environ[PEER_PYTHON])
    return max(found, key=_median_auc)


def _median_auc(scores):
    return np.median([auc for auc, _ in scores])


def timed():
    """Return seconds and bytes of a whole process: ours, and reading with scikit-learn's model."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    generator = np.random.default_rng(0)
    X = generator.normal(size=(1_000_000, 30))
    y = generator.random(len(X)) < expit(X[:, :5].sum(axis=1) - 1.0)
    columns = {f"x{place}": X[:, place] for place in range(30)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        pq.write_table(pa.table({**columns, "y": y}), path)
        times = [
            [in_own_process(TIMED, path, which) for which in ("nolook", "sklearn")]
            for _ in range(TIMES)
        ]
    return np.median(times, axis=0)


def accuracy_lines(found):
    """Yield the tables of AUC and log loss."""
    methods = [OURS, *PRIVATE, *((PEER,) if PEER in next(iter(found.values())) else ())]
    for epsilon in BUDGETS:
        yield f"## epsilon {epsilon:g}"
        yield ""
        yield (
            f"| table | {BASE} | {' | '.join(methods)} | log loss: {BASE} | constant | {OURS} | "
            f"worst over the constant's |"
        )
        yield "|---" + "|---:" * (len(methods) + 5) + "|"
        losses, excess, worst, near, best = [], [], [], 0, 0
        for name in TABLES:
            scores = {m: np.array(s) for m, s in found[name, epsilon].items()}
            auc = {m: float(np.median(s[:, 0])) for m, s in scores.items()}
            loss = {m: float(np.median(s[:, 1])) for m, s in scores.items()}
            gaps = scores[BASE] - scores[OURS]
            losses.append(float(np.median(gaps[:, 0])))
            excess.append(float(np.median(-gaps[:, 1])))
            worst.append(float((scores[OURS] - scores["constant"])[:, 1].max()))
            near += losses[-1] <= 0.02
            # On the same splits: some methods have fewer.
            best += all(np.median(scores[OURS][: len(scores[m]), 0]) > auc[m] for m in methods[1:])
            shown = " | ".join(f"{auc[m]:.4f}" for m in (BASE, *methods))
            rest = (
                f"{loss[BASE]:.3f} | {loss['constant']:.3f} | {loss[OURS]:.3f} | {worst[-1]:+.3f}"
            )
            yield f"| {name} | {shown} | {rest} |"
        yield ""
        yield (
            f"Over tables: median loss of AUC {np.median(losses):.4f}; median log loss over "
            f"{BASE}'s {np.median(excess):.4f}; worst log loss over the constant's, any run, "
            f"{max(worst):+.4f}; tables within .02 of its AUC: {near} of {len(TABLES)}; tables "
            f"with a better median AUC than every other private method: {best} of {len(TABLES)}."
        )
        yield ""


def report(splits, peer_splits, peer, kept, processes):
    """Yield the lines of the report."""
    with ExitStack() as stack:
        try:
            python = stack.enter_context(interpreter_with(PEER_NEEDS, peer))
            os.environ[PEER_PYTHON] = python
        except subprocess.CalledProcessError:
            os.environ.pop(PEER_PYTHON, None)
        tasks = [
            (name, epsilon, min(splits, MOST_SPLITS.get(name, splits)), peer_splits)
            for name in TABLES
            for epsilon in BUDGETS
        ]
        scores = in_parallel(measure, tasks, processes, kept)
    found = {task[:2]: result for task, result in scores.items()}
    yield "# Private logistic regression"
    yield ""
    yield (
        f"Medians of {splits} random 80/20 splits on the test rows (of "
        f"{', '.join(f'{name} {most}' for name, most in MOST_SPLITS.items())}), delta = 1e-6; of "
        f"{PEER} {peer_splits}. AUC by method, then log losses."
    )
    yield "Printed by `python -m benchmarks.logistic`, whose docstring says what the methods are."
    yield ""
    yield from accuracy_lines(found)
    (own, peak), (other, its_peak) = timed()
    yield "## Time"
    yield ""
    yield (
        f"1,000,000 rows of 30 features from Parquet, whole process, medians of {TIMES}: "
        f"{own:.1f} s and {peak / 2**20:.0f} MB; reading and {BASE}'s LogisticRegression "
        f"{other:.1f} s and {its_peak / 2**20:.0f} MB; ratio {own / other:.2f}."
    )


if __name__ == "__main__":
    main(report, __doc__, splits=10, peer_splits=3, peer=None, kept=None, processes=1)
