"""Folders and what is in them, on this machine or in object storage."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, cast

from pyarrow import fs

from nolook.tables._patience import answered
from nolook.tables.places import LocalFile, Place, StoredFile

__all__ = ["Disk", "Entry", "Store", "Tree", "around"]

Kind = Literal["file", "folder", "link", "other"]


class Entry(NamedTuple):
    """What a folder has under a name."""

    name: str
    kind: Kind


class Tree(Protocol):
    """Folders, wherever they are."""

    before: str  # what an address of one begins with

    def entries(self, folder: str) -> Iterator[Entry]:
        """Yield what is in a folder."""

    def has(self, folder: str) -> bool:
        """Tell whether there is such a folder."""

    def whole(self, folder: str) -> str:
        """Return the path of a folder from the top."""

    def place(self, path: str, name: str) -> Place:
        """Return a file."""


class Disk:
    """Folders of this machine."""

    before = ""

    def entries(self, folder: str) -> Iterator[Entry]:
        """Yield what is in a folder."""
        with os.scandir(folder) as found:
            for entry in found:
                yield Entry(entry.name, _kind(entry))

    def has(self, folder: str) -> bool:
        """Tell whether there is such a folder."""
        return Path(folder).is_dir()

    def whole(self, folder: str) -> str:
        """Return the path of a folder from the top."""
        try:
            return Path(os.path.realpath(folder)).as_posix()
        except ValueError:  # a null character: no folder has such a name
            return folder

    def place(self, path: str, name: str) -> Place:
        """Return a file."""
        return LocalFile(path, name)


def _kind(entry: os.DirEntry[str]) -> Kind:
    # Python 3.12 tells Windows' other kind of links.
    if entry.is_symlink() or getattr(entry, "is_junction", bool)():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


class Store:
    """Folders of one of pyarrow's file systems."""

    def __init__(self, system: Any, before: str) -> None:  # noqa: ANN401 -- pyarrow has no types
        self._system, self.before = system, before

    def _infos(self, place: object) -> Any:  # noqa: ANN401
        return answered("the storage", self._system.get_file_info, place)

    def entries(self, folder: str) -> Iterator[Entry]:
        """Yield what is in a folder."""
        kinds: dict[Any, Kind] = {fs.FileType.File: "file", fs.FileType.Directory: "folder"}
        for info in self._infos(fs.FileSelector(folder)):
            # Some stores have an empty object for the folder itself.
            if name := info.base_name:
                yield Entry(name, kinds.get(info.type, "other"))

    def has(self, folder: str) -> bool:
        """Tell whether there is such a folder."""
        return bool(self._infos(folder).type == fs.FileType.Directory)

    def whole(self, folder: str) -> str:
        """Return the path of a folder from the top."""
        return folder

    def place(self, path: str, name: str) -> Place:
        """Return a file."""
        return StoredFile(self._system, path, name)


def around(place: Place) -> tuple[Tree, str]:
    """Return the folder that a file is in, and the tree it belongs to."""
    if isinstance(place, StoredFile):
        return Store(place.system, ""), place.path.rpartition("/")[0]
    disk = Disk()
    path = disk.whole(cast("LocalFile", place).path.as_posix())
    return disk, Path(path).parent.as_posix()
