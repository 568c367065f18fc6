"""Many files that are one table: a folder, a pattern or a list.

They are found without opening any, and read one after the other; columns are compared beforehand.
What a folder is called may be data, as in ``city=Bern``: messages name the file, and not that.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.types as pt
from attrs import evolve, frozen
from pyarrow import fs

from nolook.errors import TableError
from nolook.tables.csv import CsvFile
from nolook.tables.databases import is_address
from nolook.tables.files import (
    MOST_PARTS,
    ArrowFile,
    File,
    ParquetFile,
    Place,
    Signs,
    bare_path,
    in_runs,
    in_storage,
    place_of,
)
from nolook.tables.office import SheetFile, StatisticsFile
from nolook.tables.schema import USUAL, FileFormat
from nolook.tables.source import TEXT, Column, attempt, changed, in_words, plain, raw_texts

__all__ = [
    "Folder",
    "Listing",
    "is_text",
    "kind_of",
    "label_of",
    "located",
    "would_read",
]

#: The values that the names of a file's folders give, by column.
_Values: TypeAlias = Mapping[str, str | None]

# Entries of folders that are looked at: a table of more files is better put together first.
_MOST_ENTRIES = 20_000

_WILD = re.compile(r"[*?\[]")
# Bytes that are no UTF-8 stay apart: two values that differ stay different.
_RAW = "surrogateescape"
# What writers of folders call the value of a row that has none.
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
# Folders next to files that also hold rows deleted or replaced since, and what Iceberg has there.
_LOGS = ("_delta_log", ".hoodie", "_spark_metadata")
_ICEBERG, _SNAPSHOT = "metadata", ".metadata.json"
_KINDS: tuple[Any, ...] = (ParquetFile, ArrowFile, CsvFile, SheetFile, StatisticsFile)
#: How the names of files end.
ENDINGS: tuple[str, ...] = tuple(end for kind in _KINDS for end in kind.endings)


@frozen
class Listing:
    """Files whose rows, one after the other, are a table.

    `keys` are columns that the names of folders give.
    """

    name: str  # for messages
    label: str | None  # its own name, without folders
    keys: tuple[str, ...]
    files: tuple[tuple[_Values, Place], ...]


def located(source: object) -> object:
    """Return the files of a path, a pattern, an address in storage or a list.

    Anything else stays what it is. Raises TableError if they are not one table's.
    """
    if isinstance(source, list | tuple):
        is_paths = source and all(isinstance(each, str | os.PathLike) for each in source)
        return _from_list(source) if is_paths else source
    if not isinstance(source, str | os.PathLike) or not str(source) or is_address(source):
        return source
    return _from_path(source)


def is_text(source: object) -> TypeGuard[Listing]:
    """Tell whether what `located` returned is files of text."""
    return isinstance(source, Listing) and kind_of(source.files[0][1]).is_text


def label_of(source: str | os.PathLike[str]) -> str:
    """Return the short name of a file, a folder, a pattern or an address: one without folders."""
    path = Path(_split(source)[0])
    return path.name or path.resolve().name


def would_read(source: Path, file: Path) -> bool:
    """Tell whether a file would be part of what a folder or a pattern names."""
    folder, pattern = _split(source)
    with suppress(ValueError):  # elsewhere, or a name that no file can have
        below = Path(os.path.realpath(file)).relative_to(os.path.realpath(folder))
        return Path(folder).is_dir() and _fits(below.parts, pattern)
    return False


# Patterns and NAME=VALUE are read here, since no library's reading keeps what is promised. That of
# pyarrow follows links, makes one number of "01" and "1", and refuses a value that is not UTF-8,
# which it quotes; fsspec's glob on its file systems follows links, lists folders of any size, and
# refuses such names; and none, wcmatch's neither, tells whether a folder may lead to a match.
def _split(source: str | os.PathLike[str]) -> tuple[str, tuple[str, ...]]:
    """Return the folder that a pattern searches, and the pattern there; else a path and nothing."""
    path = bare_path(source)
    parts = Path(path).parts
    first = next((i for i, part in enumerate(parts) if _WILD.search(part)), len(parts))
    if first == len(parts) or (not in_storage(source) and Path(path).exists()):
        return path, ()
    return Path(*parts[:first]).as_posix(), parts[first:]


@lru_cache(1 << 12)  # what is left of a pattern comes up again and again
def _fits(path: tuple[str, ...], pattern: tuple[str, ...], *, so_far: bool = False) -> bool:
    """Tell whether a path, or a folder above it, is what a pattern names.

    Or may become that further below (`so_far`). ``**`` stands for any folders, also for none.
    """
    if not pattern or (so_far and not path):
        return True
    rest = pattern[1:]
    if pattern[0] == "**":
        return any(_fits(path[i:], rest, so_far=so_far) for i in range(len(path) + 1))
    there = path != () and fnmatchcase(path[0], pattern[0])
    return there and _fits(path[1:], rest, so_far=so_far)


def _from_path(source: str | os.PathLike[str]) -> Listing:
    """List the files of a path or an address: a file, a folder or a pattern."""
    place, (folder, pattern) = place_of(source), _split(source)
    top = evolve(place, path=place.path.rsplit("/", len(pattern))[0] or "/")
    absent = (
        f"{place.name} does not exist or cannot be opened; expected a file, a folder or a pattern "
        "(in storage, check how you sign in)"
    )
    found = attempt(absent, top.info).type
    if found == fs.FileType.NotFound and not top.near:
        raise TableError(absent)
    _check_no_logs(place.name, [top])
    files: list[tuple[_Values, Place]] = [({}, place)]
    if pattern or found == fs.FileType.Directory:
        before = "" if top.near else f"{str(source).partition('://')[0]}://"
        files = _below(top, pattern, before + folder)
    return _listing(place.name, label_of(source), files)


def _from_list(sources: Sequence[str | os.PathLike[str]]) -> Listing:
    """List files that are named one by one."""
    places = [place_of(each) for each in sources]
    more = f" and {len(places) - 1} more" if len(places) > 1 else ""
    name = f"{places[0].name}{more}"
    _check_no_logs(name, places)
    return _listing(name, f"{places[0].label}{more}", [({}, place) for place in places])


def _listing(name: str, label: str | None, files: Sequence[tuple[_Values, Place]]) -> Listing:
    """Return files as a listing, with what the names of their folders give."""
    if not files:
        raise TableError(f"{name} does not contain a table (check the path or the pattern)")
    _check_few(name, len(files))
    _check_one_kind(name, [place for _, place in files])
    keys, seen = tuple(files[0][0]), set()
    for values, place in files:
        if (same := place.same()) in seen:
            raise TableError(
                f"{place.name} is in {name} twice, perhaps under another name; list it once"
            )
        seen.add(same)
        if tuple(values) != keys:
            raise TableError(
                f"{place.name} is not in folders with the columns of other files of "
                f"{name}; all need NAME=VALUE folders with the same names, or none"
            )
    return Listing(name, label, keys, tuple(files))


def _check_few(name: str, count: int) -> None:
    if count > _MOST_ENTRIES:
        raise TableError(f"{name} has more than {_MOST_ENTRIES:,} files and folders; merge some")


def _check_one_kind(name: str, places: Sequence[Place]) -> None:
    kinds = [kind_of(place) for place in places]
    usual = next(filter(None, kinds), None)
    if usual is None:
        raise TableError(
            f"{places[0].name} has no known extension; expected one of {', '.join(ENDINGS)} (a "
            "text file is .csv, whatever separates its cells)"
        )
    for place, kind in zip(places, kinds, strict=True):
        if kind != usual:
            raise TableError(
                f"{place.name} in {name} is not a {usual.kind} file; expected files of one kind "
                "(a pattern such as '*.parquet' leaves others out)"
            )


def kind_of(place: Place) -> Any:  # noqa: ANN401
    """Return the class that reads a file, by the end of its name; None if there is none."""
    return next((kind for kind in _KINDS if place.label.lower().endswith(kind.endings)), None)


def _check_no_logs(name: str, places: Iterable[Place]) -> None:
    """Refuse files or folders inside that of a table whose files hold old rows too."""
    above: dict[str, Any] = {}
    for place in places:
        with suppress(ValueError):  # no file has such a name
            path = os.path.realpath(place.path) if place.near else place.path
            parts = Path(path).as_posix().split("/")
            above |= {"/".join(parts[:end]): place.system for end in range(1, len(parts))}
    for folder, system in above.items():
        _check_no_log(name, system, folder)


def _check_no_log(name: str, system: Any, folder: str) -> None:  # noqa: ANN401
    """Refuse a folder of files next to a log that says which of their rows are still valid."""
    found = []
    with suppress(OSError, ValueError):  # closed to others
        logs = system.get_file_info([f"{folder}/{log}" for log in _LOGS])
        found += [log for log in logs if log.type == fs.FileType.Directory]
        inside = system.get_file_info(fs.FileSelector(f"{folder}/{_ICEBERG}", allow_not_found=True))
        found += [info for info in inside if info.path.endswith(_SNAPSHOT)]
    if found:
        raise TableError(
            f"{name} belongs to a table of Delta Lake, Hudi, Iceberg or a stream of Spark, whose "
            "files hold old rows too; write the current rows to a folder of their own"
        )


def _below(top: Place, pattern: tuple[str, ...], shown: str) -> list[tuple[_Values, Place]]:
    """Return the files below a folder that match a pattern, or are below what does.

    In order of name, and with what the names of their folders give. Messages call the folder
    `shown`.
    """
    refused = f"{top.name} cannot be listed; expected a folder whose files can be read"
    found: list[tuple[str, ...]] = []
    left: list[tuple[str, ...]] = [()]
    count = 0
    while left:
        above = left.pop()
        folder = "/".join((top.path, *above))
        entries = attempt(refused, _entries, top.system, folder)
        count += len(entries)
        _check_few(top.name, count)
        if not {*_LOGS, _ICEBERG}.isdisjoint(name for name, _ in entries):
            _check_no_log(top.name, top.system, folder)
        for name, kind in entries:
            path = (*above, name)
            # Of a writer at work, or not of the table.
            hidden = name.startswith(".") or (name.startswith("_") and "=" not in name)
            if hidden or not _fits(path, pattern, so_far=True):
                continue
            if kind == fs.FileType.Directory:
                left.append(path)
            elif kind is None:
                raise TableError(
                    f"{_shown(shown, path)} in {top.name} is a link, or not a regular "
                    "file; list it, or remove it (its rows may be there already)"
                )
            elif _fits(path, pattern):
                found.append(path)
    return [
        (_keys(path[:-1]), evolve(top, path="/".join((top.path, *path)), name=_shown(shown, path)))
        for path in sorted(found)
    ]


def _entries(system: Any, folder: str) -> list[tuple[str, Any]]:  # noqa: ANN401
    """Return the names in a folder and their types, None for what is neither file nor folder."""
    if not isinstance(system, fs.LocalFileSystem):
        # Some stores have an empty object for the folder itself.
        found = system.get_file_info(fs.FileSelector(folder))
        return [(info.base_name, info.type) for info in found if info.base_name]
    with os.scandir(folder) as entries:
        return [(entry.name, _type_of(entry)) for entry in islice(entries, _MOST_ENTRIES + 1)]


def _type_of(entry: os.DirEntry[str]) -> Any:  # noqa: ANN401
    # Links are neither, which pyarrow follows; Python 3.12 knows Windows' other kind of them.
    if entry.is_dir(follow_symlinks=False) and not getattr(entry, "is_junction", bool)():
        return fs.FileType.Directory
    return fs.FileType.File if entry.is_file(follow_symlinks=False) else None


def _keys(folders: Iterable[str]) -> _Values:
    """Return the columns that the names of folders give, and their values."""
    pairs = (folder.split("=", 1) for folder in folders if "=" in folder)
    return {
        plain(unquote(key)): None if value == _NO_VALUE else unquote(value, errors=_RAW)
        for key, value in pairs
    }


def _shown(folder: str, path: tuple[str, ...]) -> str:
    """Return the name of a file for messages: without the values in names of folders."""
    *above, own = path
    parts = [part.split("=", 1)[0] + "=..." if "=" in part else part for part in above]
    return repr("/".join(filter(None, (folder, *parts, own))))


class Folder:
    """Files of the same columns, and columns of text that the names of their folders give.

    Parameters
    ----------
    listing : Listing
    optional : collection of str, optional
        Columns that files may lack, whose values are missing there; None for all.
    form : FileFormat, optional
        How files of text are written.
    names : mapping of str to str, optional
        The columns of files of text without a header, and decimal signs of their own.

    Raises
    ------
    TableError
        If a file cannot be opened, lacks a column of the first one, has another, or has one of
        another type.
    """

    def __init__(
        self,
        listing: Listing,
        optional: Collection[str] | None = (),
        form: FileFormat = USUAL,
        names: Signs | None = None,
    ) -> None:
        self.name, self.label, self.keys = listing.name, listing.label, listing.keys
        self._files: list[tuple[File, _Values]] = []
        own: tuple[Column, ...] = ()
        seen: dict[tuple[Column, ...], tuple[Column, ...]] = {}
        for values, place in listing.files:
            file = kind_of(place)(place, form, names)
            if not seen:
                own = file.columns
            elif file.columns not in seen:
                first, here = self._files[0][0].name, file.name
                if first == here:  # in folders whose names may be data
                    first, here = (f"{first} (file {n})" for n in (1, len(self._files) + 1))
                own = _merged(own, file, here, first, optional)
            file.columns = seen.setdefault(file.columns, file.columns)  # once in memory
            self._files.append((file, values))
        self._kinds = {column.name: column.type for column in own}
        for key in self._kinds.keys() & {*self.keys}:
            raise TableError(
                f"{self.name} has a column {key!r} in its files and in the names of folders "
                "(rename one of them)"
            )
        self.kind = self._files[0][0].kind
        #: Words of columns whose codes have some, and labels, as the first file declares them.
        self.settings: dict[str, dict[str, Any]] = getattr(self._files[0][0], "settings", {})
        #: Columns that not every file has.
        there = [{column.name for column in columns} for columns in seen]
        self.added = self._kinds.keys() - there[0].intersection(*there)
        counts = [file.rows for file, _ in self._files]
        self.rows = None if None in counts else sum(filter(None, counts))
        self.columns = (*own, *(Column(key, TEXT, "text") for key in self.keys))

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield record batches of the named columns."""
        for file, values in self._files:
            there = {column.name for column in file.columns}
            asked = [name for name in names if name in there]
            # The rows of a file of which no column is wanted are still to be counted.
            for batch in file.batches(asked or [file.columns[0].name]):
                columns = [
                    pa.repeat(raw_texts([values[name]])[0], batch.num_rows)
                    if name in values
                    else _as_declared(batch.column(name), self._kinds[name])
                    if name in there
                    else pa.nulls(batch.num_rows, self._kinds[name])
                    for name in names
                ]
                yield pa.RecordBatch.from_arrays(columns, names=list(names))

    def parts(self) -> Sequence[Folder]:
        """Return parts of files, or runs of files where there are very many."""
        most = MOST_PARTS // len(self._files)
        pieces = [
            (changed(part, _alone=False), values)
            for file, values in self._files
            for part in file.parts(most)
        ]
        return [changed(self, _files=run) for run in in_runs(pieces, MOST_PARTS)]


_ABSENT = Column("", pa.null())  # of a file: nothing but missing values


def _merged(
    own: tuple[Column, ...], file: File, here: str, first: str, optional: Collection[str] | None
) -> tuple[Column, ...]:
    """Return columns with what another file's say added: nullable where either is."""
    ours, theirs = (Counter(column.name for column in each) for each in (own, file.columns))
    hint = "add it (or declare it optional = true in a schema: missing there)"
    absent, added = (
        [name for name in names if optional is not None and name not in optional]
        for names in (ours - theirs, theirs - ours)
    )
    for name in absent:
        raise TableError(f"{here} has no column {name!r}, which {first} has ({hint})")
    for name in added:
        # Where a file of text has no header, this may be a cell.
        shown = "a column" if file.is_text else f"a column {name!r}"
        raise TableError(f"{here} has {shown} that {first} lacks ({hint})")
    found = {column.name: column for column in file.columns}
    merged = [_common(each, found.get(each.name, _ABSENT), here, first) for each in own]
    new = [evolve(column, nullable=True) for column in file.columns if column.name not in ours]
    return (*merged, *new)


def _common(column: Column, other: Column, here: str, first: str) -> Column:
    kind = _common_type(column.type, other.type)
    if kind is None:
        raise TableError(
            f"{here} has a column {column.name!r} of type {other.type}, which in {first} is "
            f"{column.type} (store it with one type)"
        )
    nullable = column.nullable or other.nullable
    return evolve(column, type=kind, declared=in_words(kind), nullable=nullable)


def _common_type(one: Any, other: Any) -> Any:  # noqa: ANN401
    """Return the type that holds the cells of two, None if there is none.

    How texts are stored, which type numbers have and whether all are null may depend on the cells.
    """
    if one == other or pt.is_null(other):
        return one
    if pt.is_null(one):
        return other
    words = {in_words(one), in_words(other)}
    if words == {"text"}:
        return TEXT
    if not words <= {"integer", "number"} or pt.is_dictionary(one) or pt.is_dictionary(other):
        return None
    whole = words == {"integer"} and pa.uint64() not in {one, other}
    # Identifiers may not be doubles, of which two large integers may be one.
    return pa.int64() if whole else pa.float64()


def _as_declared(cells: Any, kind: Any) -> Any:  # noqa: ANN401
    """Return cells as their column's type, which those of other files may have made another."""
    if cells.type == kind:
        return cells
    return pa.nulls(len(cells), kind) if pt.is_null(cells.type) else cells.cast(kind, safe=False)
