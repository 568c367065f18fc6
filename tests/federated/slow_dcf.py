"""A slow second implementation of the distributed comparison function, to check the fast one by.

Written from figure 1 of Boyle et al. (EUROCRYPT 2021) and the construction in `dcf.md`, in plain
integers, one key and one block at a time; it shares no code with `nolook.federated`. The names are
the paper's: s a seed, t a control bit, V what the shares sum to on the path.
"""

from __future__ import annotations

import hashlib

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

MODULUS = 2**64


def fixed_key(kind):
    label = f"nolook distributed comparison function 1: {kind}"
    return hashlib.sha256(label.encode("ascii")).digest()[:16]


def xor(x, y):
    return bytes(a ^ b for a, b in zip(x, y, strict=True))


def one_way(kind, x):
    """AES of sigma(x), and sigma(x) added."""
    mixed = x[8:] + xor(x[:8], x[8:])
    cipher = Cipher(algorithms.AES(fixed_key(kind)), modes.ECB()).encryptor()
    return xor(cipher.update(mixed), mixed)


def number(data):
    return int.from_bytes(data, "little")


def without_bit(block):
    return bytes([block[0] & 0xFE]) + block[1:]


def stretch(s):
    """Return (seed, value, control bit) of the left and the right child."""
    values = one_way("value", s)
    children = []
    for side, kind in enumerate(("left", "right")):
        block = one_way(kind, s)
        value = number(values[8 * side : 8 * side + 8])
        children.append((without_bit(block), value, block[0] & 1))
    return children


def leaf(s, j):
    """Return leaf j of a seed's block of leaves."""
    block = one_way("leaf", xor(s, bytes([j // 2]) + bytes(15)))
    return number(block[8 * (j % 2) : 8 * (j % 2) + 8])


def sizes(levels):
    """Return the number of levels with corrections and that of levels in a block of leaves."""
    below = min(5, levels)
    return levels - below, below


def generate(alpha, beta, levels, s0, s1):
    """Return both keys; s0 and s1 are the seeds of the roots, 16 bytes each."""
    depth, below = sizes(levels)
    s, t, V = [without_bit(s0), without_bit(s1)], [0, 1], 0
    roots = list(s)
    words, bits = b"", []
    for i in range(depth):
        turn = alpha >> (levels - 1 - i) & 1
        keep, lose = turn, 1 - turn
        G = [stretch(s[0]), stretch(s[1])]
        sign = -1 if t[1] else 1
        s_cw = xor(G[0][lose][0], G[1][lose][0])
        V_cw = sign * (G[1][lose][1] - G[0][lose][1] - V)
        if lose == 0:  # the points to the left are all below alpha
            V_cw += sign * beta
        V = V - G[1][keep][1] + G[0][keep][1] + sign * V_cw
        t_cw = [G[0][0][2] ^ G[1][0][2] ^ turn ^ 1, G[0][1][2] ^ G[1][1][2] ^ turn]
        words += s_cw + (V_cw % MODULUS).to_bytes(8, "little")
        bits += t_cw
        for b in (0, 1):
            child, _, control = G[b][keep]
            s[b] = xor(child, s_cw) if t[b] else child
            t[b] = control ^ (t[b] & t_cw[keep])
    leaves = b""
    for j in range(2**below):
        wanted = beta if j < alpha % 2**below else 0
        gap = wanted - V - leaf(s[0], j) + leaf(s[1], j)
        leaves += ((-gap if t[1] else gap) % MODULUS).to_bytes(8, "little")
    packed = sum(bit << place for place, bit in enumerate(bits))
    shared = words + packed.to_bytes((depth + 3) // 4, "little") + leaves
    return roots[0] + shared, roots[1] + shared


def evaluate(b, key, levels, x):
    """Return party b's share at x."""
    depth, below = sizes(levels)
    bits = number(key[16 + 24 * depth :][: (depth + 3) // 4])
    s, t, V = without_bit(key[:16]), b, 0
    for i in range(depth):
        word = key[16 + 24 * i :][:24]
        turn = x >> (levels - 1 - i) & 1
        s_next, v, t_next = stretch(s)[turn]
        V += v + t * number(word[16:])
        if t:
            s_next = xor(s_next, without_bit(word[:16]))
            t_next ^= bits >> (2 * i + turn) & 1
        s, t = s_next, t_next
    j = x % 2**below
    start = 16 + 24 * depth + (depth + 3) // 4 + 8 * j
    V += leaf(s, j) + t * number(key[start : start + 8])
    return (-V if b else V) % MODULUS
