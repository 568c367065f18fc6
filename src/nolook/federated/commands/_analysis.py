"""What the analyst gets: ask both servers, write the file, and return what a report shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from nolook.algorithms.node_counts import Smoothing as CountSmoothing
from nolook.algorithms.tree_smoothing import Smoothing
from nolook.estimators.ecdf import ECDF
from nolook.estimators.quantiles import Quantiles
from nolook.federated import answers, point_answers
from nolook.federated.answers import Answer
from nolook.federated.batch import Batch
from nolook.federated.point_batch import PointBatch
from nolook.federated.shares import guarantee
from nolook.federated.threshold_counts import Counts, counts_findings, write_counts
from nolook.formats.model_file import save
from nolook.report.distribution_findings import ecdf_findings, quantiles_findings
from nolook.report.findings import Findings
from nolook.report.score_findings import calibration_findings, roc_findings

__all__ = ["Ask", "calibration", "counts", "distribution", "quantiles"]

#: Asks both servers a question.
Ask: TypeAlias = Callable[[dict[str, object]], tuple[Answer, Answer]]


def distribution(batch: Batch, smoothing: Smoothing, ask: Ask, file: Path) -> Findings:
    """Release a distribution or an ROC curve."""
    if isinstance(batch, PointBatch):
        blocks = ask({"question": "blocks"})
        found = point_answers.distribution(batch, *blocks, cast("CountSmoothing", smoothing))
    else:
        found = answers.distribution(batch, *ask({"question": "curves"}), smoothing)
    if isinstance(found, ECDF):
        save(found, file)
        return ecdf_findings(found, batch.name)
    save(found, file)
    return roc_findings(found, found.scored_)


def calibration(batch: Batch, groups: int, ask: Ask, file: Path) -> Findings:
    """Release a calibration; in format 1 quantiles of the probabilities, then groups between."""
    if isinstance(batch, PointBatch):
        found = point_answers.calibration(batch, *ask({"question": "blocks"}), groups)
    else:
        curves = ask({"question": "curves"})
        places = answers.borders(batch, *curves, groups)
        sums = ask({"question": "groups", "borders": places.tolist()})
        found = answers.calibration(batch, curves, sums, places, groups)
    save(found, file)
    return calibration_findings(found, found.scored_)


def counts(batch: Batch, thresholds: tuple[float, ...], ask: Ask, file: Path) -> Findings:
    """Release the numbers of values up to some thresholds."""
    places = answers.places(batch, thresholds)
    rows, counted, errors = _counts(batch, places, ask)
    found = Counts(batch, rows, batch.points()[places], counted, errors, guarantee(batch))
    write_counts(found, file)
    return counts_findings(found)


def quantiles(batch: Batch, shares: tuple[float, ...], ask: Ask, file: Path) -> Findings:
    """Search quantiles, with one question for each halving."""
    wanted = np.array(shares)
    last = np.array([len(batch.points()) - 1], dtype=np.uint64)
    rows, *_ = _counts(batch, last, ask)
    values, errors = answers.quantiles(
        batch, rows, wanted, lambda places: _counts(batch, places, ask)[1]
    )
    recipe = batch.recipe()
    grids = {} if batch.grid is None else {batch.name: batch.grid}
    read = values[np.newaxis], errors[np.newaxis]
    found = Quantiles((batch.name,), wanted, *read, guarantee(batch), recipe, grids)
    save(found, file)
    return quantiles_findings(found, recipe, grids)


def _counts(
    batch: Batch, places: NDArray[np.uint64], ask: Ask
) -> tuple[int, NDArray[np.float64], NDArray[np.float64]]:
    """Return the number of reports, counts up to the thresholds at some places, and errors."""
    both = ask({"question": "points", "places": places.tolist()})
    return both[0].n, *answers.counts(batch, *both, places)
