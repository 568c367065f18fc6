"""A server's trees of a verifiable point function, one level of a block of keys at a time.

`point_functions.md` has the construction, `kernels/point_functions.py` the steps between two
encryptions. A server's nodes lie stop by stop: those of one offset below their parents at the last
stop side by side, so that each offset is encrypted by its own permutation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nolook._arrays import Bytes, Words
from nolook.federated._point_function_keys import PROOF_KINDS, SIDES, Ciphers, Shape, root_inputs
from nolook.kernels.point_functions import add_proofs, add_values, grow_both, level_steps


class _Stop:
    """State of a worker for a block of keys on its way to one stop."""

    def __init__(self, shape: Shape, i: int, parts: NDArray[np.void], parents: int) -> None:
        size, keys, last = 1 << shape.gaps[i], len(parts), i == len(shape.stops) - 1
        self.level, self.last = shape.stops[i], last
        own = parts["stops"][:, i]
        self.value = np.array(own["value"], np.uint64)
        self.proof = np.array(own["proof"].transpose(1, 0, 2), np.uint64, order="C")
        self.sums = np.zeros(keys, np.uint64)
        self.totals = np.zeros((parents, size), np.uint64)
        self.proofs = np.zeros((size, PROOF_KINDS, keys, 2), np.uint64)
        # Nodes, for the next stop.
        self.inputs = np.empty((0 if last else parents, size, keys, 2), np.uint64)

    def compared(self, above: Words) -> tuple[Words, Words]:
        """Return the values that both servers must share, given the sums of the parents' values."""
        return above - self.sums, self.proofs.transpose(2, 0, 1, 3)


class Grower:
    """Evaluates all keys of one party at all nodes, and sums over keys.

    At most about `width` nodes are grown at once.
    """

    def __init__(self, shape: Shape, role: int, ciphers: Ciphers, width: int) -> None:
        self._shape, self._role, self._ciphers, self._width = shape, role, ciphers, width
        #: The cells' sums, which have no signs yet.
        self.totals = np.zeros(1 << shape.levels, np.uint64)
        #: Most parents that a key has at a stop.
        self.widest = 1 << shape.levels - shape.gaps[-1]

    def add(self, keys: Bytes) -> list[tuple[Words, Words]]:
        """Add the shares of a block of keys to `totals`.

        Returns for each stop what the servers compare: the sum of parents less that of their nodes
        (keys,), and the proofs (keys, offsets, kinds, 2).
        """
        parts = self._shape.parts(np.ascontiguousarray(keys))
        steps = level_steps(parts["corrections"], parts["bits"])
        nodes = root_inputs(np.array(parts["seed"], np.uint64), self._role)[None]
        above = np.full(len(keys), 1 - self._role, np.uint64)  # the role 0 takes off the 1
        found, level = [], 0
        for i, stop in enumerate(self._shape.stops):
            here = _Stop(self._shape, i, parts, len(nodes))
            self._grow(level, nodes, np.zeros(1, np.int64), steps, here)
            found.append(here.compared(above))
            nodes, above = here.inputs.reshape(-1, *here.inputs.shape[2:]), here.sums
            level = stop
        self.totals += here.totals.reshape(-1)
        return found

    def signed(self) -> Words:
        """Return party 0's sums as they are and party 1's negated."""
        return -self.totals if self._role else self.totals

    def _grow(
        self, level: int, nodes: Words, offsets: NDArray[np.int64], steps: Words, here: _Stop
    ) -> None:
        """Go down to a stop from nodes of some offsets: (offsets * parents, keys, 2)."""
        count, keys, _ = nodes.shape
        if level == here.level:
            self._arrive(nodes.reshape(len(offsets), -1, keys, 2), offsets, here)
        elif 2 * count * keys > self._width and len(offsets) > 1:
            for part, some in zip(np.split(nodes, 2), np.split(offsets, 2), strict=True):
                self._grow(level, part, some, steps, here)
        else:
            blocks = self._ciphers.encrypted(SIDES, nodes)
            children = np.empty_like(blocks)
            grow_both(nodes, blocks, steps[level], children)
            below = np.concatenate([2 * offsets, 2 * offsets + 1])
            self._grow(level + 1, children.reshape(-1, keys, 2), below, steps, here)

    def _arrive(self, nodes: Words, offsets: NDArray[np.int64], here: _Stop) -> None:
        """Take the values and proofs of some offsets' nodes, (offsets, parents, keys, 2)."""
        blocks = self._ciphers.encrypted(("value",), nodes)[0]
        add_values(nodes, blocks, offsets, here.value, here.totals, here.sums)
        if not here.last:
            here.inputs[:, offsets] = nodes.transpose(1, 0, 2, 3)
        for offset, some in zip(offsets.tolist(), nodes, strict=True):
            blocks = self._ciphers.proofs(offset, some)
            add_proofs(some, blocks, here.proof, here.proofs[offset])
