"""Files that are whole or absent, and on the disk before anything relies on them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from nolook.federated.failures import StoreError

__all__ = ["flush", "make_folder", "plainly", "remove", "write_all", "write_durably"]


def flush(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(path: Path) -> None:
    """Make a folder that only its owner can read, if it is not there."""
    if not path.is_dir():
        path.mkdir(mode=0o700)
        flush(path.parent)


def remove(path: Path) -> None:
    """Remove a file, if it is there."""
    path.unlink(missing_ok=True)
    flush(path.parent)


def write_all(handle: int, content: bytes) -> None:
    """Write all of some bytes."""
    left = memoryview(content)
    while left:
        left = left[os.write(handle, left) :]


def write_durably(path: Path, content: bytes) -> None:
    """Replace a file as a whole; only its owner can read it.

    Parameters
    ----------
    path : Path
    content : bytes
        On the disk under this name when the function returns.
    """
    part = path.with_name(f"{path.name}.part")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        write_all(handle, content)
        os.fsync(handle)
    finally:
        os.close(handle)
    part.replace(path)
    flush(path.parent)


@contextlib.contextmanager
def plainly(path: Path) -> Iterator[None]:
    """Turn what the operating system complains of into one line that names the file."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise StoreError(f"{str(path)!r} cannot be read or written ({reason})") from None
