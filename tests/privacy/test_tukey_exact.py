"""Exact output distributions on neighbouring sets of models: one model replaced by any other."""

from __future__ import annotations

import numpy as np
import pytest

from nolook.audit.exact_laws import exact_delta
from tests.privacy.tukey_versions import SHAPES, SIZES, pairs, unkept, version_for_rows


def test_the_version_for_rows_keeps_its_promise_on_every_pair():
    version = version_for_rows(1.2, 0.8, 0.02)
    passing = []
    for models, other, grid in pairs():
        first, second = version.output(models, grid), version.output(other, grid)
        assert exact_delta(first, second, 2.0) <= 0.02 * (1 + 1e-9)
        passing.append(1 - first[-1])
    assert len(passing) == len(SIZES) * len(SHAPES) * 16
    # The promise is not kept by never answering.
    assert np.mean(np.array(passing) > 0.5) > 0.3


@pytest.mark.parametrize("dimension", [1, 2])
def test_models_called_safe_are_safe(dimension):
    kept = unkept(version_for_rows(2.4, 1.6, 0.02), dimension)
    assert len(kept) > 100
    assert not kept.any()
