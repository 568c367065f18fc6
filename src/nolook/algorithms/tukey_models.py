"""The number of models the Tukey mechanism needs, from a table computed without any data.

The table, `tukey_models.json`, is the result of `scripts/tukey_models.py`: for standard normal
models, the smallest number whose test passes with probability 0.99.
"""

from __future__ import annotations

import json
import math
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["models_needed"]


@cache
def _table() -> tuple[tuple[NDArray[np.float64], ...], NDArray[np.float64]]:
    """Return the logarithms of the axes and of the numbers of models."""
    text = files("nolook.algorithms").joinpath("tukey_models.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    axes = tuple(np.log(document[name]) for name in ("dimensions", "epsilons"))
    return (*axes, -np.log(document["deltas"])), np.log(document["models"])


def models_needed(dimension: int, epsilon: float, delta: float) -> int:
    """Return the number of normal models that pass the test with probability 0.99.

    `dimension` is the number of numbers per model; epsilon and delta are what test and release
    cost together. Between the table's entries the logarithm is interpolated, beyond them it goes on
    as the last two entries do; for a smaller epsilon the number grows as 1/epsilon, for a larger
    one it stays.

    >>> models_needed(11, 0.77, 5e-6) > models_needed(5, 0.77, 5e-6)
    True
    """
    axes, models = _table()
    smallest = float(axes[1][0])
    clipped = min(max(math.log(epsilon), smallest), float(axes[1][-1]))
    place = (math.log(dimension), clipped, -math.log(delta))
    for axis, value in zip(axes, place, strict=True):
        i = int(np.searchsorted(axis, value).clip(1, len(axis) - 1))
        share = (value - axis[i - 1]) / (axis[i] - axis[i - 1])
        models = (1 - share) * models[i - 1] + share * models[i]
    rarer = max(0.0, smallest - math.log(epsilon))
    # In eighths: the depth is an eighth of the number of models, rounded down.
    return 8 * math.ceil(math.exp(float(models) + rarer) / 8)
