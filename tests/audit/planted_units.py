"""Faults of weights, and of what is counted for them: a unit then moves more than a row may."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from nolook._unit import WHOLE
from nolook.algorithms import node_counts, scaling, sublasso, tukey
from nolook.algorithms.glm import clips
from nolook.kernels.histogram import magnitude_counts
from nolook.privacy.mechanisms.gaussian import gaussian_release
from nolook.privacy.noise import uniform_integers
from nolook.statistics.histograms import Histograms, histograms_sensitivity
from nolook.statistics.weighted_rows import ClippedProducts
from nolook.tables import Table, table, units
from nolook.tables.units import Units
from tests.audit.planted import Fault, Release
from tests.audit.planted_regression import ExactFault


def weights_rounded_up(patch):
    def batches(self, part):
        for numbers, _, of_rows in self._of_units(part):
            yield numbers, -(-self.unit.weight_scale // self.units().counts[of_rows])

    patch.setattr(Table, "_weighted", batches)


def fewer_rows_counted(patch):
    group = units.group_rows

    def fewer(identifiers):
        found = group(identifiers)
        return Units(found._of_rows, np.maximum(found.counts // 2, 1))

    patch.setattr(table, "group_rows", fewer)


def identifiers_rounded(patch):
    hashes = units.hashes_of

    def rounded(cells, key):
        return hashes(cells.cast(pa.float64(), safe=False).cast(pa.int64(), safe=False), key)

    patch.setattr(units, "hashes_of", rounded)


class ScaledRows(ClippedProducts):
    """Multiplies rows and targets by the roots of their weights, then clips."""

    def update(self, rows, squares, targets, factors, weights=None, exposures=None):
        root = np.sqrt(weights / WHOLE)
        small = np.trunc(rows * root).astype(np.int16)
        squares = (small[1:].astype(np.int32) ** 2).sum(axis=0, dtype=np.int32)
        one = ClippedProducts(self._model, self._most)
        one.update(small, squares, targets, factors * root, None, exposures)
        self._total = self._total + self._whole * one.value
        return self


def all_of_a_unit_in_full(patch):
    exact = Table._weighted

    def batches(self, part):
        for numbers, weights in exact(self, part):
            yield numbers, np.full_like(weights, WHOLE)

    patch.setattr(Table, "_weighted", batches)


def blocks_of_rows(patch):
    exact = tukey.rows_in_blocks

    def by_row(whole, m, source):
        for batch, weights, _ in exact(whole, m, source):
            yield batch, weights, uniform_integers(m, batch.shape[1], source)

    for module in (tukey, sublasso):
        patch.setattr(module, "rows_in_blocks", by_row)


def total_of_weights(patch):
    def known_rows(self, cells):
        return float(sum(each.sum() for each in cells)) / self.weight_scale

    patch.setattr(node_counts.Weighing, "known_rows", known_rows)


_BEYOND = "beyond the sensitivity"
#: On tables that differ by a unit.
EXACT_FAULTS = (
    ExactFault("weights that add up to more than W", weights_rounded_up, _BEYOND),
    ExactFault("r counted over fewer rows than a pass uses", fewer_rows_counted, _BEYOND),
    ExactFault("identifiers through float64", identifiers_rounded, _BEYOND),
    ExactFault(
        "rows scaled before a residual is clipped",
        lambda patch: patch.setattr(clips, "ClippedProducts", ScaledRows),
        _BEYOND,
    ),
    ExactFault("every row in full", all_of_a_unit_in_full, _BEYOND),
)

# --- noise in steps of a unit --------------------------------------------------------------------


def _counts(rows):
    """Count a table of units and values, by their magnitudes: the bin of 1."""
    of_rows = rows[:, 0].astype(np.int64)
    weights = (WHOLE // np.bincount(of_rows))[of_rows]
    counted = Histograms(magnitude_counts).update(rows[np.newaxis, :, 1].copy(), weights)
    bins = counted.value(1)
    return bins[:, bins[0] > 0][:, -1:]


def noisy_counts(rows, draws, source):
    noisy = scaling.release_bins(np.tile(_counts(rows), (1, draws)), 1.0, WHOLE, source)[0]
    return [noisy, noisy % 1.0]


def whole_noise(exact, mu, whole, source):
    sensitivity = histograms_sensitivity(max(1, len(exact)), "add-remove")
    noise = gaussian_release(np.zeros_like(exact), sensitivity, mu, source)
    return exact / whole + noise


# The second table has one unit more: of its three rows two are counted with the others.
_FIRST = np.array([[0.0, 1.0], [1.0, 1.0]])
_SECOND = np.concatenate([_FIRST, [[2.0, 1.0], [2.0, 1.0], [2.0, -1.0]]])
COUNTS = Release("weighted counts", (_FIRST, _SECOND), noisy_counts, 1.0, 100_000, 0.5, delta=None)
FAULTS = (
    Fault(
        "noise times W instead of noise of scale W",
        COUNTS,
        lambda patch: patch.setattr(scaling, "release_bins", whole_noise),
    ),
)
