"""Weighted surveys, formulas and logarithms, next to statsmodels without privacy.

*Survey.* Rows have weights from 1 to 50, and their values and effects differ by weight. The truth
is the weighted population: statsmodels on a million rows of the same law, by weighted least squares
(means and shares are regressions on a constant) or weighted likelihood, with robust errors.
*Covered*: the total 95 % intervals that hold it, at epsilon 1. *Width*: median half width over that
of statsmodels' robust interval on the same rows. Numbers of rows are totals of the weights, given
the total of all. Bands of an additive model: the points at which they hold the curve of the model
of rows drawn from the population by their weights (`benchmarks/curves.py`).

*Formulas.* Columns: the largest difference between a cell of nolook's and of statsmodels' formula.
Others: the largest cell of columns for values that are not declared, of which there are none. R2:
of the whole table, at epsilon 1, the median of ten fits, and that of least squares.

*Logarithms.* Wages predicted from their logarithm: the share of wages below the median predicted
(.5 if exact), and the mean predicted over the mean wage (1); medians and largest errors of ten
fits.

statsmodels and pandas are in an environment of their own (--peer names an interpreter).

    python -m benchmarks.weights [--output benchmarks/results/weights.md] [--runs 200] [--fits 100]
        [--rows 10000] [--peer PYTHON]
"""

from __future__ import annotations

import inspect
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import nolook
from benchmarks.curves import bands
from benchmarks.harness import in_own_process, interpreter_with, main
from nolook.algorithms.glm.linear import LinearRelease
from nolook.algorithms.weights import weighted
from nolook.estimators.base import whole_mu
from nolook.privacy.noise import SeededSource

NEEDS = ("statsmodels==0.15.0", "pandas", "pyarrow")
DIAMONDS = Path("examples/data/diamonds.parquet")
LEVELS = {
    "cut": ["Ideal", "Premium", "Very Good", "Good", "Fair"],
    "color": ["G", "D", "E", "F", "H", "I", "J"],
    "clarity": ["SI1", "IF", "VVS1", "VVS2", "VS1", "VS2", "SI2", "I1"],
}
WAGE_LEVELS = {"sex": ["F", "M"]}
FORMULAS = {
    "diamonds": (LEVELS, "log_price ~ x + I((x - 5.7)**2) + cut + color + clarity"),
    "wages": (
        WAGE_LEVELS,
        "log(wage) ~ education + experience + I((experience - 20)**2) + sex + sex:education",
    ),
}
BEND = 0.7  # of a target for an additive model
REGIONS = ("North", "South", "West")
SHARES = (0.25, 0.5, 0.75)
FITS = {
    "linear": (nolook.LinearRegression, "y"),
    "logistic": (nolook.LogisticRegression, "member"),
    "poisson": (nolook.PoissonRegression, "visits"),
}


def survey(rows, seed):
    """Return columns of a survey whose values, groups and effects differ by weight."""
    g = np.random.default_rng(seed)
    z, x1, x2 = g.uniform(size=rows), g.normal(size=rows), g.normal(size=rows)
    return {
        "w": np.exp(z * np.log(50.0)),
        "x1": x1,
        "x2": x2,
        "y": 20 + 5 * z + (1 + z) * x1 + 0.5 * x2 + (1 + z) * g.gamma(2.0, 1.0, size=rows),
        "member": g.uniform(size=rows) < 1 / (1 + np.exp(1.5 - 2 * z - (0.3 + 0.4 * z) * x1)),
        "visits": g.poisson(np.exp(0.2 + 0.6 * z + (0.2 + 0.2 * z) * x1 - 0.2 * x2)),
        "region": (g.uniform(size=rows) > 0.2 + 0.3 * z) * g.integers(1, 3, size=rows),
    }


PEER = """
import json, numpy as np, pandas as pd, statsmodels.api as sm, statsmodels.formula.api as smf
{survey}
def estimates(d, fits):
    w, one = d["w"], lambda k: np.ones(k.sum())
    found = {{}}
    def mean(name, values, kept):
        fit = sm.WLS(values[kept].astype(float), one(kept), weights=w[kept]).fit(cov_type="HC0")
        found[name] = fit.params.tolist(), fit.bse.tolist()
    everybody = w > 0
    for group in (None, 0, 1, 2):
        kept = everybody if group is None else d["region"] == group
        mean(f"mean {{group}}", d["y"], kept)
        mean(f"share {{group}}", d["member"], kept)
        mean(f"number {{group}}", kept, everybody)
    if fits:
        X = sm.add_constant(np.column_stack([d["x1"], d["x2"]]))
        for name, target, family in (("linear", "y", sm.families.Gaussian()),
                ("logistic", "member", sm.families.Binomial()),
                ("poisson", "visits", sm.families.Poisson())):
            y = d[target].astype(float)
            fit = (sm.WLS(y, X, weights=w) if name == "linear" else
                sm.GLM(y, X, family=family, var_weights=w)).fit(cov_type="HC0")
            found[name] = fit.params[1:].tolist(), fit.bse[1:].tolist()
    return found
folder, runs, fits, rows = sys.argv[1], *map(int, sys.argv[2:5])
population = survey(1_000_000, 10**6)
truth = {{name: value for name, (value, _) in estimates(population, True).items()}}
order = np.argsort(population["y"])
below = np.cumsum(population["w"][order]) / population["w"].sum()
truth["cdf"] = [population["y"][order][np.searchsorted(below, p)] for p in {shares}]
samples = [estimates(survey(rows, run), run < fits) for run in range(runs)]
r2, names = {{}}, {{}}
for table, (levels, formula) in {formulas}.items():
    frame = pd.read_parquet(f"{{folder}}/{{table}}.parquet")
    for name, own in levels.items():
        frame[name] = pd.Categorical(frame[name], own)
    fit = smf.ols(formula.replace("log(", "np.log("), frame).fit()
    r2[table], names[table] = fit.rsquared, fit.model.exog_names
    np.save(f"{{folder}}/{{table}}.npy", fit.model.exog)
print(json.dumps([truth, samples, r2, names]))
"""


def wages(rows=20_000):
    """Return a table of wages."""
    g = np.random.default_rng(7)
    education, experience = g.integers(8, 19, rows), g.uniform(0, 45, rows)
    sex = g.choice(WAGE_LEVELS["sex"], rows)
    log = 1.2 + 0.08 * education + 0.035 * experience - 0.0007 * (experience - 20) ** 2
    log += np.where(sex == "M", 0.02 * education - 0.1, 0.0) + g.normal(0, 0.4, rows)
    columns = {"education": education, "experience": experience, "sex": sex, "wage": np.exp(log)}
    return pa.table(columns)


class Coverage:
    """Whether intervals hold the truth, and how wide they are beside the peer's."""

    def __init__(self, truth, samples):
        self.truth, self.samples = truth, samples
        self.held, self.widths, self.peers = (defaultdict(list) for _ in range(3))

    def add(self, kind, name, run, ends, scale=1.0, place=0):
        """Add an interval of an entry of what the peer estimated; NaN where none is given."""
        truth, (value, error) = (
            self.truth[name][place],
            (each[place] for each in self.samples[run][name]),
        )
        low, high = np.asarray(ends) / scale
        self.held[kind].append(low <= truth <= high if low <= high else np.nan)
        self.widths[kind].append((high - low) / (2 * 1.96 * error))
        self.peers[kind].append(abs(value - truth) <= 1.96 * error)

    def lines(self):
        """Yield a row of the table for each kind of value."""
        for kind, held in self.held.items():
            width = f"{np.nanmedian(self.widths[kind]):.2f}" if kind in self.widths else "-"
            peer = f"{np.mean(self.peers[kind]):.3f}" if kind in self.peers else "-"
            given = np.mean(~np.isnan(np.array(held, dtype=float)))
            cover = np.nanmean(np.array(held, dtype=float))
            yield f"| {kind} | {len(held)} | {given:.2f} | {cover:.3f} | {peer} | {width} |"


def one_survey(found, run, rows, fits):
    """Release one survey, and add its intervals."""
    data = survey(rows, run)
    region = np.array(REGIONS)[data["region"]]
    table = pa.table({**data, "region": region})
    read = nolook.read_table(
        table, features=["y", "member", "region"], categories={"region": REGIONS}, weights="w"
    )
    tabulated = nolook.tabulate(read, "region", mean="y", share="member", epsilon=1.0).to_frame()
    total = data["w"].sum()
    for group, label in ((None, "all"), *enumerate(REGIONS)):
        of = "all" if group is None else "a region"
        row = tabulated.loc[label]
        ends = [[row[f"{name}_{end}"] for end in ("low", "high")]
                for name in ("mean_y", "share_member", "count")]  # fmt: skip
        found.add(f"mean of {of}", f"mean {group}", run, ends[0])
        found.add(f"share of {of}", f"share {group}", run, ends[1])
        if group is not None:
            found.add("number in a region", f"number {group}", run, ends[2], scale=total)
    alone = nolook.read_table(table, features=["y"], weights="w")
    ecdf = nolook.ECDF(1.0).fit(alone)
    for p, point in zip(SHARES, found.truth["cdf"], strict=True):
        value, error = ecdf.cdf(point, return_std=True)
        found.held["share up to a quantile (ECDF)"].append(abs(value - p) <= 1.96 * error)
    quantiles = nolook.tabulate(alone, median="y", quantiles=SHARES, epsilon=1.0).to_frame()
    for p, point in zip(SHARES, found.truth["cdf"], strict=True):
        label = f"y_q{p:g}".replace(".", "_")
        low, high = (quantiles[f"{label}_{end}"].iloc[0] for end in ("low", "high"))
        found.held["quantile (tabulate)"].append(low <= point <= high)
    for name, (method, target) in FITS.items() if fits else ():
        of = nolook.read_table(table, target, features=["x1", "x2"], weights="w")
        ends = method(1.0, 1e-6).fit(of).coef_interval_
        ends = np.full((2, 2), np.nan) if ends is None else ends
        for place in range(2):
            found.add(f"slope, {name}", name, run, ends[place], place=place)


def additive_bands(found, run, rows, X, y):
    """Fit an additive model to one survey, and add how much of its curves its bands hold."""
    data = survey(rows, run)
    data["y"] = data["y"] + BEND * data["x1"] ** 2
    of = nolook.read_table(pa.table(data), "y", features=["x1", "x2"], weights="w")
    release = LinearRelease(whole_mu(nolook.Budget(1.0, 1e-6)), straight=())
    release = weighted(release, of.unit.weighting)
    _, released = release.run(of, SeededSource(run), lambda _: None)
    found.held["point of a band, additive"].extend(bands(released, X, y)[:, 0].tolist())


def by_weight(rows=200_000):
    """Return features and targets of rows of the population, drawn by their weights."""
    data = survey(5 * rows, 10**6)
    chance = data["w"] / data["w"].sum()
    some = np.random.default_rng(0).choice(len(chance), rows, p=chance)
    X = np.column_stack([data["x1"], data["x2"]])[some]
    return X, data["y"][some] + BEND * X[:, 0] ** 2


def canonical(name):
    """Return the name that both grammars would give a column."""
    return name.replace("[T.", "=").replace("]", "").replace(" ", "")


def formula_lines(folder, r2, names):
    """Yield a row for each table: the columns' largest difference, and R2."""
    for table, (levels, formula) in FORMULAS.items():
        place = folder / f"{table}.parquet"
        read = nolook.from_formula(formula, str(place), categories=levels)
        numbers = np.concatenate(list(read.batches()), axis=1)
        y, X = numbers[-1], numbers[:-1].T
        ours = {canonical(name): X[:, place] for place, name in enumerate(read.feature_names)}
        exog = np.load(folder / f"{table}.npy")
        theirs = {canonical(name): exog[:, place] for place, name in enumerate(names[table])}
        del theirs["Intercept"]
        gaps = [np.max(np.abs(ours[name] - theirs[name])) for name in theirs]
        rest = max(np.max(np.abs(ours[name])) for name in ours.keys() - theirs.keys())
        fits = [nolook.LinearRegression(1.0, 1e-6).fit(read) for _ in range(10)]
        named = pa.table(dict(zip(read.feature_names, map(pa.array, X.T), strict=True)))
        own = np.median([1 - np.mean((y - fit.predict(named)) ** 2) / y.var() for fit in fits])
        yield (
            f"| {table} | {len(theirs)} | {max(gaps):.1g} | {rest:.1g} | {own:.4f} | "
            f"{r2[table]:.4f} | {r2[table] - own:.4f} |"
        )
        if table == "wages":
            wage = np.exp(y)
            below = [np.mean(wage < fit.predict_median(named)) for fit in fits]
            means = [np.mean(fit.predict_mean(named)) / wage.mean() for fit in fits]
            logs = [(np.median(each), np.max(np.abs(np.array(each) - exact)))
                    for each, exact in ((below, 0.5), (means, 1.0))]  # fmt: skip
            logarithms = (
                f"- wages below the median predicted: {logs[0][0]:.3f} (off by {logs[0][1]:.3f} at "
                f"most); mean predicted over the mean wage: {logs[1][0]:.3f} (off by "
                f"{logs[1][1]:.3f} at most)"
            )
    yield ""
    yield logarithms


def report(runs, fits, rows, peer):
    """Yield the lines of the report."""
    yield "# Weighted surveys, formulas and logarithms"
    yield ""
    yield f"{runs} surveys of {rows:,} rows, {fits} of them with regressions. Printed by"
    yield "`python -m benchmarks.weights`, whose docstring says what is measured."
    yield ""
    code = PEER.format(survey=inspect.getsource(survey), shares=SHARES, formulas=FORMULAS)
    with tempfile.TemporaryDirectory() as made, interpreter_with(NEEDS, peer) as python:
        folder = Path(made)
        pq.write_table(wages(), folder / "wages.parquet")
        pq.write_table(pq.read_table(DIAMONDS), folder / "diamonds.parquet")
        told = in_own_process(code, made, runs, fits, rows, python=python)
        truth, samples, r2, names = told
        found = Coverage(truth, samples)
        for run in range(runs):
            one_survey(found, run, rows, run < fits)
        X, y = by_weight()
        for run in range(fits):
            additive_bands(found, run, rows, X, y)
        yield "| weighted population's | intervals | given | covered | statsmodels | width |"
        yield "|---|---:|---:|---:|---:|---:|"
        yield from found.lines()
        yield ""
        yield "| table | columns | differ by | others | R2: nolook | statsmodels | short by |"
        yield "|---|---:|---:|---:|---:|---:|---:|"
        yield from formula_lines(folder, r2, names)


if __name__ == "__main__":
    main(report, __doc__, runs=200, fits=100, rows=10_000, peer=None)
