"""The public description of a federated batch as a JSON file, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from nolook.algorithms.grids import GRIDS
from nolook.errors import ParameterError
from nolook.federated import point_batch
from nolook.federated.batch import FORMAT, Batch, Kind
from nolook.federated.point_batch import PointBatch
from nolook.formats.files import one_line, write_json
from nolook.formats.strict import Broken, Content, convert, read_object

__all__ = ["read_batch", "read_point_batch", "write_batch"]


class _Content(Content, frozen=True):
    """What :meth:`nolook.federated.batch.Batch.content` returns."""

    format: int
    name: str
    kind: Kind
    relation: Literal["replace"]
    epsilon: float
    grid: tuple[Literal["linear", "log"], float, float, float] | None
    minimum: int

    def __post_init__(self) -> None:
        if self.format != FORMAT:
            raise Broken(f"expected format {FORMAT}; another one needs another nolook")


class _PointContent(Content, frozen=True):
    """What :meth:`nolook.federated.point_batch.PointBatch.content` returns."""

    format: int
    name: str
    kind: Kind
    relation: Literal["replace"]
    epsilon: float
    delta: float
    grid: tuple[Literal["linear", "log"], float, float, float] | None
    minimum: int
    servers: tuple[str, str]
    nonce: str
    points: str
    lengths: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.format != point_batch.FORMAT:
            raise Broken(f"expected format {point_batch.FORMAT}; make the batch again")


def write_batch(batch: Batch, path: Path) -> None:
    """Write a batch's description; owners, servers and analyst get the same file."""
    write_json(path, batch.content())


def read_batch(path: Path) -> Batch:
    """Read a batch's description."""
    try:
        content = convert(read_object(path), _Content)
        grid = None if content.grid is None else GRIDS[content.grid[0]](*content.grid[1:])
        return Batch(content.name, content.kind, content.epsilon, grid, content.minimum)
    except (Broken, ParameterError) as error:
        raise ParameterError(f"{one_line(path)} is not a batch: {one_line(error)}") from None


def read_point_batch(path: Path) -> PointBatch:
    """Read the description of a batch of format 2, whose thresholds this nolook must find too."""
    try:
        return _point_batch(convert(read_object(path), _PointContent))
    except (Broken, ParameterError) as error:
        raise ParameterError(f"{one_line(path)} is not a batch: {one_line(error)}") from None


def _point_batch(content: _PointContent) -> PointBatch:
    grid = None if content.grid is None else GRIDS[content.grid[0]](*content.grid[1:])
    batch = PointBatch(
        content.name,
        content.kind,
        content.epsilon,
        grid,
        content.minimum,
        servers=content.servers,
        delta=content.delta,
        nonce=content.nonce,
        lengths=content.lengths,
    )
    if batch.content()["points"] != content.points:
        raise Broken("this nolook lays other thresholds; use the one that made the batch")
    return batch
