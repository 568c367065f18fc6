"""The public description of a federated batch as a JSON file, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

from nolook.algorithms.grids import GRIDS, LinearGrid, LogGrid
from nolook.errors import ParameterError
from nolook.federated import point_batch
from nolook.federated.batch import FORMAT, Batch, Kind
from nolook.federated.point_batch import PointBatch
from nolook.formats.files import one_line, write_json
from nolook.formats.strict import Broken, Content, convert, read_object

__all__ = ["read_batch", "write_batch"]

#: A grid's kind, first and last threshold, and step.
Written: TypeAlias = tuple[Literal["linear", "log"], float, float, float]


class _Content(Content, frozen=True):
    """What :meth:`nolook.federated.batch.Batch.content` returns."""

    format: int
    name: str
    kind: Kind
    relation: Literal["replace"]
    epsilon: float
    grid: Written | None
    minimum: int

    def __post_init__(self) -> None:
        if self.format != FORMAT:
            known = f"{FORMAT} or {point_batch.FORMAT}"
            raise Broken(f"expected format {known}; another one needs another nolook")


class _PointContent(Content, frozen=True):
    """What :meth:`nolook.federated.point_batch.PointBatch.content` returns."""

    format: int
    name: str
    kind: Kind
    relation: Literal["replace"]
    epsilon: float
    delta: float
    grid: Written | None
    minimum: int
    servers: tuple[str, str]
    keys: tuple[str, str]
    nonce: str
    points: str
    lengths: tuple[int, ...]


def write_batch(batch: Batch, path: Path) -> None:
    """Write a batch's description; owners, servers and analyst get the same file."""
    write_json(path, batch.content())


def read_batch(path: Path) -> Batch:
    """Read a batch's description, whose thresholds this nolook must find too in format 2."""
    try:
        document = read_object(path)
        if document.get("format") == point_batch.FORMAT:
            return _point_batch(convert(document, _PointContent))
        content = convert(document, _Content)
        return Batch(
            content.name, content.kind, content.epsilon, _grid(content.grid), content.minimum
        )
    except (Broken, ParameterError) as error:
        raise ParameterError(f"{one_line(path)} is not a batch: {one_line(error)}") from None


def _grid(written: Written | None) -> LinearGrid | LogGrid | None:
    return None if written is None else GRIDS[written[0]](*written[1:])


def _point_batch(content: _PointContent) -> PointBatch:
    batch = PointBatch(
        content.name,
        content.kind,
        content.epsilon,
        _grid(content.grid),
        content.minimum,
        servers=content.servers,
        keys=content.keys,
        delta=content.delta,
        nonce=content.nonce,
        lengths=content.lengths,
    )
    if batch.content()["points"] != content.points:
        raise Broken("this nolook lays other thresholds; use the one that made the batch")
    return batch
