"""Files that are whole or absent, and on the disk before anything relies on them.

Standard library only. What the operating system complains of is raised as it is.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

__all__ = ["append", "create", "flush", "link", "open_own", "replace", "write", "write_flushed"]


def flush(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk."""
    # Windows flushes a file only through a handle that may write.
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace(draft: Path, path: Path, *, certain: bool = True) -> None:
    """Give a flushed file the name of an older one, if there is any; both are in one folder.

    Without `certain`, a folder that cannot be flushed, as on Windows, is no error.
    """
    draft.replace(path)
    with contextlib.nullcontext() if certain else contextlib.suppress(OSError):
        flush(path.parent)


def link(draft: Path, path: Path) -> None:
    """Give a flushed file a second name, which appears at once and never replaces a file."""
    os.link(draft, path)
    flush(path.parent)


def open_own(path: Path, flags: int) -> int:
    """Open a file to write to; one that is made can be read by its owner only."""
    return os.open(path, os.O_WRONLY | os.O_CLOEXEC | flags, 0o600)


def write_flushed(handle: int, content: bytes) -> None:
    """Write all of some bytes and bring them to the disk."""
    left = memoryview(content)
    while left:
        left = left[os.write(handle, left) :]
    os.fsync(handle)


def write(path: Path, content: bytes) -> None:
    """Replace a file as a whole; only its owner can read it."""
    draft = path.with_name(f"{path.name}.part")
    _write(draft, os.O_CREAT | os.O_TRUNC, content)
    replace(draft, path)


def create(path: Path, content: bytes) -> None:
    """Make a file that only its owner can read; an existing one is never touched."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        _write(draft, os.O_CREAT | os.O_TRUNC, content)
        link(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def append(path: Path, content: bytes) -> None:
    """Write behind what a file holds; one that is made can be read by its owner only."""
    _write(path, os.O_CREAT | os.O_APPEND, content)
    flush(path.parent)


def _write(path: Path, flags: int, content: bytes) -> None:
    handle = open_own(path, flags)
    try:
        write_flushed(handle, content)
    finally:
        os.close(handle)
