"""Recognize the file of a batch. The reader is loaded only if the file is a batch."""

from __future__ import annotations

from pathlib import Path

from nolook.formats.strict import Broken, read_object

__all__ = ["batch_in_words"]


def batch_in_words(path: Path) -> tuple[str, ...] | None:
    """Return the description of the batch in a file, None if it is another kind of file."""
    try:
        content = read_object(path)
    except Broken:
        return None
    if not {"nonce", "servers"} <= set(content):
        return None
    from nolook.federated.batch_content import read_batch

    return read_batch(path).in_words()
