"""Columns that break careless code; every estimator gives each its ordinary answer."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

__all__ = ["COLUMNS", "column", "with_columns"]

COLUMNS = (
    "constant", "zero", "minus zero", "mostly zero", "mostly one value", "tiny", "huge", "largest",
    "subnormal", "symmetric", "near 2^53", "years", "one outlier", "heavy tail", "few ones",
    "mostly 999",
)  # fmt: skip


def with_columns(rows: Mapping[str, object]) -> pytest.MarkDecorator:
    """Pair rows with columns: every day each with a quarter of the others."""
    pairs = [
        pytest.param(row, name, id=f"{kind}-{name}", marks=[pytest.mark.slow] * ((i + j) % 4 > 0))
        for i, (kind, row) in enumerate(rows.items())
        for j, name in enumerate(COLUMNS)
    ]
    return pytest.mark.parametrize(("row", "name"), pairs)


def column(name: str, rows: int, seed: int = 1) -> np.ndarray:
    """Return a degenerate column, shape (rows,)."""
    generator = np.random.default_rng(seed)
    normal = generator.normal(size=rows)
    uniform = generator.random(rows)
    outlier = normal.copy()
    outlier[-1:] = 1e200
    subnormal = normal.copy()
    subnormal[-1:] = 5e-324
    return {
        "constant": np.full(rows, 7.25),
        "zero": np.zeros(rows),
        "minus zero": np.full(rows, -0.0),
        "mostly zero": np.where(uniform < 0.01, 1000.0, 0.0),
        "mostly one value": np.where(uniform < 0.2, normal, 3.0),
        "tiny": normal * 1e-300,
        "huge": normal * 1e300,
        "largest": np.full(rows, 1.7e308),
        "subnormal": np.full(rows, 5e-324),
        "one subnormal cell": subnormal,
        "symmetric": np.where(uniform < 0.5, -1.0, 1.0),
        "near 2^53": 2.0**53 - np.floor(10 * uniform),
        "years": 2001.0 + np.floor(20 * uniform),
        "one outlier": outlier,
        "heavy tail": normal / np.maximum(uniform, 1e-9) ** 2,
        "few ones": np.where(uniform < 0.02, 1.0, 0.0),
        "mostly 999": np.where(uniform < 0.04, np.floor(2500 * uniform), 999.0),
    }[name]
