"""The figures the project promises, measured by its own benchmarks on fewer runs."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import accuracy, fit, intervals


def test_accuracy_on_real_tables(shared_data, monkeypatch):
    shared_data("README.md")
    monkeypatch.setattr(accuracy, "SPLITS", 3)
    scores = np.array([accuracy.compare(X, y) for _, X, y in accuracy.tables()])
    assert len(scores) == 20
    gaps = np.median(scores[:, 0] - scores[:, 1], axis=1)
    assert np.median(gaps) <= 0.01
    assert np.sum(gaps <= 0.10) >= 17
    assert (np.median(scores[:, 1], axis=1) > 0).all()
    assert scores[:, 1].min() > -0.5


@pytest.mark.parametrize("kind", intervals.KINDS[:5], ids=str)
def test_intervals_cover_the_truth(kind):
    runs = np.array([intervals.one_run(kind, seed) for seed in range(12)])
    assert runs[:, 0].mean() >= 0.90
    assert runs[:, 3].mean() >= 0.75  # of 12 runs; 95 % would miss this once in 450
    # A useless interval covers as well: these must not be much wider than the errors.
    assert runs[:, 1].mean() < 5 * runs[:, 2].mean()


def test_time_and_memory_of_a_fit_from_one_row_group(tmp_path):
    path = tmp_path / "table.parquet"
    fit.write_table(path, fit.MILLION, "one")
    theirs, _ = fit.run(fit.BASELINE, path)
    ours, peak = fit.run(fit.OURS, path)
    assert ours <= 4 * theirs
    assert peak <= 600
