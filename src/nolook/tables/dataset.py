"""A dataset of pyarrow as the files it is made of, which are read as those of a folder are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyarrow import fs

from nolook.errors import TableError
from nolook.tables._patience import answered
from nolook.tables.listing import MOST_ENTRIES, Listing, check_no_logs, made_of, shown, told_by
from nolook.tables.places import LocalFile, Place, StoredFile
from nolook.tables.source import attempt

__all__ = ["from_dataset", "is_dataset"]

_NAME = "the dataset"
_FORMATS = ("parquet", "ipc")


def is_dataset(source: object) -> bool:
    """Tell whether something is a dataset of pyarrow, without importing these."""
    return type(source).__module__ == "pyarrow._dataset" and hasattr(source, "get_fragments")


def from_dataset(dataset: Any) -> Listing:  # noqa: ANN401 -- pyarrow has no types
    """Return the files of a dataset, and what its partitioning tells of each as text.

    Raises TableError for a dataset that is filtered, in memory, of a schema of its own, or of files
    whose cells decide their columns' types.
    """
    filtered = (
        f"{_NAME} is filtered; expected whole files (write its rows to a folder of their own)"
    )
    fragments = attempt(filtered, lambda: list(dataset.get_fragments()))
    if len(fragments) > MOST_ENTRIES:
        raise TableError(f"{_NAME} has more than {MOST_ENTRIES:,} files; expected fewer")
    for fragment in fragments:
        if getattr(getattr(fragment, "format", None), "default_extname", None) not in _FORMATS:
            raise TableError(
                f"{_NAME} has a part that is no Parquet or Arrow file; expected such files alone "
                "(of CSV give the folder, of rows in memory their table)"
            )
    files = [(_told(fragment), _place(fragment)) for fragment in fragments]
    check_no_logs(_NAME, [place for _, place in files])
    listing = made_of(_NAME, None, files)
    _check_schema(dataset.schema, fragments[0], listing.keys)
    for fragment in fragments:
        _check_whole(fragment)
    return listing


def _told(fragment: Any) -> dict[str, str | None]:  # noqa: ANN401
    """Return what the partitioning tells, as it is written: pyarrow makes up its type."""
    from pyarrow import dataset

    keys = dataset.get_partition_keys(fragment.partition_expression)
    written = told_by(fragment.path.split("/")[:-1])
    return {
        key: written.get(key, None if value is None else str(value)) for key, value in keys.items()
    }


def _place(fragment: Any) -> Place:  # noqa: ANN401
    system, path = fragment.filesystem, fragment.path
    while isinstance(system, fs.SubTreeFileSystem):
        system, path = system.base_fs, system.base_path + path
    name = shown("", tuple(path.split("/")))
    if isinstance(system, fs.LocalFileSystem):
        return LocalFile(path, name)
    return StoredFile(system, path, name)


def _check_whole(fragment: Any) -> None:  # noqa: ANN401
    """Refuse some row groups of a file: it is read as a whole."""
    if hasattr(fragment, "row_groups"):
        unreadable = f"{_NAME} has a file that cannot be read (damaged, or no answer?)"
        whole = attempt(unreadable, answered, _NAME, lambda: fragment.metadata.num_row_groups)
        if fragment.num_row_groups != whole:
            raise TableError(
                f"{_NAME} has some row groups of a file only; expected whole files (write its rows "
                "to a folder of their own)"
            )


def _check_schema(declared: Any, first: Any, keys: Sequence[str]) -> None:  # noqa: ANN401
    """Refuse a schema that is not that of the files: they are read as they are."""
    unreadable = f"{_NAME} has a first file that cannot be read (damaged, or no answer?)"
    found = attempt(unreadable, answered, _NAME, lambda: first.physical_schema)
    own = {field.name: field.type for field in declared if field.name not in keys}
    if own != {field.name: field.type for field in found if field.name not in keys}:
        raise TableError(
            f"{_NAME} has a schema that its first file has not; expected that of its files (leave "
            "the schema out, and name columns by features)"
        )
