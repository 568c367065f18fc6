"""Files that pandas cannot read: ARFF, and what R saved, in a Debian package or not."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

__all__ = ["read_all", "read_arff", "read_rdata"]


def read_arff(path: Path) -> pd.DataFrame:
    """Read an ARFF file of numbers."""
    lines = path.read_text(encoding="latin-1").splitlines()
    kept = [line.strip() for line in lines if line.strip() and not line.startswith("%")]
    place = next(i for i, line in enumerate(kept) if line.lower() == "@data")
    declared = (line.split() for line in kept[:place])
    names = [words[1] for words in declared if words[0].lower() == "@attribute"]
    return pd.read_csv(io.StringIO("\n".join(kept[place + 1 :])), names=names)


def read_rdata(path: Path) -> tuple[np.ndarray, list[str]]:
    """Return the matrix x, a row a sample, and the labels y of the list that R saved."""
    (saved,) = _rdata().read_rda(path).values()
    return np.asarray(saved["x"], dtype=np.float64), [str(label) for label in saved["y"]]


def read_all(path: Path) -> tuple[np.ndarray, list[str]]:
    """Return the samples in the Debian package of Bioconductor's `ALL`, and their types."""
    parsed = _rdata().parser.parse_data(_from_deb(path, "/ALL.rda"))
    found = list(_objects(parsed.object))
    numbers = [one.value for one in found if isinstance(one.value, np.ndarray)]
    types = next(one for one in found if "BCR/ABL" in _levels(one))
    matrix = max(numbers, key=lambda values: values.size).reshape(len(types.value), -1)
    return matrix, [_levels(types)[code - 1] for code in types.value]


def _rdata():
    try:
        import rdata
    except ImportError:
        raise ImportError("a file of R needs the package rdata (pip install rdata)") from None
    return rdata


def _objects(found, seen=None) -> Iterator:
    """Yield all objects of a parsed file, each once."""
    seen = set() if seen is None else seen
    if isinstance(found, list | tuple):
        for one in found:
            yield from _objects(one, seen)
    elif hasattr(found, "__dict__") and id(found) not in seen:
        seen.add(id(found))
        if hasattr(found, "info"):
            yield found
        for one in vars(found).values():
            yield from _objects(one, seen)


def _levels(factor) -> list[str]:
    """Return the levels of a factor, words among its attributes; of anything else, none."""
    pair = getattr(factor, "attributes", None)
    while isinstance(factor.value, np.ndarray) and isinstance(getattr(pair, "value", None), tuple):
        own, pair = pair.value
        words = own.value if isinstance(own.value, list) else []
        texts = [word.value.decode() for word in words if isinstance(word.value, bytes)]
        if len(texts) > 1 or (texts and texts != ["factor"]):
            return texts
    return []


def _from_deb(path: Path, name: str) -> bytes:
    """Return a file of a Debian package: an archive of `ar` with a tar archive in it."""
    content, place = path.read_bytes(), 8
    while place < len(content):
        head = content[place : place + 60]
        size = int(head[48:58])
        body = content[place + 60 : place + 60 + size]
        if head.startswith(b"data.tar"):
            with tarfile.open(fileobj=io.BytesIO(body)) as archive:
                member = next(one for one in archive.getmembers() if one.name.endswith(name))
                return archive.extractfile(member).read()
        place += 60 + size + size % 2
    raise LookupError(f"{path.name} has no {name}")
