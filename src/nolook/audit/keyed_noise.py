"""Audits of noise derived from a key, as seen by the server that holds the other share."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from nolook._arrays import Words
from nolook.audit.audit_case import FEWER_RUNS, Case, gaussian_case, one_by_one, pure_case
from nolook.audit.exact_laws import laplace_law
from nolook.privacy.mechanisms.keyed_noise import keyed_gaussian, keyed_laplace
from nolook.privacy.noise import ByteSource

__all__ = ["cases"]


_LIMIT = 10  # outcomes are clipped to -10..10: beyond, nothing is learned
_FINE = 2**20  # what a row counts where noise is Gaussian: its rounding is then nothing


def cases(epsilon: float) -> tuple[Case, ...]:
    """Return the cases at an epsilon, or at a mu of the same size."""
    return (
        pure_case(epsilon)(
            name="keyed-count",
            neighbours="a row more",
            covers=("keyed_laplace",),
            draw=one_by_one(partial(_count, epsilon)),
            law=lambda table: laplace_law(1 / epsilon, 1 - table, _LIMIT),
            runs=FEWER_RUNS,
        ),
        gaussian_case(epsilon)(
            name="keyed-gaussian",
            neighbours="a row more",
            covers=("keyed_gaussian",),
            draw=one_by_one(partial(_learned, keyed_gaussian, _FINE, epsilon)),
        ),
    )


def _count(epsilon: float, table: int, source: ByteSource) -> float:
    counted = _learned(keyed_laplace, 1, epsilon, table, source)
    return max(-_LIMIT, min(counted, _LIMIT)) + _LIMIT


def _learned(
    release: Callable[..., Words], unit: int, parameter: float, table: int, source: ByteSource
) -> float:
    """Split a count into shares, release one and add the other: what its holder learns."""
    known, key = source.words(1), source.words(4).tobytes()
    share = np.array([unit * (1 - table)], dtype=np.uint64) - known
    return float((release(share, unit, parameter, key) + known).view(np.int64)[0])
