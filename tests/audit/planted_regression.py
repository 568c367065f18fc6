"""Faults of weighted rows, and of the regression that is made of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from attrs import evolve

from nolook.algorithms import node_counts
from nolook.algorithms.glm import clips, designs, error_sizes, frame, linear
from nolook.algorithms.glm.linear import LinearRelease
from nolook.algorithms.scaling import NoisyCount, ScaleSearch
from nolook.algorithms.whitening import Spread
from nolook.kernels.moments import UNIT as MOMENT_UNIT
from nolook.kernels.weighted_rows import Standard
from nolook.kernels.weighted_rows import weighted_rows as exact_weighted_rows
from nolook.privacy.mechanisms import gaussian
from nolook.statistics import grid_models, weighted_rows
from nolook.statistics.grid_models import RowBlock
from tests.audit.planted import Fault, Release, halved, halved_bins
from tests.collected import blocks_of

UNIT = 2**10
NORM = 7.0
_RADIUS = int((NORM * UNIT) ** 2)


def as_block(rows):
    """Return a table, whose last column is the target, as weighted rows of centre 0 and scale 1."""
    ones = np.ones(rows.shape[1] - 1)
    standard = Standard(0 * ones, ones, -20 * ones, 20 * ones)
    whitening = Spread.standard(ones.size).whitening
    whole, squares, factors = exact_weighted_rows(
        np.ascontiguousarray(rows.T[:-1]), standard, whitening, _RADIUS, UNIT
    )
    return RowBlock(whole, squares, rows.T[-1], factors)


def model(theta):
    return grid_models.GridModel(*grid_models.grid_model(theta, _RADIUS), UNIT)


# --- clipped products ----------------------------------------------------------------------------

_CLIP = 2**20
_FAR = np.array([[2.0, -2.0, 50.0]])


def products(rows):
    return weighted_rows.ClippedProducts(model(np.zeros(3)), _CLIP).update(*as_block(rows)).value


_DIRECTION = products(_FAR).astype(np.float64) / _CLIP


def noisy_products(rows, draws, source):
    exact = np.tile(products(rows).astype(np.int64), (draws, 1))
    sensitivity = weighted_rows.clipped_products_sensitivity(_CLIP)
    return [gaussian.gaussian_release(exact, sensitivity, 1.0, source) @ _DIRECTION]


PRODUCTS = Release(
    "clipped products",
    (np.ones((4, 3)), np.concatenate([np.ones((4, 3)), _FAR])),
    noisy_products,
    1.0,
    100_000,
    0.8,
    delta=None,
)


def separate_clips(rows, squares, residuals, grid, most, weights):
    """Clip the residual alone, at the size that its product with the row should keep to."""
    del squares
    whole = np.trunc((residuals * grid).clip(-most / UNIT, most / UNIT)).astype(np.int64)
    return (rows @ (whole if weights is None else whole * weights)).astype(object)


# --- sizes of products ---------------------------------------------------------------------------

_ROW = np.array([[0.3, -0.7, 1.1, 0.9, -1.3, 2.0]])
_THETA = 1.0 / np.array([3.0, 5.0, 7.0, 11.0, 13.0, 15.0])
_MANY = np.repeat(_ROW, 16, axis=0)


def blas_scores(rows, theta, shrink):
    """Add up as BLAS may: other than the rest, the rows that fill no block of four."""
    out = np.empty(rows.shape[1])
    for place in range(out.size):
        parts = theta * rows[:, place].astype(np.float64)
        in_block = place < out.size // 4 * 4
        out[place] = shrink * sum(parts if in_block else parts[::-1])
    return out


def _edge():
    """Return the smaller of both sizes that the row then has: no grid rounds the model."""
    three, four = (np.repeat(_ROW, count, axis=0) for count in (3, 4))
    blocks = map(as_block, (three, four))
    found = [(b.targets * b.factors - blas_scores(b.rows, _THETA, 1.0 / UNIT))[0] for b in blocks]
    sizes = np.sqrt(float(as_block(_ROW).squares[0])) / UNIT * np.abs(found)
    assert sizes[0] != sizes[1]
    return sizes.min(keepdims=True)


EDGE = _edge()


def noisy_sizes(rows, draws, source):
    exact = weighted_rows.ProductSizes(model(_THETA), EDGE).update(*as_block(rows)).value
    noisy = gaussian.gaussian_release(np.tile(exact, (draws, 1)), 1.0, 1.0, source)
    below, above = noisy.T.astype(np.float64)
    return [below, above, below - above]


SIZES = Release(
    "sizes of products", (_MANY[:-1], _MANY), noisy_sizes, 1.0, 100_000, 0.8, delta=None
)


def plant_blas(patch):
    patch.setattr(grid_models, "scores", blas_scores)
    patch.setattr(grid_models, "grid_model", lambda theta, _: (theta, 1.0))


# --- errors of a model ---------------------------------------------------------------------------


def noisy_errors(rows, draws, source):
    exact = weighted_rows.ModelErrors(model(np.zeros(3)), 0.0).update(*as_block(rows)).value
    noisy = gaussian.gaussian_release(
        np.tile(exact.astype(np.int64), (draws, 1)), weighted_rows.errors_sensitivity(), 1.0, source
    )
    return [noisy.sum(axis=1).astype(np.float64)]


ERRORS = Release("errors of a model", PRODUCTS.tables, noisy_errors, 1.0, 100_000, 0.8, delta=None)

FAULTS = (
    Fault(
        "separate clips of row and residual",
        PRODUCTS,
        lambda patch: patch.setattr(weighted_rows, "clipped_products", separate_clips),
        3.0,
    ),
    Fault(
        "sensitivity of clipped products halved",
        PRODUCTS,
        halved(weighted_rows, "clipped_products_sensitivity"),
        2.0,
    ),
    Fault("residuals by BLAS", SIZES, plant_blas, 5.0),
    Fault("sensitivity of errors halved", ERRORS, halved(weighted_rows, "errors_sensitivity"), 2.0),
)

# --- the whole release, its answers given --------------------------------------------------------


@dataclass(frozen=True)
class ExactFault:
    """A fault that shows where the same noisy answers are given to two tables.

    Parameters
    ----------
    name : str
    plant : callable
        Takes a MonkeyPatch.
    shown : str
        What the comparison then says.
    """

    name: str
    plant: Callable[[pytest.MonkeyPatch], None]
    shown: str


def rows_rounded(columns, standard, whitening, squared_radius, unit):
    """Round entries to the nearest, so that the norm is kept to in real numbers only."""
    center, scale, low, high = (each[:, np.newaxis] for each in standard[:4])
    z = ((columns - center) / scale).clip(low, high) - whitening.center[:, np.newaxis] / MOMENT_UNIT
    x = np.vstack([np.ones(columns.shape[1]), whitening.spacing * whitening.matrix @ z])
    factors = np.minimum(1.0, np.sqrt(squared_radius / (x**2).sum(axis=0)) / unit)
    rows = np.rint(unit * factors * x).astype(np.int16)
    return rows, (rows[1:].astype(np.int32) ** 2).sum(axis=0, dtype=np.int32), factors


def a_column_more(columns, standard, whitening, squared_radius, unit):
    """Bound the norm of all columns but the last, and release that one, too."""
    fewer = Spread.standard(len(columns) - 1).whitening
    bound = squared_radius, unit
    others = Standard(*(each[:-1] for each in standard[:4]))
    one = exact_weighted_rows(columns[:-1], others, fewer, *bound)
    center, scale, low, high = (each[-1] for each in standard[:4])
    last = np.trunc(unit * ((columns[-1] - center) / scale).clip(low, high)).astype(np.int16)
    return np.vstack([one[0], last]), one[1] + last.astype(np.int32) ** 2, one[2]


def whole_scores(model, clip, block):
    """Leave out the clip."""
    rho = model.residuals(block) / (clip * model.unit) * weighted_rows.SCORE_UNIT
    return np.trunc((block.rows * rho).clip(-(2.0**24), 2.0**24))


def rows_of(table):
    return sum(batch.shape[1] for batch in table.batches())


def count_rows_truly(patch):
    search = ScaleSearch.run

    def run(self, table, source, progress):
        return evolve(
            search(self, table, source, progress), rows=NoisyCount(float(rows_of(table)), 1.0)
        )

    patch.setattr(ScaleSearch, "run", run)


class BlocksByLength(designs.Blocks):
    """Keeps the rows of a short table."""

    def __init__(self, table, design, _):
        fits = rows_of(table) * RowBlock.bytes_of_a_row(design.size)
        super().__init__(table, design, fits if fits <= designs.COPY_BYTES else 0)


def exact_moments(patch):
    """Return where the exact moments are put that a release then has."""
    release, exact = frame.release_gram, []

    def gram(blocks, mu, source):
        parts = [block.rows.astype(np.float64) for block in blocks_of(blocks)]
        exact[:] = [sum(part @ part.T for part in parts) / blocks.design.unit**2]
        return release(blocks, mu, source)

    patch.setattr(frame, "release_gram", gram)
    return exact


def estimate_from_exact_moments(patch):
    combine, exact = linear.combine_gradients, exact_moments(patch)
    patch.setattr(linear, "combine_gradients", lambda _, *rest: combine(exact[0], *rest))


def clips_from_exact_counts(patch):
    """Choose K by the counts before noise was added: by whether they are even."""
    fold, likely, exact = designs.Blocks.fold, clips.likely_counts, []

    def noted(self, statistic):
        found = fold(self, statistic)
        if isinstance(found, weighted_rows.ProductSizes):
            exact[:] = [found.value]
        return found

    def decided(*arguments):
        return likely(*arguments) * (1.0 + 1e3 * (exact[0].sum() % 2))

    patch.setattr(designs.Blocks, "fold", noted)
    patch.setattr(clips, "likely_counts", decided)


def leave_out(name):
    """Plant a guarantee that forgets a release."""
    events = LinearRelease.events

    def fewer(self):
        return tuple(event for event in events(self) if name not in event.name)

    return lambda patch: patch.setattr(LinearRelease, "events", fewer)


_BEYOND = "beyond the sensitivity"
# Which of the two is noticed first is chance.
ASTRAY = "something else is asked for|a model does not follow"
#: On neighbours.
EXACT_FAULTS = (
    ExactFault(
        "sensitivity of clipped products halved",
        halved(clips, "clipped_products_sensitivity"),
        _BEYOND,
    ),
    ExactFault("sensitivity of errors halved", halved(linear, "errors_sensitivity"), _BEYOND),
    ExactFault(
        "sensitivity of counts of errors halved",
        halved(node_counts, "node_counts_sensitivity"),
        _BEYOND,
    ),
    ExactFault(
        "sensitivity of large errors on either side halved",
        halved_bins(error_sizes),
        _BEYOND,
    ),
    ExactFault("clips from exact counts", clips_from_exact_counts, ASTRAY),
    ExactFault(
        "norms of rows not enforced in integers",
        lambda patch: patch.setattr(designs, "weighted_rows", rows_rounded),
        _BEYOND,
    ),
    ExactFault(
        "a column that the norm does not count",
        lambda patch: patch.setattr(designs, "weighted_rows", a_column_more),
        _BEYOND,
    ),
    ExactFault(
        "scores that are not clipped",
        lambda patch: patch.setattr(clips, "clipped_scores", whole_scores),
        _BEYOND,
    ),
    ExactFault("separate clips of row and residual", FAULTS[0].plant, _BEYOND),
    ExactFault("limit of the features by the true number", count_rows_truly, "does not follow"),
    ExactFault("empirical Bayes from exact moments", estimate_from_exact_moments, "a model does"),
)
#: On tables of another length.
KEPT_BY_LENGTH = ExactFault(
    "rows kept by their true number",
    lambda patch: patch.setattr(frame, "Blocks", BlocksByLength),
    "decides whether they are kept",
)
#: On one table.
UNSTATED = [
    ExactFault(f"{name} not stated", leave_out(name), "more is drawn")
    for name in (
        "number",
        "target",
        "column",
        "norms",
        "moments",
        "sizes",
        "rounds",
        "squared errors",
        "errors by",
        "either side",
        "rows' gradients",
    )
]
