"""Owners, both servers and the analyst in one process, for the tests of what each of them does."""

from __future__ import annotations

import hashlib
import itertools
from pathlib import Path

import numpy as np
import pandas as pd

import nolook
from nolook.algorithms.tree_smoothing import smoothed_counts
from nolook.federated.answers import Answer
from nolook.federated.batch import Batch
from nolook.federated.owners import make_reports
from nolook.federated.shares import curve_sums, point_sums
from nolook.privacy.mechanisms.binary_tree import tree_laplace
from nolook.privacy.noise import SeededSource

SCORES = Path(__file__).resolve().parents[2] / "examples" / "data" / "bank_marketing_scores.parquet"
GRID = nolook.LinearGrid(1 / 64, 1, 1 / 64)
ECDF = Batch("scores", "ecdf", 1.0, GRID)
ROC = Batch("scores", "roc", 1.0, GRID)
CALIBRATION = Batch("scores", "hosmer-lemeshow", 1.0)
BATCHES = (ECDF, ROC, CALIBRATION)
# So large that no noise is left, of either server.
NO_NOISE = 1e15
REPORTS = bytes(32)


def kind(batch):
    """Name a batch in a test's name."""
    return batch.kind


def scores():
    """Return the scores of the example table, and whether each is positive."""
    frame = pd.read_parquet(SCORES)
    return frame["score"].to_numpy(), frame["deposit"].to_numpy() == 1


def targets_for(batch, targets):
    """Return the targets, None for a batch without any."""
    return None if batch.kind == "ecdf" else np.asarray(targets)


def reported(batch, values, targets, seed=0):
    """Return the reports to both servers."""
    return make_reports(batch, values, targets_for(batch, targets), SeededSource(seed))[1:]


def sums(batch, values, targets, seed=0):
    """Return both servers' sums of whole curves."""
    both = reported(batch, values, targets, seed)
    return tuple(curve_sums(batch, role, reports) for role, reports in enumerate(both))


def sums_at(batch, values, targets, places, seed=0):
    """Return both servers' sums at some places."""
    both = reported(batch, values, targets, seed)
    return tuple(point_sums(batch, role, reports, places) for role, reports in enumerate(both))


def exact(batch, values, targets):
    """Return the sums of the owners' secret numbers up to each of 2^L thresholds, counted here."""
    values, targets = np.asarray(values, dtype=float), np.asarray(targets, dtype=bool)
    if batch.kind == "hosmer-lemeshow":
        values = np.where(np.isnan(values), 0.0, np.clip(values, 0.0, 1.0))
    numbers = [targets.astype(int), (~targets).astype(int)]
    if batch.kind == "ecdf":
        numbers = [np.ones(len(values), dtype=int)]
    if batch.kind == "hosmer-lemeshow":
        numbers.append(np.array([int(value * 2**30) for value in values]))
    inner = batch.points()[:-1]
    rows = []
    for each in numbers:
        upto = [int(each[values <= point].sum()) for point in inner]
        rows.append(upto + [int(each.sum())] * (2**batch.levels - len(inner)))
    return np.array(rows, dtype=np.uint64)


def key(number, role=0):
    """Return a key of noise."""
    return hashlib.sha256(b"%d %d" % (role, number)).digest()


def answered(batch, noisy, both, number=0, n=1):
    """Return both servers' answers: `noisy` makes them of a batch, sums and a key."""
    return tuple(
        Answer(role, batch.digest, REPORTS, n, noisy(batch, own, key(number, role)))
        for role, own in enumerate(both)
    )


def one_curator(epsilon, relation, counts, smoothing, source):
    """Return counts up to 2^L thresholds with the noise of one tree, smoothed to their last."""
    counts = counts.astype(np.int64)
    noisy = tree_laplace(np.diff(counts, prepend=0), epsilon, relation, source)
    top = max(1.0, float(counts[-1]))
    return smoothed_counts(noisy.astype(np.float64), top, len(counts), smoothing)


def signed(words):
    """Return numbers modulo 2^64 as signed ones."""
    return words.view(np.int64)


def neighbours(records, size):
    """Yield all pairs of tables of so many records that differ in one, without order."""
    for rest in itertools.combinations_with_replacement(records, size - 1):
        for one, other in itertools.permutations(records, 2):
            yield tuple(sorted((*rest, one))), tuple(sorted((*rest, other)))
