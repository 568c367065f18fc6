"""Distributed comparison functions: two keys, neither of which tells what they share.

The function of a pair is f(t) = beta if t < alpha else 0 on 0..2^levels - 1, with values in the
integers modulo 2^64. Each key alone looks random; evaluated at the same point, the two give shares
whose sum is f there. This is the construction of figure 1 of Boyle, Chandran, Gilboa, Gupta,
Ishai, Kumar and Rathee, "Function secret sharing for mixed-mode and fixed-point secure
computation" (EUROCRYPT 2021), with the last levels replaced by a block of leaves. `dcf.md` has the
construction, the layout of keys, the proof and what keys do not give: nothing here tells a
malformed key from a good one.

Keys are rows of uint8, shape (n, key_bytes(levels)). Every function raises a ParameterError for an
argument of another type, shape or range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from nolook._validation import check_count
from nolook.errors import ParameterError
from nolook.federated._dcf_keys import Shape
from nolook.federated._dcf_trees import Dealer, Grower, Walker
from nolook.privacy.noise import ByteSource

__all__ = [
    "LARGEST_FULL_LEVELS",
    "LARGEST_LEVELS",
    "evaluate",
    "evaluate_sum",
    "full_domain_sum",
    "generate",
    "key_bytes",
]

Worker = TypeVar("Worker")
Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]

#: Points are 64-bit words, and so is the number of all points.
LARGEST_LEVELS = 63
#: Of a full domain: all its sums are in memory, 128 MiB.
LARGEST_FULL_LEVELS = 24

# How many a call encrypts: enough to outweigh the cost of the call, few enough that the arrays
# stay in the processor's cache. `benchmarks/dcf.py` measures it.
_DEALT_KEYS = 1024
_WALKED_KEYS = 2048
_GROWN_KEYS = 128
_GROWN_NODES = 2048
_LEAF_NODES = 256


def key_bytes(levels: int) -> int:
    """Return the length of a key for ``2**levels`` points, `levels` from 1 to 63.

    >>> key_bytes(16)
    539
    """
    return _shape(levels).key_bytes


def generate(alphas: Words, betas: Words, levels: int, source: ByteSource) -> tuple[Bytes, Bytes]:
    """Make pairs of keys: one each for party 0 and party 1.

    Each function is betas[i] before alphas[i], which is below ``2**levels``, and 0 from there on.
    The source gives four words for each pair.

    >>> import numpy as np
    >>> from nolook.privacy.noise import byte_source
    >>> alphas, betas = np.array([3, 200], np.uint64), np.array([10, 7], np.uint64)
    >>> keys0, keys1 = generate(alphas, betas, 8, byte_source(None))
    >>> evaluate(0, keys0, 8, 2) + evaluate(1, keys1, 8, 2)
    array([10,  7], dtype=uint64)
    >>> evaluate(0, keys0, 8, 3) + evaluate(1, keys1, 8, 3)
    array([0, 7], dtype=uint64)
    """
    shape = _shape(levels)
    _check_words(alphas, "alphas")
    _check_words(betas, "betas")
    if alphas.shape != betas.shape:
        raise ParameterError(
            f"betas have shape {betas.shape}; expected that of alphas, {alphas.shape}"
            " (give one for each alpha)"
        )
    _check_below(alphas, "alphas", levels)
    secrets = np.stack([alphas, betas], axis=1)
    keys = np.empty((2, len(secrets), shape.key_bytes), np.uint8)
    for rows, dealer in _blocks(len(secrets), _DEALT_KEYS, lambda n: Dealer(shape, n)):
        words = source.words(4 * (rows.stop - rows.start)).reshape(-1, 2, 2)
        dealer.deal(secrets[rows], words, keys[:, rows])
    return keys[0], keys[1]


def evaluate(role: int, keys: Bytes, levels: int, point: int) -> Words:
    """Return the shares of one party's keys at a point below ``2**levels``, shape (n,).

    With the other party's they sum modulo 2^64 to beta where ``point < alpha``, to 0 elsewhere.
    """
    shape = _shape(levels)
    _check_keys(role, keys, shape)
    _check_point(point, levels)
    shares = np.empty(len(keys), np.uint64)
    for rows, walker in _blocks(len(keys), _WALKED_KEYS, lambda n: Walker(shape, role, n)):
        for found in walker.shares(keys[rows], [int(point)]):
            shares[rows] = found
    return _signed(shares, role)


def evaluate_sum(role: int, keys: Bytes, levels: int, points: Words) -> Words:
    """Return the shares at some points, summed over keys modulo 2^64.

    Points may come in any order and share the work of what their paths have in common.
    """
    shape = _shape(levels)
    _check_keys(role, keys, shape)
    _check_words(points, "points")
    _check_below(points, "points", levels)
    distinct, places = np.unique(points, return_inverse=True)
    ascending = distinct.tolist()
    sums = np.zeros(len(distinct), np.uint64)
    for rows, walker in _blocks(len(keys), _WALKED_KEYS, lambda n: Walker(shape, role, n)):
        for i, shares in enumerate(walker.shares(keys[rows], ascending)):
            sums[i : i + 1] += shares.sum()  # arrays may wrap round, single numbers warn
    return _signed(sums[places], role)


def full_domain_sum(role: int, keys: Bytes, levels: int) -> Words:
    """Return the shares at all points, summed over keys modulo 2^64; `levels` is at most 24.

    Memory does not depend on the number of keys: besides the result
    it takes an eighth of that and less than 2 MiB.
    """
    shape = Shape(check_count(levels, "levels", LARGEST_FULL_LEVELS))
    _check_keys(role, keys, shape)
    count = min(len(keys), _GROWN_KEYS)
    grower = Grower(shape, role, count, _GROWN_NODES, _LEAF_NODES)
    for start in range(0, len(keys), _GROWN_KEYS):
        grower.add(keys[start : start + _GROWN_KEYS])
    return _signed(grower.total(), role)


def _blocks(total: int, size: int, make: Callable[[int], Worker]) -> Iterator[tuple[slice, Worker]]:
    """Yield blocks of rows, each with a worker; all but a short last one share the same."""
    count, worker = 0, None
    for start in range(0, total, size):
        rows = slice(start, min(start + size, total))
        if worker is None or rows.stop - rows.start != count:
            count = rows.stop - rows.start
            worker = make(count)
        yield rows, worker


def _signed(shares: Words, role: int) -> Words:
    """Return party 0's shares as they are and party 1's negated, in place."""
    return np.negative(shares, out=shares) if role else shares


def _shape(levels: int) -> Shape:
    return Shape(check_count(levels, "levels", LARGEST_LEVELS))


def _check_keys(role: int, keys: Bytes, shape: Shape) -> None:
    if role not in (0, 1):
        raise ParameterError(f"role is {role!r}; expected 0 or 1 (say whose keys these are)")
    if keys.dtype != np.uint8 or keys.ndim != 2 or keys.shape[1] != shape.key_bytes:
        raise ParameterError(
            f"keys are {keys.dtype} of shape {keys.shape}; expected uint8 of shape"
            f" (n, {shape.key_bytes}) (give keys of {shape.levels} levels)"
        )


def _check_words(values: Words, name: str) -> None:
    if values.dtype != np.uint64 or values.ndim != 1:
        raise ParameterError(
            f"{name} are {values.dtype} of shape {values.shape}; expected uint64 of shape (n,)"
            " (give one row of unsigned 64-bit integers)"
        )


def _check_below(values: Words, name: str, levels: int) -> None:
    """Refuse values outside the domain, without showing one: they may be secrets."""
    if values.size and int(values.max()) >> levels:
        raise ParameterError(
            f"{name} go beyond the domain; expected values below 2**{levels} (give more levels)"
        )


def _check_point(point: object, levels: int) -> None:
    if not isinstance(point, Integral) or not 0 <= int(point) < 1 << levels:
        raise ParameterError(
            f"point is {point!r}; expected an integer from 0 to 2**{levels} - 1 (give one of these)"
        )
