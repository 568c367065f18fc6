"""A federation's folders and files, and what it says when the disk fails."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from nolook._files import flush
from nolook.federated.failures import StoreError

__all__ = ["make_folder", "os_errors_as_store_errors"]


@contextlib.contextmanager
def os_errors_as_store_errors(path: Path) -> Iterator[None]:
    """Turn an error of the operating system into one line that names the file."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise StoreError(f"{str(path)!r} cannot be read or written ({reason})") from None


def make_folder(path: Path) -> None:
    """Make a folder that only its owner can read, if there is none."""
    with os_errors_as_store_errors(path):
        if not path.is_dir():
            path.mkdir(mode=0o700)
            flush(path.parent)
