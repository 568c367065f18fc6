"""Where a file is: on this machine, or in object storage."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Hashable
from pathlib import Path
from typing import Any, Protocol, TypeGuard
from urllib.parse import urlsplit

import pyarrow as pa
from pyarrow import fs

from nolook.errors import TableError
from nolook.tables._patience import answered
from nolook.tables.source import attempt

__all__ = ["LocalFile", "Place", "StoredFile", "in_storage", "parse_address"]

# Of gzip, which asks for little at a time.
_BUFFER = 1 << 20
_SECONDS = 60  # to try again

_SCHEMES = re.compile(r"(s3|gs)://", re.IGNORECASE)


class Place(Protocol):
    """One file, wherever it is."""

    name: str  # what messages call it
    label: str  # its own name, without folders
    near: bool  # whether reading a little at a time costs little, and is surely answered

    def same(self) -> Hashable:
        """Return what is equal for two names of one file."""

    def look(self) -> tuple[str, Hashable]:
        """Return what is there ("a file" if one can be read), and what changes when it does."""

    def open(self) -> Any:  # noqa: ANN401 -- pyarrow has no types
        """Open it for reading anywhere."""

    def stream(self) -> Any:  # noqa: ANN401
        """Open it for reading from its beginning on."""


class LocalFile:
    """A file on this machine."""

    near = True

    def __init__(self, path: str | os.PathLike[str], name: str | None = None) -> None:
        # Wherever the program, or another one that reads a part, goes.
        self.path = Path(path).absolute()
        self.name = repr(str(path)) if name is None else name
        self.label = self.path.name

    def same(self) -> Hashable:
        """Return what is equal for two names of one file."""
        try:
            found = self.path.stat()
        except (OSError, ValueError):  # no such file, or a name that none can have
            return str(self.path)
        return found.st_dev, found.st_ino

    def look(self) -> tuple[str, Hashable]:
        """Return what is there, and what changes when it does."""
        found = self.path.stat()
        what = "a file" if stat.S_ISREG(found.st_mode) else "not a regular file"
        if stat.S_ISDIR(found.st_mode):
            what = "a directory"
        return what, (found.st_ino, found.st_size, found.st_mtime_ns)

    def open(self) -> Any:  # noqa: ANN401
        """Open it; not mapped, as pages would count as this process's memory."""
        # As bytes: pyarrow takes texts in UTF-8 only, and a file's name may be any bytes.
        return pa.OSFile(os.fsencode(self.path), "rb")

    def stream(self) -> Any:  # noqa: ANN401
        """Open it for reading from its beginning on."""
        return self.path.open("rb")


class StoredFile:
    """A file of one of pyarrow's file systems, such as an object in a bucket."""

    near = False

    def __init__(self, system: Any, path: str, name: str) -> None:  # noqa: ANN401
        self.system, self.path = system, path
        self.name, self.label = name, path.rstrip("/").rpartition("/")[2]

    def same(self) -> Hashable:
        """Return what is equal for two names of one file."""
        return self.system.type_name, self.path

    def look(self) -> tuple[str, Hashable]:
        """Return what is there, and what changes when it does: in a bucket, its tag too."""
        return answered(self.name, self._look)

    def _look(self) -> tuple[str, Hashable]:
        found = self.system.get_file_info(self.path)
        if found.type == fs.FileType.NotFound:
            raise FileNotFoundError
        if found.type != fs.FileType.File:
            is_folder = found.type == fs.FileType.Directory
            return "a directory" if is_folder else "not a regular file", None
        with self.open() as file:
            told = file.metadata()
        return "a file", (found.size, found.mtime_ns, tuple(sorted(told.items())))

    def open(self) -> Any:  # noqa: ANN401
        """Open it for reading anywhere."""
        return self.system.open_input_file(self.path)

    def stream(self) -> Any:  # noqa: ANN401
        """Open it for reading from its beginning on."""
        # Not decompressed by its name: that is ours to do.
        return self.system.open_input_stream(self.path, compression=None, buffer_size=_BUFFER)


def in_storage(source: object) -> TypeGuard[str]:
    """Tell whether a table's place is an address in object storage."""
    return isinstance(source, str) and _SCHEMES.match(source) is not None


def parse_address(address: str) -> tuple[Any, str, str]:
    """Return the file system of an address, the path there, and what messages call it.

    That leaves out a user, a password and settings behind a question mark.
    """
    before, _, settings = address.partition("?")
    scheme, _, rest = before.partition("://")
    holder, _, path = rest.partition("/")
    bucket = holder.rpartition("@")[2]
    name = repr(f"{scheme}://{bucket}/{path}".rstrip("/"))
    refused = (
        f"{name} cannot be reached; expected an address such as 's3://bucket/folder', and where "
        "needed its settings (for example '?region=eu-central-1')"
    )
    attempt(refused, urlsplit, address)
    if not bucket:
        raise TableError(refused)
    if scheme.lower() == "gs" and "retry_limit_seconds" not in settings:
        # Without credentials it would look for some for a quarter of an hour.
        settings = "&".join(filter(None, (settings, f"retry_limit_seconds={_SECONDS}")))
    system, _ = attempt(refused, fs.FileSystem.from_uri, f"{scheme}://{holder}?{settings}")
    return system, f"{bucket}/{path}".rstrip("/"), name
