"""One row for each mechanism: what it draws on two neighbouring inputs. A new one adds a row."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

import nolook.privacy.mechanisms as room
from nolook.privacy import sampling
from nolook.privacy.mechanisms.exponential import exponential_choice, permute_and_flip
from nolook.privacy.mechanisms.gaussian import gaussian_release, symmetric_gaussian_release
from nolook.privacy.mechanisms.keyed_noise import keyed_gaussian, keyed_laplace
from nolook.privacy.mechanisms.laplace import laplace_release
from nolook.privacy.mechanisms.propose_test_release import passes_test
from nolook.privacy.mechanisms.top_k import bounded_range_peeling, canonical_lipschitz, peeling
from nolook.privacy.mechanisms.tukey_depth import (
    TukeyRule,
    compute_volumes,
    restricted_tukey,
    sample_point_with_depth,
    sorted_columns,
    tukey_release,
)
from nolook.privacy.sampling import kept_rows

__all__ = ["MECHANISMS", "PLACES", "Row", "all_mechanisms", "keyed"]


def all_mechanisms() -> dict[str, Callable[..., Any]]:
    """Return every public function of the room that takes a source or a key of random bits."""
    modules = [sampling]
    for module in pkgutil.iter_modules(room.__path__, f"{room.__name__}."):
        if not module.name.rpartition(".")[2].startswith("_"):
            modules.append(importlib.import_module(module.name))
    return {
        f"{module.__name__.rpartition('.')[2]}.{name}": getattr(module, name)
        for module in modules
        for name in module.__all__
        if inspect.isfunction(getattr(module, name))
        and {"source", "key"} & set(inspect.signature(getattr(module, name)).parameters)
    }


def _number(values: Any, *_: Any, **_named: Any) -> Any:
    return np.full(values.shape, 40_000, dtype=np.int64)


@dataclass(frozen=True)
class Row:
    """A mechanism on two neighbours.

    Parameters
    ----------
    draw : callable
        Takes an input and a source.
    first, second : object
        The inputs.
    add : callable, optional
        Adds noise of a scale to whole numbers: takes these, the scale and a source. None for a
        mechanism that chooses.
    answer : callable
        Takes the mechanism's own arguments; what it might answer, which no value decides.
    whole : bool
        Whether each neighbour must reach all that the other reaches often.
    """

    draw: Callable[[Any, Any], Any]
    first: Any
    second: Any
    add: Callable[[Any, float, Any], Any] | None = None
    answer: Callable[..., Any] = _number
    whole: bool = True


MODELS = np.array([[-9], [-4], [-2], [0], [1], [3], [6], [12]] * 4)
MOVED = np.vstack([MODELS[:-1], [[30]]])
RULE = TukeyRule(4, 1.0, 1.0, 0.2)


def _restricted(models: np.ndarray, source: Any) -> list[int]:
    columns = sorted_columns(models)
    return restricted_tukey(columns, compute_volumes(columns), 6, Fraction(1, 2), source)


def keyed(release: Callable[[Any, bytes], Any], values: np.ndarray, source: Any) -> np.ndarray:
    """Release with a key of random bits, and read the result as signed numbers."""
    return release(values.astype(np.uint64), source.words(4).tobytes()).view(np.int64)


def _first(_: Any, k: int, *_rest: Any) -> np.ndarray:
    return np.arange(k)


SCORES = np.array([3, 1, 4, 1, 5])
PLACES = np.arange(2, dtype=np.uint64)
CLOSE = SCORES + np.array([1, -1, -1, 1, -1])

MECHANISMS = {
    "laplace.laplace_release": Row(
        lambda values, source: laplace_release(values, 1, 1.0, source),
        np.array([7]),
        np.array([8]),
        add=lambda x, scale, source: laplace_release(x, scale, 1.0, source),
    ),
    "gaussian.gaussian_release": Row(
        lambda values, source: gaussian_release(values, 1.0, 1.0, source),
        np.array([7]),
        np.array([8]),
        add=lambda x, scale, source: gaussian_release(x, scale, 1.0, source),
    ),
    "gaussian.symmetric_gaussian_release": Row(
        lambda values, source: symmetric_gaussian_release(values, 1.0, 1.0, source),
        np.array([[3, 1], [1, 3]]),
        np.array([[4, 1], [1, 3]]),
        add=lambda x, scale, source: np.diag(
            symmetric_gaussian_release(np.diag(x), scale, 1.0, source)
        ),
    ),
    "keyed_noise.keyed_laplace": Row(
        lambda values, source: keyed(lambda x, k: keyed_laplace(x, 1, 1.0, k), values, source),
        np.array([7]),
        np.array([8]),
        add=lambda x, scale, source: keyed(
            lambda shares, key: keyed_laplace(shares, 1, 1 / scale, key), x, source
        ),
    ),
    "keyed_noise.keyed_gaussian": Row(
        lambda values, source: keyed(lambda x, k: keyed_gaussian(x, 1.0, 1.0, k), values, source),
        np.array([7]),
        np.array([8]),
        add=lambda x, scale, source: keyed(
            lambda shares, key: keyed_gaussian(shares, scale, 1.0, key), x, source
        ),
    ),
    "exponential.exponential_choice": Row(
        lambda scores, source: exponential_choice(scores, 1.0, 1.0, source),
        SCORES,
        CLOSE,
        answer=lambda *_, **_named: 0,
    ),
    "exponential.permute_and_flip": Row(
        lambda scores, source: permute_and_flip(scores, 1.0, 1.0, source),
        SCORES,
        CLOSE,
        answer=lambda *_, **_named: 0,
    ),
    "top_k.bounded_range_peeling": Row(
        lambda scores, source: bounded_range_peeling(scores, 2, 1.0, 1.0, source),
        SCORES,
        CLOSE,
        answer=_first,
    ),
    "top_k.peeling": Row(
        lambda scores, source: peeling(scores, 2, 1.0, 2.0, source),
        SCORES,
        CLOSE,
        answer=_first,
    ),
    "top_k.canonical_lipschitz": Row(
        lambda scores, source: canonical_lipschitz(scores, 2, 1.0, 2.0, source),
        SCORES,
        CLOSE,
        answer=_first,
    ),
    "propose_test_release.passes_test": Row(
        lambda distance, source: passes_test(distance, 1.0, 0.1, source), 0, 1
    ),
    # A delta is there for what only one of two neighbours reaches.
    "tukey_depth.tukey_release": Row(
        lambda models, source: tukey_release(models, RULE, source),
        MODELS,
        MOVED,
        answer=lambda models, *_: np.ones(models.shape[1], dtype=np.int64),
        whole=False,
    ),
    "tukey_depth.restricted_tukey": Row(_restricted, MODELS, MOVED, whole=False),
    "tukey_depth.sample_point_with_depth": Row(
        lambda models, source: sample_point_with_depth(sorted_columns(models), 8, source),
        MODELS,
        MOVED,
        whole=False,
    ),
    "sampling.kept_rows": Row(
        lambda count, source: kept_rows(count, 2**31, source), 3, 4, whole=False
    ),
}
