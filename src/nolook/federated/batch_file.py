"""The public description of a federated batch as a JSON file, and back."""

from __future__ import annotations

from pathlib import Path

from nolook.errors import ParameterError
from nolook.federated.batch import Batch, batch_from
from nolook.formats.files import one_line, write_json
from nolook.formats.strict import Broken, read_object

__all__ = ["read_batch", "write_batch"]


def write_batch(batch: Batch, path: Path) -> None:
    """Write a batch's description; owners, servers and analyst get the same file."""
    write_json(path, batch.content())


def read_batch(path: Path) -> Batch:
    """Read a batch's description."""
    try:
        return batch_from(read_object(path))
    except (Broken, ParameterError) as error:
        raise ParameterError(f"{one_line(path)} is not a batch: {error}") from None
