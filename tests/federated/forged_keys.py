"""Pairs of keys that no honest owner makes, one kind a function: of each some are tried.

Each takes the functions, honest pairs (2, n, key_bytes) and a NumPy generator, and returns pairs
that count anything but one cell, or would if they were accepted.
"""

from __future__ import annotations

import numpy as np

from nolook.federated._point_function_keys import Shape

__all__ = ["FORGERIES"]

PUBLIC = 16


def shape_of(functions):
    return Shape(functions.levels, functions.stops)


def with_public(pairs, change):
    """Return pairs whose public parts are changed alike."""
    forged = pairs.copy()
    change(forged[0])
    forged[1, :, PUBLIC:] = forged[0, :, PUBLIC:]
    return forged


def random_field(name):
    """Random bytes in one field of the key, the same at both servers."""

    def forge(functions, pairs, chance):
        def change(keys):
            part = shape_of(functions).parts(keys)[name]
            raw = chance.bytes(part.nbytes)
            new = np.frombuffer(raw, part.dtype.base).reshape(part.shape)
            part[...] = new

        return with_public(pairs, change)

    return forge


def random_seed(functions, pairs, chance):
    forged = pairs.copy()
    role = chance.integers(0, 2, pairs.shape[1])
    rows = np.arange(pairs.shape[1])
    forged[role, rows, :PUBLIC] = chance.integers(0, 256, (len(rows), PUBLIC), np.uint8)
    return forged


def random_bytes(functions, pairs, chance):
    forged = chance.integers(0, 256, pairs.shape, np.uint8)
    forged[1, :, PUBLIC:] = forged[0, :, PUBLIC:]
    return forged


def one_bit(functions, pairs, chance):
    """One bit of what counts, at both servers alike."""
    shape = shape_of(functions)
    used = np.ones((functions.key_bytes, 8), bool)
    used[:PUBLIC] = False
    at = PUBLIC + 16 * functions.levels
    bits = np.arange(8 * (-(-functions.levels // 8))) < functions.levels
    used[at : at + len(bits) // 8] = bits.reshape(-1, 8)
    places = np.flatnonzero(used.ravel())

    def change(keys):
        chosen = chance.choice(places, len(keys))
        keys[np.arange(len(keys)), chosen // 8] ^= np.uint8(1) << (chosen % 8).astype(np.uint8)

    assert shape.key_bytes == functions.key_bytes
    return with_public(pairs, change)


def weights(functions, pairs, chance):
    """Another weight at the last stop, or at all: what a value is worth is only in its word."""

    def change(keys):
        values = shape_of(functions).parts(keys)["stops"]["value"]
        added = chance.integers(1, 2**63, len(keys)).astype(np.uint64)
        whole = chance.integers(0, 2, len(keys)).astype(bool)
        values[:, -1] += added
        values[whole, :-1] += added[whole, None]

    return with_public(pairs, change)


def two_cells(functions, pairs, chance):
    """A level that corrects neither child: both keep blocks that differ, with every bit guessed."""

    def change(keys):
        parts = shape_of(functions).parts(keys)
        rows = np.arange(len(keys))
        level = chance.integers(0, functions.levels, len(keys))
        bits = parts["bits"]
        bits[rows, level // 8] ^= np.uint8(1) << (level % 8).astype(np.uint8)

    return with_public(pairs, change)


def shifted_cells(functions, pairs, chance):
    """The last levels' corrections of the next report: another cell for what is below."""

    def change(keys):
        parts = shape_of(functions).parts(keys)
        half = functions.levels // 2
        parts["corrections"][:, half:] = np.roll(parts["corrections"][:, half:], 1, axis=0)

    return with_public(pairs, change)


def equal_seeds(functions, pairs, chance):
    """Both parties have one seed; the corrections of blocks are then 0, and the proofs' too."""

    def change(keys):
        parts = shape_of(functions).parts(keys)
        # Control bits of both children are corrected at random, which honest owners cannot choose.
        parts["corrections"] = 0
        parts["corrections"][..., 0] = chance.integers(0, 2, parts["corrections"].shape[:-1])
        parts["bits"] = chance.integers(0, 256, parts["bits"].shape)
        parts["stops"]["proof"] = 0

    forged = with_public(pairs, change)
    forged[1, :, :PUBLIC] = forged[0, :, :PUBLIC]
    return forged


def swapped_halves(functions, pairs, chance):
    return pairs[::-1].copy()


def other_halves(functions, pairs, chance):
    """Halves of two reports under one name."""
    return np.stack([pairs[0], np.roll(pairs[1], 1, axis=0)])


def two_public_parts(functions, pairs, chance):
    """The servers are told different corrections."""
    forged = pairs.copy()
    place = chance.integers(PUBLIC, pairs.shape[2], pairs.shape[1])
    rows = np.arange(pairs.shape[1])
    forged[1, rows, place] ^= chance.integers(1, 256, len(rows)).astype(np.uint8)
    return forged


def foreign(functions, pairs, chance):
    """Honest keys of another batch."""
    from nolook.federated.point_functions import PointFunctions
    from nolook.privacy.noise import SeededSource

    other = PointFunctions(functions.levels, bytes(32))
    source = SeededSource(int(chance.integers(2**31)))
    cells = source.words(pairs.shape[1]) >> np.uint64(64 - functions.levels)
    return np.stack(other.generate(cells, source))


FORGERIES = {
    "random bytes": random_bytes,
    "random seed": random_seed,
    "random corrections": random_field("corrections"),
    "random stops": random_field("stops"),
    "one bit": one_bit,
    "weights": weights,
    "two cells": two_cells,
    "shifted cells": shifted_cells,
    "equal seeds": equal_seeds,
    "swapped halves": swapped_halves,
    "other halves": other_halves,
    "two public parts": two_public_parts,
    "foreign batch": foreign,
}
