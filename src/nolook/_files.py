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


def replace(draft: Path, path: Path, *, certain: bool = True) -> None:
    """Give a flushed file the name of an older one, if there is one, in the same folder.

    Without `certain`, a folder that cannot be flushed, as on Windows, is not an error.
    """
    draft.replace(path)
    with contextlib.nullcontext() if certain else contextlib.suppress(OSError):
        flush(path.parent)


def link(draft: Path, path: Path) -> None:
    """Give a flushed file a second name, which appears at once and never replaces a file."""
    os.link(draft, path)
    flush(path.parent)


def open_own(path: Path, flags: int) -> int:
    """Open a file for writing; a new one can be read by its owner only."""
    return os.open(path, os.O_WRONLY | os.O_CLOEXEC | flags, 0o600)


def write_all(handle: int, content: bytes) -> None:
    """Write all the bytes."""
    left = memoryview(content)
    while left:
        left = left[os.write(handle, left) :]


def flush_open(handle: int) -> None:
    """Have everything that was written to an open file on the disk."""
    os.fsync(handle)


def write_flushed(handle: int, content: bytes) -> None:
    """Write all the bytes and flush them to disk."""
    write_all(handle, content)
    flush_open(handle)


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
    """Append to a file; a new one can be read by its owner only."""
    _write(path, os.O_CREAT | os.O_APPEND, content)
    flush(path.parent)


def _write(path: Path, flags: int, content: bytes) -> None:
    handle = open_own(path, flags)
    try:
        write_flushed(handle, content)
    finally:
        os.close(handle)
