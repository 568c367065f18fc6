"""Errors of private distributions: nolook's, the paper's and OpenDP's, like with like."""

from __future__ import annotations

import tempfile
from functools import lru_cache
from pathlib import Path
from subprocess import run

import numpy as np
from scipy.optimize import isotonic_regression

from benchmarks.distribution_columns import COLUMNS, LEVEL, column, shape_cells
from benchmarks.harness import interpreter_with
from nolook.algorithms.ecdf import ecdf_release, release_counts
from nolook.algorithms.grids import DoublesGrid, LinearGrid
from nolook.privacy.guarantee import Budget
from nolook.privacy.noise import SeededSource
from nolook.statistics.cell_counts import CellCounts
from papers.barczewski2024 import tree_counts
from papers.barczewski2024.tree_smoothing import smooth
from papers.barczewski2024.unsmoothed import unsmoothed_counts

__all__ = ["columns_report", "released", "shapes_report"]

EPSILON = 1.0
PEER_NEEDS = ["opendp==0.16.0", "numpy"]
FAN_OUTS = (8, 12, 16, 20, 24, 32)
FEW_FAN_OUTS = (8, 16, 32)  # of the long grid
FEW_RUNS = 5


def released(cells, grid, epsilon, relation, runs, *, smoothed=True):
    """Return private counts up to each threshold, a row for each of nolook's releases."""
    plan = ecdf_release(Budget(epsilon), relation, [grid])
    cells = np.asarray(cells, dtype=np.int64)
    sources = [SeededSource(seed) for seed in range(runs)]
    if not smoothed:
        return np.array([unsmoothed_counts(cells, plan, each) for each in sources])
    return np.array([release_counts([cells], plan, each)[0].counts for each in sources])


def opendp_counts(part, cells, fan_outs, runs, peer, kept):
    """Return OpenDP's counts by name and fan-out; rows as for :func:`released`.

    With a folder `kept` they stay there for the next time: OpenDP takes most of a run.
    """
    script = Path(__file__).with_name("opendp_tree.py")
    with tempfile.TemporaryDirectory() as folder:
        output = Path(kept or folder) / f"{part}.npz"
        if not output.exists():
            np.savez(Path(folder) / "cells.npz", **cells)
            paths = [str(Path(folder) / "cells.npz"), str(output)]
            options = map(str, (EPSILON, runs, ",".join(map(str, fan_outs))))
            with interpreter_with(PEER_NEEDS, peer) as python:
                run([python, str(script), *paths, *options], check=True)
        with np.load(output) as found:
            return {tuple(name.rsplit("/", 1)): found[name] for name in found.files}


def rising(counts):
    """Return counts made to rise by isotonic regression, from 0 to their last one."""
    return np.array([np.clip(isotonic_regression(each).x, 0, max(1, each[-1])) for each in counts])


def share_error(counts, exact):
    """Return the mean squared error of shares, each release divided by its own number of rows."""
    shares = counts / np.maximum(1.0, counts[:, -1:])
    return float(np.mean((shares - exact / exact[-1]) ** 2))


def row_error(counts, exact):
    """Return the mean squared error in rows."""
    return float(np.mean((counts - exact) ** 2))


def best(found, name, exact, error):
    """Return OpenDP's least error over its fan-outs, plain and isotonic, each with its fan-out."""
    errors = [
        (error(change(counts), exact), int(fan_out))
        for change in (np.asarray, rising)
        for (shape, fan_out), counts in found.items()
        if shape == name
    ]
    half = len(errors) // 2
    return min(errors[:half]), min(errors[half:])


def errors_of(name, cells, found, runs, error):
    """Return the errors of all releases of one shape: paper and ours replacing, ours and OpenDP."""
    exact = np.cumsum(cells).astype(float)
    grid = LinearGrid(1, len(cells), 1)
    paper = np.array(
        [tree_counts(cells, EPSILON, SeededSource(seed)).astype(float) for seed in range(runs)]
    )
    # The number of rows is public under replacement: shares are of it.
    paper[:, -1] = exact[-1]
    smoothed = np.array([smooth(each, exact[-1]) for each in paper])
    ours = [
        error(released(cells, grid, EPSILON, relation, runs, smoothed=smoothed), exact)
        for relation in ("replace", "add-remove")
        for smoothed in (False, True)
    ]
    return [error(paper, exact), error(smoothed, exact), *ours, *best(found, name, exact, error)]


def shapes_report(runs, peer, kept):
    """Yield the lines on simulated columns of 2^15 cells."""
    cells = shape_cells()
    found = opendp_counts("shapes", cells, FAN_OUTS, runs, peer, kept)
    yield f"## Squared error at epsilon = {EPSILON:g}, N = 2^{LEVEL}"
    yield ""
    yield "Three rows a cell, mean over all thresholds, root taken, in rows; pure epsilon;"
    yield f"{runs} runs. First of shares, each release by its own number of rows (public under"
    yield "replacement), times the true one; then of the counts themselves. Every pair is without"
    yield "and with smoothing: the paper's p = 2, and isotonic regression for the others."
    yield f"OpenDP: `make_consistent_b_ary_tree` at the best fan-out of {min(FAN_OUTS)} to"
    yield f"{max(FAN_OUTS)}, which stands in brackets; the relation of its tree is add/remove."
    yield ""
    yield (
        "| | paper, replacing | nolook, replacing | nolook, add/remove | OpenDP, add/remove |"
        " nolook / OpenDP, both isotonic |"
    )
    yield "|---|---:|---:|---:|---:|---:|"
    shares = {}
    for title, error in (("shares", share_error), ("counts", row_error)):
        for shape in cells:
            all_of = errors_of(shape, cells[shape], found, runs, error)
            plain, isotonic = all_of[-2:]
            ratio = all_of[5] / isotonic[0]
            if error is share_error:
                shares[shape] = all_of
            unit = cells[shape].sum() if error is share_error else 1.0
            own = [f"{np.sqrt(each) * unit:.1f}" for each in all_of[:6]]
            theirs = [f"{np.sqrt(each) * unit:.1f} ({b})" for each, b in (plain, isotonic)]
            pairs = [", ".join(pair) for pair in (own[:2], own[2:4], own[4:], theirs)]
            yield f"| {title}, {shape} | {' | '.join(pairs)} | {ratio:.2f} |"
    yield ""
    for shape, all_of in shares.items():
        ratio = all_of[5] / all_of[-1][0]
        yield f"- shares, {shape}: squared error over OpenDP's best, both isotonic: {ratio:.2f}"
    against = [own[3] / own[1] for own in shares.values()]
    yield (
        "- shares, nolook isotonic over the paper smoothed, both under replacement:"
        f" {min(against):.3f} to {max(against):.3f}"
    )
    plain = [own[2] / own[0] for own in shares.values()]
    yield (
        "- shares, nolook over the paper, neither smoothed, both under replacement:"
        f" {min(plain):.3f} to {max(plain):.3f}"
    )
    yield ""


@lru_cache
def real_cells(*, ranged):
    """Return cells of all real columns, and where their quantiles of 0.01 to 0.99 lie, by name."""
    cells, places = {}, {}
    for (table, name), own in COLUMNS.items():
        grid = own if ranged else DoublesGrid()
        values = column(table, name)
        quantiles = np.quantile(values, np.arange(1, 100) / 100, method="inverted_cdf")
        key = f"{table}, {name}"
        cells[key] = CellCounts(grid.points()).update(values).value
        # The last threshold not above: what `cdf` answers with.
        places[key] = np.searchsorted(grid.points(), quantiles, side="right") - 1
    return cells, places


def rank_error(counts, exact, places):
    """Return the root mean square error of ranks at some places, in rows of the true number."""
    shares = counts / np.maximum(1.0, counts[:, -1:]) - exact / exact[-1]
    return float(np.sqrt(np.mean(shares[:, places] ** 2)) * exact[-1])


def columns_report(runs, peer, kept):
    """Yield the lines on real columns."""
    yield "## Real columns: error of ranks, in rows, times epsilon"
    yield ""
    yield f"Root mean square over the column's 99 percentiles, epsilon = {EPSILON:g}, add/remove,"
    yield f"nolook's default ({runs} runs), and OpenDP with isotonic regression on top, at its best"
    yield f"fan-out of {', '.join(map(str, FEW_FAN_OUTS))} ({FEW_RUNS} runs). No range: the grid of"
    yield "all doubles, for both."
    yield ""
    yield "| column | rows | nolook, no range | OpenDP | nolook, range | OpenDP |"
    yield "|---|---:|---:|---:|---:|---:|"
    found, squares = {}, {False: [], True: []}
    for ranged in (False, True):
        cells, places = real_cells(ranged=ranged)
        part = "range" if ranged else "no_range"
        theirs = opendp_counts(part, cells, FEW_FAN_OUTS, FEW_RUNS, peer, kept)
        for (key, own), grid in zip(cells.items(), COLUMNS.values(), strict=True):
            exact = np.cumsum(own).astype(float)
            used = grid if ranged else DoublesGrid()
            ours = released(own, used, EPSILON, "add-remove", runs)
            least = min(
                rank_error(rising(theirs[key, str(b)]), exact, places[key]) for b in FEW_FAN_OUTS
            )
            error = rank_error(ours, exact, places[key])
            squares[ranged].append((error**2, least**2))
            found.setdefault(key, [f"{own.sum():,}"]).extend((f"{error:.1f}", f"{least:.1f}"))
    for key, texts in found.items():
        yield f"| {key} | {' | '.join(texts)} |"
    yield ""
    for ranged, title in ((False, "no range"), (True, "a range")):
        ours, theirs = np.sqrt(np.mean(squares[ranged], axis=0)) * EPSILON
        yield (
            f"- 12 columns, {title}: root mean square rank error times epsilon: {ours:.1f}"
            f" (OpenDP {theirs:.1f})"
        )
    yield ""
