"""The files of a folder, a pattern or a list: which they are, without opening any.

What a folder is called may be data, as in ``city=Bern``: messages name the file, and not that.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from urllib.parse import unquote

from attrs import frozen
from pyarrow import fs

from nolook.errors import ParameterError, TableError
from nolook.tables._patience import answered
from nolook.tables.databases import is_address
from nolook.tables.memory import plain
from nolook.tables.places import LocalFile, Place, StoredFile, in_storage, parse_address
from nolook.tables.source import attempt
from nolook.tables.trees import Disk, Entry, Store, Tree, around

__all__ = [
    "MOST_ENTRIES",
    "Listing",
    "check_no_logs",
    "fixed_part",
    "label_of",
    "listed",
    "made_of",
    "shown",
    "told_by",
    "would_read",
]

#: Entries of folders that are looked at: a table of more files is better put together first.
MOST_ENTRIES = 20_000

_WILD = re.compile(r"[*?\[]")
# What writers of folders call the value of a row that has none.
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
# Folders beside files that also hold rows deleted or replaced since.
_LOGS = ("_delta_log", ".hoodie", "_spark_metadata")
_ICEBERG = ("metadata", ".metadata.json")


@frozen
class Listing:
    """Files whose rows, one after the other, are a table.

    `keys` are columns that the names of folders tell, `values` each file's.
    """

    name: str  # what messages call it
    label: str | None  # its own name, without folders
    places: tuple[Place, ...]
    keys: tuple[str, ...] = ()
    values: tuple[tuple[str | None, ...], ...] = ()


def listed(source: object) -> object:
    """Return a folder, a pattern, an address in storage or a list of files as a `Listing`.

    Anything else stays what it is: the path of one file, for example.
    """
    if in_storage(source):
        return _stored(str(source))
    if isinstance(source, list | tuple):
        is_paths = source and all(isinstance(each, str | os.PathLike) for each in source)
        return _named(source) if is_paths else source
    if not isinstance(source, str | os.PathLike) or not str(source) or is_address(source):
        return source
    path, name = Path(source), repr(str(source))
    if path.is_dir():
        return _walked(Disk(), path.as_posix(), (), name, label_of(path))
    if _WILD.search(str(path)) and not path.exists():
        return _matched(path, name)
    check_no_logs(name, [LocalFile(path)])
    return source


def fixed_part(path: Path) -> Path:
    """Return a file or a folder itself, of a pattern the folder that is searched."""
    if path.exists():
        return path
    first = next((i for i, part in enumerate(path.parts) if _WILD.search(part)), None)
    return Path(*path.parts[:first])


def would_read(source: Path, file: Path) -> bool:
    """Tell whether a file would be part of what a folder or a pattern names."""
    folder = fixed_part(source)
    try:
        above, below = (Path(os.path.realpath(path)).parts for path in (folder, file))
    except ValueError:  # a null character: no file has such a name
        return False
    if not folder.is_dir() or below[: len(above)] != above:
        return False
    parts = source.parts[len(folder.parts) :]
    states = _reached({0}, parts)
    for name in below[len(above) :]:
        states = _after(name, states, parts)
    return len(parts) in states


def label_of(source: str | os.PathLike[str]) -> str:
    """Return what to call a file, a folder, a pattern or an address: a name without folders."""
    if in_storage(source):
        parts = str(source).partition("?")[0].rstrip("/").split("/")
        first = next((i for i, part in enumerate(parts) if _WILD.search(part)), len(parts))
        return parts[first - 1].rpartition("@")[2]
    path = fixed_part(Path(source))
    return path.name or path.resolve().name


def _matched(path: Path, name: str) -> Listing:
    """List what a pattern matches."""
    folder = fixed_part(path)
    parts = path.parts[len(folder.parts) :]
    return _walked(Disk(), folder.as_posix(), parts, name, label_of(path))


def _stored(address: str) -> Listing:
    """List what an address in object storage names: a file, a folder or a pattern."""
    system, path, name = parse_address(address)
    parts = tuple(path.split("/"))
    label = label_of(address)
    first = next((i for i, part in enumerate(parts) if _WILD.search(part)), len(parts))
    folder = "/".join(parts[:first])
    refused = (
        f"{name} does not exist or cannot be opened; expected a file, a folder or a pattern (check "
        "the address, and how you sign in)"
    )
    found = attempt(refused, answered, name, system.get_file_info, folder).type
    if found == fs.FileType.File and first == len(parts):
        return _chosen(name, label, [StoredFile(system, path, name)])
    if found != fs.FileType.Directory:
        raise TableError(refused)
    return _walked(
        Store(system, f"{address.partition('://')[0]}://"), folder, parts[first:], name, label
    )


def _named(paths: Sequence[str | os.PathLike[str]]) -> Listing:
    """Take over a list of files."""
    places: list[Place] = []
    for text in map(str, paths):
        place: Place = LocalFile(text)
        if in_storage(text):
            place, *others = _stored(text).places
            if others or _WILD.search(text.partition("?")[0]):
                raise ParameterError(
                    f"{place.name} is no file, but is in a list; expected files (or one folder "
                    "or pattern alone)"
                )
        places.append(place)
    more = f" and {len(places) - 1} more" if len(places) > 1 else ""
    return _chosen(f"{places[0].name}{more}", f"{places[0].label}{more}", places)


def _chosen(name: str, label: str, places: Sequence[Place]) -> Listing:
    """Return files that were named one by one."""
    check_no_logs(name, places)
    return made_of(name, label, [({}, place) for place in places])


def check_no_logs(name: str, places: Iterable[Place]) -> None:
    """Refuse files inside a folder of a table whose files hold old rows too."""
    walks: dict[object, _Walk] = {}
    for place in places:
        tree, folder = around(place)
        walks.setdefault(type(tree), _Walk(tree, name)).check_above(folder)


def made_of(
    name: str, label: str | None, files: Iterable[tuple[Mapping[str, str | None], Place]]
) -> Listing:
    """Return files as a listing, with what is told of each by the names of folders."""
    found = list(files)
    if not found:
        raise TableError(f"{name} has no file of a table; expected at least one")
    keys, seen = tuple(found[0][0]), set()
    for told, place in found:
        if (same := place.same()) in seen:
            raise TableError(
                f"{place.name} in {name} is there twice, perhaps under another name; expected each "
                "file once, as its rows would count twice"
            )
        seen.add(same)
        if tuple(told) != keys:
            raise TableError(
                f"{place.name} does not lie in folders of the same columns as other files of "
                f"{name}; expected NAME=VALUE for the same names in the same order, or for none"
            )
    values = tuple(tuple(told.values()) for told, _ in found)
    return Listing(name, label, tuple(place for _, place in found), keys, values)


def told_by(folders: Iterable[str]) -> dict[str, str | None]:
    """Return the columns that the names of folders tell, and their values."""
    pairs = (folder.split("=", 1) for folder in folders if "=" in folder)
    return {
        plain(unquote(key)): None if value == _NO_VALUE else plain(unquote(value))
        for key, value in pairs
    }


def _walked(tree: Tree, folder: str, parts: tuple[str, ...], name: str, label: str) -> Listing:
    """List the files below a folder that match the parts of a pattern, in order of name."""
    walk = _Walk(tree, name)
    walk.check_above(folder)
    return made_of(
        name,
        label,
        (
            (
                told_by(path[:-1]),
                tree.place("/".join((folder, *path)), shown(tree.before + folder, path)),
            )
            for path in sorted(walk.files(folder, parts))
        ),
    )


class _Walk:
    """One look at what is below a folder, of bounded length."""

    def __init__(self, tree: Tree, name: str) -> None:
        self._tree, self._name = tree, name
        self._seen = 0
        self._checked: set[str] = set()

    def check_above(self, folder: str) -> None:
        """Refuse a folder inside one of a table whose files hold old rows too."""
        above = self._tree.whole(folder).split("/")
        for end in range(len(above), 0, -1):
            place = "/".join(above[:end]) or "/"
            if place in self._checked:
                return
            self._checked.add(place)
            for log in (*_LOGS, _ICEBERG[0]):
                if self._has(f"{place}/{log}"):
                    self._check_no_log(place, log)

    def _has(self, folder: str) -> bool:
        """Tell whether there is a folder; one may be closed to others."""
        with suppress(OSError):
            return self._tree.has(folder)
        return False

    @property
    def _refused(self) -> str:
        return f"{self._name} cannot be listed; expected a folder whose files can be read"

    def files(self, folder: str, parts: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        """Yield the files that match, each as its path below the folder.

        What comes after the end of a pattern is everything below.
        """
        left: list[tuple[tuple[str, ...], frozenset[int]]] = [((), _reached({0}, parts))]
        while left:
            above, states = left.pop()
            place = "/".join((folder, *above))
            for entry in self._entries(place):
                if entry.kind == "folder" and entry.name in {*_LOGS, _ICEBERG[0]}:
                    self._check_no_log(place, entry.name)
                after = _after(entry.name, states, parts)
                if not after or _is_hidden(entry.name):
                    continue
                path = (*above, entry.name)
                if entry.kind == "folder":
                    left.append((path, after))
                elif len(parts) in after or entry.kind == "link":
                    self._check_file(entry, shown(self._tree.before + folder, path))
                    yield path

    def _entries(self, folder: str) -> list[Entry]:
        most = MOST_ENTRIES - self._seen
        found = attempt(self._refused, lambda: list(islice(self._tree.entries(folder), most + 1)))
        if len(found) > most:
            raise TableError(
                f"{self._name} has more than {MOST_ENTRIES:,} files and folders; expected fewer "
                "(put small files together first)"
            )
        self._seen += len(found)
        return found

    def _check_file(self, entry: Entry, shown: str) -> None:
        if entry.kind != "file":
            what = "a link" if entry.kind == "link" else "not a regular file"
            raise TableError(
                f"{shown} in {self._name} is {what}; expected files alone (name it in a list, or "
                "take it away: it may lead elsewhere, or to rows that are there already)"
            )

    def _check_no_log(self, folder: str, log: str) -> None:
        """Refuse a folder of files beside a log that says which of their rows are still valid."""
        if log == _ICEBERG[0] and not self._has_snapshots(f"{folder}/{log}"):
            return
        raise TableError(
            f"{self._name} belongs to a table of Delta Lake, Hudi, Iceberg or a stream of Spark, "
            "whose files hold deleted, older or repeated rows too; expected plain files (write the "
            "table's current rows to a folder of their own)"
        )

    def _has_snapshots(self, folder: str) -> bool:
        """Tell whether a folder is Iceberg's; it may be somebody else's."""
        with suppress(OSError):
            found = islice(self._tree.entries(folder), MOST_ENTRIES)
            return any(entry.name.endswith(_ICEBERG[1]) for entry in found)
        return False


def _is_hidden(name: str) -> bool:
    """Tell whether a name is that of no part of a table: hidden, or of a writer at work."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _reached(states: set[int], parts: tuple[str, ...]) -> frozenset[int]:
    """Return places in a pattern with those after ``**``, which also stands for no folder."""
    found = set(states)
    for place, part in enumerate(parts):
        if place in found and part == "**":
            found.add(place + 1)
    return frozenset(found)


def _after(name: str, states: frozenset[int], parts: tuple[str, ...]) -> frozenset[int]:
    """Return the places in a pattern after one more name."""
    after = set()
    for state in states:
        if state == len(parts) or parts[state] == "**":
            after.add(state)
        elif fnmatchcase(name, parts[state]):
            after.add(state + 1)
    return _reached(after, parts)


def shown(folder: str, path: tuple[str, ...]) -> str:
    """Return what messages call a file: without the values that names of folders tell."""
    *above, own = path
    parts = [part.split("=", 1)[0] + "=..." if "=" in part else part for part in above]
    return repr("/".join((folder, *parts, own) if folder else (*parts, own)))
