"""The nearest bounded monotone sequence, where distance is the least tree noise that explains it.

The dual problem is a network of resistors. Its vertices are the boundaries 0..N of the N leaves;
each node of the tree is a unit resistor between the two ends of its leaves. A boundary is either
open, where its potential is 0, or closed: the sequence is level there (or at a limit), and its
potential, the constraint's multiplier, is solved for. Such networks are solved exactly by
eliminating the midpoint of every node, from the leaves up. Closing every violated boundary never
makes a potential negative, so boundaries are only ever closed, until none is violated.

`tree_smoothing.md` has the proof.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["tree_projection"]

Flags = NDArray[np.bool_]
Array = NDArray[np.float64]


@njit(nogil=True, cache=True)
def _inject(noisy: Array, top: float, current: Array) -> None:
    """Write the current into each boundary: how far the noisy sequence falls there."""
    last = noisy.size
    current[0] = -noisy[0]
    for i in range(1, last):
        current[i] = noisy[i - 1] - noisy[i]
    current[last] = noisy[last - 1] - top


@njit(nogil=True, cache=True)
def _eliminate(closed: Flags, current: Array, ground: Array, conductance: Array) -> None:
    """Eliminate the midpoint of every node, from the leaves up.

    A midpoint's `current` moves on to its node's ends. `ground` is set to the conductance from a
    boundary to potential 0, for a closed midpoint to all of it; `conductance` to that between the
    ends of each node, where node k has children 2k and 2k + 1.
    """
    leaves = closed.size - 1
    conductance[leaves:] = 1.0
    ground[:] = 0.0
    nodes, half = leaves >> 1, 1
    while nodes:
        for j in range(nodes):
            k, a = nodes + j, 2 * half * j
            m, b = a + half, a + 2 * half
            left, right = conductance[2 * k], conductance[2 * k + 1]
            if closed[m]:
                total = left + right + ground[m]
                left_share, right_share = left / total, right / total
                conductance[k] = 1.0 + left * right_share
                ground[a] += left_share * ground[m]
                ground[b] += right_share * ground[m]
                current[a] += left_share * current[m]
                current[b] += right_share * current[m]
                ground[m] = total
            else:
                conductance[k] = 1.0
                ground[a] += left
                ground[b] += right
        nodes, half = nodes >> 1, half << 1


@njit(nogil=True, cache=True)
def _solve_ends(
    closed: Flags, current: Array, ground: Array, between: float, potential: Array
) -> None:
    """Set the potentials of the two ends of the root."""
    last = closed.size - 1
    first_total, last_total = between + ground[0], between + ground[last]
    potential[0] = potential[last] = 0.0
    if closed[0] and closed[last]:
        determinant = between * (ground[0] + ground[last]) + ground[0] * ground[last]
        potential[0] = (last_total * current[0] + between * current[last]) / determinant
        potential[last] = (first_total * current[last] + between * current[0]) / determinant
    elif closed[0]:
        potential[0] = current[0] / first_total
    elif closed[last]:
        potential[last] = current[last] / last_total


@njit(nogil=True, cache=True)
def _solve_midpoints(
    closed: Flags, current: Array, ground: Array, conductance: Array, potential: Array, noise: Array
) -> None:
    """Set the potentials of the midpoints, and the noise of every node with all above it."""
    leaves = closed.size - 1
    noise[1] = potential[leaves] - potential[0]
    nodes, half = 1, leaves >> 1
    while nodes < leaves:
        for j in range(nodes):
            k, a = nodes + j, 2 * half * j
            m, b = a + half, a + 2 * half
            potential[m] = 0.0
            if closed[m]:
                left, right = conductance[2 * k], conductance[2 * k + 1]
                from_ends = left * potential[a] + right * potential[b]
                potential[m] = (current[m] + from_ends) / ground[m]
            noise[2 * k] = noise[k] + potential[m] - potential[a]
            noise[2 * k + 1] = noise[k] + potential[b] - potential[m]
        nodes, half = nodes << 1, half >> 1


@njit(nogil=True, cache=True)
def _level(closed: Flags, top: float, values: Array) -> None:
    """Make values exactly equal across closed boundaries, and equal to the limits at the ends."""
    last = values.size
    if closed[0]:
        values[0] = 0.0
    for i in range(1, last):
        if closed[i]:
            values[i] = values[i - 1]
    i = last
    while closed[i]:
        i -= 1
        values[i] = top


@njit(nogil=True, cache=True)
def _close(closed: Flags, top: float, values: Array) -> bool:
    """Close the boundaries where the values fall; return whether there were any."""
    found = False
    before = 0.0
    for i in range(closed.size):
        after = values[i] if i < values.size else top
        if after < before:
            closed[i] = found = True
        before = after
    return found


@njit(nogil=True, cache=True)
def tree_projection(noisy: Array, top: float) -> Array:
    """Return the bounded monotone sequence whose noise has the least sum of squares.

    The noise of the sequence x is the numbers e of the 2N - 1 nodes of the complete binary tree
    over its N leaves, a power of 2, with the least sum of squares such that noisy_i - x_i is the
    sum of e over the nodes above leaf i. Values are within [0, top], top >= 0, never fall, and are
    exact but for rounding. An iteration takes O(N); there are N at most, and about log2(N) for a
    sequence with noise.
    """
    leaves = noisy.size
    closed = np.zeros(leaves + 1, dtype=np.bool_)
    current, ground, potential = np.empty(leaves + 1), np.empty(leaves + 1), np.empty(leaves + 1)
    conductance, noise = np.empty(2 * leaves), np.empty(2 * leaves)
    values = noisy.copy()
    while _close(closed, top, values):
        _inject(noisy, top, current)
        _eliminate(closed, current, ground, conductance)
        _solve_ends(closed, current, ground, conductance[1], potential)
        _solve_midpoints(closed, current, ground, conductance, potential, noise)
        for i in range(leaves):
            values[i] = noisy[i] - noise[leaves + i]
        _level(closed, top, values)
    return values
