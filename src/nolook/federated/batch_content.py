"""The public description of a federated batch as a JSON file, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, TypeAlias, get_type_hints

import msgspec

from nolook.algorithms.grids import GRIDS
from nolook.errors import ParameterError
from nolook.federated.batch import VERSION, Batch
from nolook.formats.files import one_line, write_json
from nolook.formats.strict import Broken, Content, convert, expect, read_object

__all__ = ["read_batch", "write_batch"]

#: A grid's kind, first and last threshold, and step.
Grid: TypeAlias = tuple[Literal["linear", "log"], float, float, float]
_HINTS: dict[str, Any] = get_type_hints(Batch) | {
    "grid": Grid | None,
    "lengths": tuple[int, ...],
    "version": int,
    "relation": Literal["replace"],
    "points": str,
}
#: The content that :meth:`nolook.federated.batch.Batch.content` returns.
_Content = msgspec.defstruct("_Content", list(_HINTS.items()), bases=(Content,), frozen=True)


def write_batch(batch: Batch, path: Path) -> None:
    """Write a batch's description; owners, servers and analyst get the same file."""
    write_json(path, batch.content())


def read_batch(path: Path) -> Batch:
    """Read a batch's description, for which this nolook must compute the same thresholds."""
    try:
        content = msgspec.structs.asdict(convert(read_object(path), _Content))
        points, grid = content.pop("points"), content.pop("grid")
        version, _ = content.pop("version"), content.pop("relation")
        expect(version == VERSION, f"version {VERSION} (another one needs another nolook)")
        batch = Batch(grid=None if grid is None else GRIDS[grid[0]](*grid[1:]), **content)
    except (Broken, ParameterError) as error:
        raise ParameterError(f"{one_line(path)} is not a batch: {one_line(error)}") from None
    if batch.content()["points"] != points:
        raise ParameterError(
            f"{one_line(path)} is not a batch: this nolook computes other thresholds; use the one "
            "that made the batch"
        )
    return batch
