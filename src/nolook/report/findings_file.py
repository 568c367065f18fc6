"""Private quantiles as a JSON file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nolook
from nolook.report._model_content import guarantee_content
from nolook.report.distribution_file import grid_content
from nolook.report.files import write_json

if TYPE_CHECKING:
    from nolook.algorithms.grids import LinearGrid, LogGrid
    from nolook.estimators.quantiles import Quantiles

__all__ = ["write_quantiles"]

_SCHEMA_VERSION = 1


def write_quantiles(
    found: Quantiles,
    path: Path,
    *,
    grids: Mapping[str, LinearGrid | LogGrid],
    recipe: dict[str, Any],
) -> None:
    """Write quantiles, what they cost and how the table was read.

    The file appears whole or not at all; an older one of the same name is replaced.

    Parameters
    ----------
    found : Quantiles
    path : Path
    grids : mapping
        The columns' grids; a column that is not there has that of all doubles.
    recipe : dict

    Raises
    ------
    NolookError
        If the file cannot be written.
    """
    document = {
        "columns": list(found.names),
        "grids": {name: grid_content(grids.get(name)) for name in found.names},
        "shares": found.shares.tolist(),
        "quantiles": found.values.tolist(),
        "standard_errors": found.errors.tolist(),
        "recipe": recipe,
        **guarantee_content(found.privacy),
    }
    write_json(path, _head("nolook-quantiles") | document)


def _head(form: str) -> dict[str, Any]:
    return {
        "format": form,
        "schema_version": _SCHEMA_VERSION,
        "nolook_version": nolook.__version__,
    }
