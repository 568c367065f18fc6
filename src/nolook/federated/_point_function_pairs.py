"""Pairs of keys of a verifiable point function, one level of a block of keys at a time.

`point_functions.md` has the construction; the steps between two encryptions are in
`kernels/point_functions.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nolook._arrays import Bytes, Words
from nolook.federated._point_function_keys import PROOF_KINDS, SIDES, Ciphers, Shape, root_inputs
from nolook.federated._prg import as_bytes, block_words, encrypt
from nolook.kernels.point_functions import correct_proofs, correct_turn, correct_values


class Dealer:
    """Makes pairs of keys."""

    def __init__(self, shape: Shape, ciphers: Ciphers) -> None:
        self._shape, self._ciphers = shape, ciphers

    def deal(self, cells: Words, words: Words, keys: Bytes) -> None:
        """Write the keys (2, count, key_bytes) of cells (count,).

        The random words (count, 2, 2) are the root's seeds of party 0 and 1.
        """
        shape, count = self._shape, len(cells)
        corrections = np.empty((count, shape.levels, 2), np.uint64)
        parts = shape.parts(keys)
        bits = np.zeros(parts["bits"].shape[1:], np.uint8)
        seeds = words.transpose(1, 0, 2)
        inputs = np.stack([root_inputs(seeds[role], role) for role in (0, 1)])
        level = 0
        for i, stop in enumerate(shape.stops):
            while level < stop:
                blocks = self._encrypted(SIDES, inputs)
                bit = shape.levels - 1 - level
                correct_turn(level, bit, cells, inputs, blocks, corrections, bits)
                level += 1
            self._stop(i, cells >> np.uint64(shape.levels - stop), inputs, parts["stops"][..., i])
        parts["seed"], parts["corrections"], parts["bits"] = seeds, corrections, bits

    def _stop(self, i: int, nodes: Words, inputs: Words, parts: NDArray[np.void]) -> None:
        """Write the corrections of one stop."""
        count = len(nodes)
        values = np.empty(count, np.uint64)
        correct_values(inputs, self._encrypted(("value",), inputs)[0], values)
        blocks = np.empty((PROOF_KINDS, *inputs.shape), np.uint64)
        offsets = nodes & np.uint64((1 << self._shape.gaps[i]) - 1)
        for offset in np.unique(offsets).tolist():
            rows = np.flatnonzero(offsets == offset)
            names = [f"proof {kind} {offset}" for kind in range(PROOF_KINDS)]
            blocks[:, :, rows] = self._encrypted(names, inputs[:, rows])
        proofs = np.empty((count, PROOF_KINDS, 2), np.uint64)
        correct_proofs(inputs, blocks, proofs)
        parts["value"], parts["proof"] = values, proofs

    def _encrypted(self, names: Sequence[str], inputs: Words) -> Words:
        """Return the inputs under each of some permutations."""
        plain = np.ascontiguousarray(inputs)
        room = block_words(len(names) * plain.size // 2)
        for i, name in enumerate(names):
            start = i * plain.nbytes
            encrypt(self._ciphers.named(name), as_bytes(plain), as_bytes(room)[start:])
        return room[:-2].reshape(len(names), *plain.shape)
