"""Files that are whole or absent, and on disk before anything relies on them.

Standard library only. Errors of the operating system are raised as they are.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def flush(path: Path) -> None:
    """Flush a file, or the names in a folder, to disk."""
    # Windows flushes a file only through a handle that may write.
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace(draft: Path, path: Path) -> None:
    """Give a flushed file the name of an older one, if there is one, in the same folder.

    A folder that cannot be flushed, as on Windows, is not an error.
    """
    draft.replace(path)
    with contextlib.suppress(OSError):
        flush(path.parent)


def link(draft: Path, path: Path) -> None:
    """Give a flushed file a second name, which appears at once and never replaces a file."""
    os.link(draft, path)
    flush(path.parent)


def open_own(path: Path, flags: int) -> int:
    """Open a file for writing; a new one can be read by its owner only."""
    return os.open(path, os.O_WRONLY | os.O_CLOEXEC | flags, 0o600)


def create(path: Path, content: bytes) -> None:
    """Make a file that only its owner can read; an existing one is never touched."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        _write(draft, os.O_CREAT | os.O_TRUNC, content)
        link(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def append(path: Path, content: bytes) -> None:
    """Append to a file; a new one can be read by its owner only."""
    _write(path, os.O_CREAT | os.O_APPEND, content)
    flush(path.parent)


def _write(path: Path, flags: int, content: bytes) -> None:
    with os.fdopen(open_own(path, flags), "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
