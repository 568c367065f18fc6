"""Output files: checked before anything is spent, written whole or not at all.

A file is written under a temporary name in its own folder, flushed to disk and renamed, replacing
an older one: an interruption never leaves half a file.
"""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from nolook import _files
from nolook._validation import one_line
from nolook.errors import NolookError, ParameterError

__all__ = [
    "check_outputs",
    "default_name",
    "one_line",
    "replacing",
    "write_json",
    "write_text",
]

_LONGEST_COLUMNS = 40  # characters of a default name
_NULL = "\0"  # which no path may hold: the system's functions raise ValueError


def default_name(table: Path, columns: Sequence[str], ending: str) -> Path:
    """Return the default name of a release: TABLE.COLUMNS.ending, in the current folder.

    Letters, digits, hyphens and underscores of columns are kept, anything else is an underscore.
    Columns are joined by a plus sign; too many are the first one and how many more.

    Examples
    --------
    >>> default_name(Path("data/people.csv"), ["net income"], "model.json").name
    'people.net_income.model.json'
    >>> default_name(Path("people.csv"), ["age", "income"], "quantiles.json").name
    'people.age+income.quantiles.json'
    """
    safe = ["".join(c if c.isalnum() or c in "-_" else "_" for c in name) for name in columns]
    named = "+".join(safe)
    if len(named) > _LONGEST_COLUMNS:
        more = f"+{len(safe) - 1}" if len(safe) > 1 else ""
        named = safe[0][:_LONGEST_COLUMNS] + more
    return Path(".".join(part for part in (table.stem, named, ending) if part))


def check_outputs(
    outputs: Iterable[tuple[str, Path | None]], inputs: Iterable[Path] = (), *, replace: bool = True
) -> None:
    """Check that files, those that are wanted, can be written, before anything is spent on them.

    Unless they may `replace` older ones, they must be new.
    """
    taken = {_identity(path) for path in inputs}
    for option, path in outputs:
        if path is None:
            continue
        shown = f"{option} is {one_line(path)}"
        if _identity(path) in taken:
            raise ParameterError(f"{shown}, which is used for something else; give another name")
        taken.add(_identity(path))
        try:
            _check_writable(path)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise ParameterError(
                f"{shown}, which cannot be written ({reason}); "
                "expected a file name in an existing folder you may write to"
            ) from None
        if path.exists() and not replace:
            raise ParameterError(
                f"{shown}, which exists (give another name, or --force to replace it)"
            )


def _identity(path: Path) -> str:
    # Not Path.resolve: it raises on links that point at each other.
    return str(path) if _NULL in str(path) else os.path.realpath(path)


def _check_writable(path: Path) -> None:
    if _NULL in str(path):
        raise OSError(0, "it holds a null character")
    if path.exists() and not path.is_file():
        kind = "it is a folder" if path.is_dir() else "it is not an ordinary file"
        raise OSError(0, kind)
    if path.exists() and not os.access(path, os.W_OK):
        raise OSError(0, "it is read-only")
    trial = _beside(path)
    with trial.open("xb"):
        pass
    trial.unlink()


def _beside(path: Path) -> Path:
    return path.parent / f".nolook-{uuid.uuid4().hex}.part"


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give the path of a draft, renamed to `path` if the block succeeds; else `path` is kept."""
    if _NULL in str(path):
        raise NolookError(f"cannot write {one_line(path)}: it holds a null character")
    part = _beside(path)
    try:
        yield part
        _files.flush(part)
        _files.replace(part, path)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise NolookError(f"cannot write {one_line(path)}: {one_line(reason)}") from None
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a whole text file in UTF-8, or nothing."""
    with replacing(path) as part:
        part.write_bytes(text.encode("utf-8", errors="backslashreplace"))


def write_json(path: Path, document: object) -> None:
    """Write a whole file of JSON without NaN and infinities, or nothing."""
    content = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1)
    write_text(path, content + "\n")
