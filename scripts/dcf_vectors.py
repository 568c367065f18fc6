"""Test vectors of the distributed comparison function, in tests/federated/dcf_vectors.json.

`python scripts/dcf_vectors.py` fails when the code no longer makes what the file holds; --write
renews the file, which is right only for a new version of the keys. The seeds of the roots come
from a seeded source and are the first 16 bytes of each key. Numbers are decimal texts: not every
reader of JSON keeps 64 bits.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

from nolook.federated import dcf
from nolook.privacy.noise import byte_source

PATH = Path(__file__).resolve().parents[1] / "tests" / "federated" / "dcf_vectors.json"
LEVELS = (1, 2, 4, 5, 6, 7, 9, 10, 16, 24, 32, 62, 63)
SEED = 20


def secrets(levels):
    """Return alphas and betas: both ends of the domain, both ends of beta, and in between."""
    last = 2**levels - 1
    alphas = [0, last, last // 2 + 1, last * 5 // 7, last]
    betas = [2**64 - 1, 1, 2**63, 1234567890123456789, 0]
    return np.array(alphas, np.uint64), np.array(betas, np.uint64)


def points(levels, alpha):
    """Return points at both ends of the domain and about alpha."""
    last = 2**levels - 1
    near = {0, last, last // 3, alpha, max(alpha - 1, 0), min(alpha + 1, last), alpha ^ 1}
    return sorted(near)


def vectors():
    """Return all vectors."""
    found = []
    for levels in LEVELS:
        alphas, betas = secrets(levels)
        keys = dcf.generate(alphas, betas, levels, byte_source(SEED + levels))
        for i, (alpha, beta) in enumerate(zip(alphas.tolist(), betas.tolist(), strict=True)):
            case = {"levels": levels, "alpha": str(alpha), "beta": str(beta)}
            for role in (0, 1):
                case[f"key{role}"] = keys[role][i].tobytes().hex()
            case["shares"] = [
                [str(point)]
                + [
                    str(dcf.evaluate(role, keys[role][i : i + 1], levels, point)[0])
                    for role in (0, 1)
                ]
                for point in points(levels, alpha)
            ]
            found.append(case)
    return {"format": 1, "shares": "point, share of party 0, share of party 1", "cases": found}


def text():
    """Return the file's text."""
    return json.dumps(vectors(), indent=1) + "\n"


def main():
    """Check or renew the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    if arguments.write:
        PATH.write_text(text(), encoding="utf-8")
    elif PATH.read_text(encoding="utf-8") != text():
        sys.exit(f"{PATH.name} is not what the code makes now (has the key's version changed?)")


if __name__ == "__main__":
    main()
