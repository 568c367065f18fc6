"""Test vectors of verifiable point functions, in tests/federated/point_function_vectors.json.

`python scripts/point_function_vectors.py` fails when the code no longer makes what the file holds;
--write renews the file, which is right only for a new version of the keys. The seeds of the roots
come from a seeded source and are the first 16 bytes of each key.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path

import numpy as np

from nolook.federated.point_functions import PointFunctions
from nolook.privacy.noise import byte_source

PATH = Path(__file__).resolve().parents[1] / "tests" / "federated" / "point_function_vectors.json"
LEVELS = (1, 2, 3, 5, 8, 9, 12)
SEED = 24


def case(levels, cell):
    """Return the vector of one cell."""
    context = hashlib.sha256(f"levels {levels}".encode()).digest()
    functions = PointFunctions(levels, context)
    pair = functions.generate(np.array([cell], np.uint64), byte_source(SEED + levels))
    found = {"levels": levels, "stops": functions.stops, "context": context.hex(), "cell": cell}
    name = np.frombuffer(context, np.uint8)[None]
    for role in (0, 1):
        found[f"key{role}"] = pair[role][0].tobytes().hex()
        checked = functions.check(role, pair[role], name)
        found[f"message{role}"] = checked.messages[0].tobytes().hex()
    return found


def vectors():
    """Return all vectors."""
    cells = [
        (levels, cell)
        for levels in LEVELS
        for cell in sorted({0, 2**levels - 1, 2**levels * 5 // 7})
    ]
    return {"version": 1, "cases": [case(*each) for each in cells]}


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
