"""Pairs of keys of a verifiable point function, one level of a block of keys at a time.

`point_functions.md` has the construction; the steps between two encryptions are in
`kernels/point_functions.py`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nolook._arrays import Bytes, Words
from nolook.federated._point_function_keys import PROOF_KINDS, SIDES, Ciphers, Shape, root_inputs
from nolook.kernels.point_functions import correct_proofs, correct_turn, correct_values


def deal(shape: Shape, ciphers: Ciphers, cells: Words, words: Words, keys: Bytes) -> None:
    """Write the keys (2, count, key_bytes) of cells (count,).

    The random words (count, 2, 2) are the root's seeds of party 0 and 1.
    """
    corrections = np.empty((len(cells), shape.levels, 2), np.uint64)
    parts = shape.parts(keys)
    bits = np.zeros(parts["bits"].shape[1:], np.uint8)
    seeds = words.transpose(1, 0, 2)
    inputs = np.stack([root_inputs(seeds[role], role) for role in (0, 1)])
    for level in range(shape.levels):
        blocks = ciphers.encrypted(SIDES, inputs)
        correct_turn(level, shape.levels - 1 - level, cells, inputs, blocks, corrections, bits)
        if level + 1 in shape.stops:
            i = shape.stops.index(level + 1)
            nodes = cells >> np.uint64(shape.levels - 1 - level)
            offsets = nodes & np.uint64((1 << shape.gaps[i]) - 1)
            _stop(ciphers, offsets, inputs, parts["stops"][..., i])
    parts["seed"], parts["corrections"], parts["bits"] = seeds, corrections, bits


def _stop(ciphers: Ciphers, offsets: Words, inputs: Words, parts: NDArray[np.void]) -> None:
    """Write the corrections of one stop, whose nodes on the path have some offsets."""
    values = np.empty(len(offsets), np.uint64)
    correct_values(inputs, ciphers.encrypted(("value",), inputs)[0], values)
    blocks = np.empty((PROOF_KINDS, *inputs.shape), np.uint64)
    for offset in sorted({*offsets.tolist()}):
        rows = np.flatnonzero(offsets == offset)
        blocks[:, :, rows] = ciphers.proofs(offset, inputs[:, rows])
    proofs = np.empty((len(offsets), PROOF_KINDS, 2), np.uint64)
    correct_proofs(inputs, blocks, proofs)
    parts["value"], parts["proof"] = values, proofs
