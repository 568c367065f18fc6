"""Keys, evaluations and leaves a second of distributed comparison functions, against sycret.

A second is one of processor time of one process with one thread, as `openssl speed` counts. The
programs take turns, and ratios are taken turn by turn. sycret 0.2.8 runs in an environment of its
own: that of the interpreter given, or a temporary one.

    python -m benchmarks.dcf [--output benchmarks/results/dcf.md] [--turns 15] [--peer PYTHON]
"""

from __future__ import annotations

import re
import statistics
import subprocess
import time

import numpy as np

from benchmarks.harness import in_own_process, interpreter_with, main
from nolook.federated import _dcf_keys, _prg, dcf
from nolook.privacy.noise import SystemEntropy

KEYS, GROWN_KEYS = 16_384, 128

PEER = """
import numpy as np
import sycret
n = 20_000
factory = sycret.LeFactory(n_threads=1)
factory.keygen(1000)
start = time.process_time()
keys, _ = factory.keygen(n)
made = time.process_time()
factory.eval(0, np.full(n, 12345, np.int64), keys, n_threads=1)
print(json.dumps([n / (made - start), n / (time.process_time() - made), keys.shape[1]]))
"""


def rate(work, n):
    """How many of n things a second `work` does."""
    start = time.process_time()
    work()
    return n / (time.process_time() - start)


def secrets(levels, n):
    """Random alphas and betas."""
    words = SystemEntropy().words(2 * n)
    return words[:n] >> np.uint64(64 - levels), words[n:].copy()


def tasks(levels):
    """What is measured: for each task the work and how many things it does."""
    alphas, betas = secrets(levels, KEYS)
    source = SystemEntropy()
    keys, _ = dcf.generate(alphas, betas, levels, source)
    point = (1 << levels) // 3
    found = {
        "pairs generated": (lambda: dcf.generate(alphas, betas, levels, source), KEYS),
        "evaluations": (lambda: dcf.evaluate(0, keys, levels, point), KEYS),
    }
    if levels <= 16:
        few = keys[:GROWN_KEYS]
        leaves = len(few) << levels
        found["leaves"] = (lambda: dcf.full_domain_sum(0, few, levels), leaves)
    return found


def blocks(levels):
    """Blocks that the construction encrypts for each thing."""
    shape = _dcf_keys.Shape(levels)
    nodes, leaf_blocks = 1 << shape.depth, shape.leaves // 2
    return {
        "pairs generated": 2 * (3 * shape.depth + leaf_blocks),
        "evaluations": 2 * shape.depth + 1,
        "leaves": (3 * (nodes - 1) + nodes * leaf_blocks) / (1 << levels),
    }


def raw_rate(size=1 << 20):
    """Blocks a second that the library's cipher encrypts in a large buffer."""
    plain, room = np.zeros(2 * size, np.uint64), _prg.block_words(size)
    ciphers = _prg.FixedKeys()
    encrypt = _prg.as_bytes(plain), _prg.as_bytes(room)
    ciphers.encrypt("leaf", *encrypt)
    return rate(lambda: [ciphers.encrypt("leaf", *encrypt) for _ in range(4)], 4 * size)


def openssl_rate():
    """Blocks a second that `openssl speed` finds."""
    command = ["openssl", "speed", "-evp", "aes-128-ecb", "-bytes", "16384", "-seconds", "1"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return float(re.search(r"^AES-128-ECB\s+([0-9.]+)k", printed, re.MULTILINE)[1]) * 1000 / 16


def turn(levels):
    """One turn of all tasks at a number of levels."""
    return {name: rate(*task) for name, task in tasks(levels).items()}


def measured(peer, turns):
    """The rates of every turn."""
    turn(16), turn(32)  # compiled, and the clock is up
    found = []
    for _ in range(turns):
        rates = in_own_process(PEER, python=peer)
        found.append({"openssl": openssl_rate(), 16: turn(16), 32: turn(32), "sycret": rates})
    return found


def shown(number):
    """A rate with three digits or so."""
    return f"{number / 1e6:,.1f} M" if number >= 1e7 else f"{number / 1e3:,.0f} k"


def rows(found):
    """The table of rates."""
    middle = statistics.median
    for levels in (16, 32):
        for name in found[0][levels]:
            rates = [one[levels][name] for one in found]
            share = middle(one[levels][name] / one["openssl"] for one in found)
            cost = blocks(levels)[name]
            yield (
                f"| nolook | {levels} | {name} | {shown(middle(rates))} | {shown(max(rates))}"
                f" | {cost:.3g} | {share * cost:.1%} |"
            )
    for i, name in enumerate(("pairs generated", "evaluations")):
        rates = [one["sycret"][i] for one in found]
        yield f"| sycret | 32 | {name} | {shown(middle(rates))} | {shown(max(rates))} | | |"


def choices(turns):
    """The best of some turns for other sizes of leaves and of what is encrypted together."""
    kept = _dcf_keys.LEAF_LEVELS, dcf._DEALT_KEYS, dcf._WALKED_KEYS, dcf._GROWN_NODES
    best = {}
    for _ in range(turns):
        for leaf_levels in (3, 4, 5):
            _dcf_keys.LEAF_LEVELS = leaf_levels
            work = tasks(16)
            for size in (256, 512, 1024, 2048, 4096):
                dcf._DEALT_KEYS = dcf._WALKED_KEYS = dcf._GROWN_NODES = size
                for name, task in work.items():
                    place = leaf_levels, size, name
                    best[place] = max(best.get(place, 0.0), rate(*task))
    lengths = {}
    for leaf_levels in (3, 4, 5):
        _dcf_keys.LEAF_LEVELS = leaf_levels
        lengths[leaf_levels] = dcf.key_bytes(16)
    _dcf_keys.LEAF_LEVELS, dcf._DEALT_KEYS, dcf._WALKED_KEYS, dcf._GROWN_NODES = kept
    yield "| leaf levels | bytes of a key | together | pairs generated | evaluations | leaves |"
    yield "|---:|---:|---:|---:|---:|---:|"
    for leaf_levels, size in dict.fromkeys(place[:2] for place in best):
        rates = " | ".join(shown(best[leaf_levels, size, name]) for name in blocks(16))
        yield f"| {leaf_levels} | {lengths[leaf_levels]} | {size:,} | {rates} |"


def report(peer, turns):
    """Yield the lines of the report."""
    with interpreter_with(["sycret==0.2.8"], peer) as python:
        found = measured(python, turns)
    openssl = [one["openssl"] for one in found]
    yield "# Distributed comparison functions"
    yield ""
    yield f"Things a second of processor time, one thread, {turns} turns. Printed by"
    yield "`python -m benchmarks.dcf`. A pair is a key for each party; a leaf is one key at one of"
    yield "all points. The last columns give the AES blocks a thing needs, and what part of the"
    yield "machine's rate of AES blocks that is: `openssl speed -evp aes-128-ecb -bytes 16384`,"
    yield f"{shown(statistics.median(openssl))} blocks a second (at most {shown(max(openssl))})."
    yield "sycret 0.2.8 compares numbers of 32 bits only."
    yield ""
    yield "| program | levels | what | median | best | blocks | of raw AES |"
    yield "|---|---:|---|---:|---:|---:|---:|"
    yield from rows(found)
    yield ""
    lengths = dcf.key_bytes(16), dcf.key_bytes(32), found[0]["sycret"][2]
    yield "- bytes of a key: {} at 16 levels, {} at 32; sycret {}".format(*lengths)
    for i, name in enumerate(("pairs generated", "evaluations")):
        times = statistics.median(one[32][name] / one["sycret"][i] for one in found)
        yield f"- {name} at 32 levels: {times:.1f} times sycret's"
    yield ""
    yield "## What was chosen"
    yield ""
    yield "The best of the turns at 16 levels, for other sizes of a block of leaves, and of how"
    yield "many keys (of leaves: nodes) are encrypted together."
    yield ""
    yield from choices(turns)


if __name__ == "__main__":
    main(report, __doc__, turns=15, peer=None)
