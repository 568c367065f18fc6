"""A slow second implementation of verifiable point functions, to check the fast one by.

Written from the construction in `point_functions.md`, in plain integers and dictionaries, one key
and one node at a time; it shares no code with `nolook.federated`. It can be built with the faults
that the construction avoids: a hash that leaves out the control bit, values modulo an odd number,
and a block of leaves below the last proof.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

MODULUS = 2**64
PROOF = 48


def xor(x, y):
    return bytes(a ^ b for a, b in zip(x, y, strict=True))


def number(data):
    return int.from_bytes(data, "little")


def control(block):
    return block[0] & 1


def with_control(block, bit):
    return bytes([block[0] & 0xFE | bit]) + block[1:]


@dataclass(frozen=True)
class Slow:
    levels: int
    stops: tuple
    context: bytes
    modulus: int = MODULUS
    hash_control: bool = True  # False plants the first fault

    def one_way(self, name, block):
        label = f"nolook verifiable point function 2: {name}: {self.context.hex()}"
        key = hashlib.sha256(label.encode("ascii")).digest()[:16]
        if not self.hash_control:
            block = with_control(block, 0)
        mixed = block[8:] + xor(block[:8], block[8:])
        return xor(Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(mixed), mixed)

    def value(self, block):
        return number(self.one_way("value", block)[:8]) % self.modulus

    def proof(self, block, offset):
        return b"".join(self.one_way(f"proof {kind} {offset}", block) for kind in range(3))

    def gap(self, i):
        return self.stops[i] - (0, *self.stops)[i]

    # Making keys.

    def roots(self, s0, s1):
        return [with_control(s0, 0), with_control(s1, 1)]

    def generate(self, cell, s0, s1):
        """Return both keys; s0 and s1 are the seeds of the roots, 16 bytes each."""
        z = self.roots(s0, s1)
        levels, stops = [], []
        for level in range(self.levels):
            turn = cell >> (self.levels - 1 - level) & 1
            keep, lose = ("right", "left") if turn else ("left", "right")
            kept = [self.one_way(keep, block) for block in z]
            lost = [self.one_way(lose, block) for block in z]
            seed = xor(*lost)
            bits = {lose: control(seed), keep: control(xor(*kept)) ^ 1}
            levels.append((seed, bits["left"], bits["right"]))
            z = [
                xor(kept[b], with_control(seed, bits[keep])) if control(z[b]) else kept[b]
                for b in (0, 1)
            ]
            if level + 1 in self.stops:
                gap = self.gap(self.stops.index(level + 1))
                offset = (cell >> (self.levels - 1 - level)) % 2**gap
                sign = -1 if control(z[1]) else 1
                word = sign * (1 - self.value(z[0]) + self.value(z[1])) % self.modulus
                stops.append((word, xor(*(self.proof(block, offset) for block in z))))
        public = self.public(levels, stops)
        return s0 + public, s1 + public

    def public(self, levels, stops):
        """Return the bytes of corrections: (seed, left bit, right bit) and (value, proof)."""
        seeds = b"".join(with_control(seed, left) for seed, left, _ in levels)
        bits = sum(right << level for level, (_, _, right) in enumerate(levels))
        words = b"".join(value.to_bytes(8, "little") + proof for value, proof in stops)
        return seeds + bits.to_bytes(-(-self.levels // 8), "little") + words

    def corrections(self, key):
        """Read what `public` writes."""
        at = 16 + 16 * self.levels
        bits, words = number(key[at:][: -(-self.levels // 8)]), key[at + -(-self.levels // 8) :]
        levels = []
        for level in range(self.levels):
            seed = key[16 + 16 * level :][:16]
            levels.append((seed, control(seed), bits >> level & 1))
        size = 8 + PROOF
        stops = [
            (number(words[size * i :][:8]), words[size * i + 8 :][:PROOF])
            for i in range(len(self.stops))
        ]
        return levels, stops

    # Evaluating them.

    def nodes(self, role, key):
        """Return for each stop the blocks of all nodes, by number."""
        levels, _ = self.corrections(key)
        here = {0: with_control(key[:16], role)}
        found = []
        for i, stop in enumerate(self.stops):
            for seed, left, right in levels[stop - self.gap(i) : stop]:
                below = {}
                for node, block in here.items():
                    for side, name, bit in ((0, "left", left), (1, "right", right)):
                        child = self.one_way(name, block)
                        if control(block):
                            child = xor(child, with_control(seed, bit))
                        below[2 * node + side] = child
                here = below
            found.append(here)
        return found

    def values(self, role, key):
        """Return for each stop the party's unsigned shares, by node."""
        _, stops = self.corrections(key)
        return [
            {node: self.value(z) + control(z) * word for node, z in here.items()}
            for here, (word, _) in zip(self.nodes(role, key), stops, strict=True)
        ]

    def shares(self, role, key):
        sign = -1 if role else 1
        return [
            {node: sign * value % self.modulus for node, value in here.items()}
            for here in self.values(role, key)
        ]

    def opened(self, pair):
        """Return the values of all nodes that are not 0, for each stop."""
        both = [self.shares(role, pair[role]) for role in (0, 1)]
        return [
            {x: v for x in first if (v := (first[x] + second[x]) % self.modulus)}
            for first, second in zip(*both, strict=True)
        ]

    def found(self, role, key):
        """Return what a message says of each stop: a difference of sums and the proofs."""
        _, stops = self.corrections(key)
        nodes = self.nodes(role, key)
        values = self.values(role, key)
        above, found = 1 - role, []
        for i, (_, correction) in enumerate(stops):
            proofs = [bytes(PROOF)] * 2 ** self.gap(i)
            for node, block in nodes[i].items():
                offset = node % len(proofs)
                proofs[offset] = xor(proofs[offset], self.proof(block, offset))
                if control(block):
                    proofs[offset] = xor(proofs[offset], correction)
            found.append(((above - sum(values[i].values())) % self.modulus, proofs))
            above = sum(values[i].values())
        return found

    def message(self, role, key, name):
        digest = hashlib.sha256(b"nolook verifiable point function 2: message" + name + key[16:])
        for difference, proofs in self.found(role, key):
            digest.update(difference.to_bytes(8, "little") + b"".join(proofs))
        return digest.digest()

    def accepted(self, pair):
        return self.message(0, pair[0], b"") == self.message(1, pair[1], b"")
