"""Releases that a command reads from files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nolook.errors import ParameterError
from nolook.formats.files import one_line


def model_of(path: Path) -> Any:  # noqa: ANN401 -- a regression or a classifier
    """Return the model in a file; refuse another release."""
    from nolook.formats.model_file import load

    found = load(path)
    if not found.coefficients:
        raise ParameterError(
            f"{one_line(path)} is a {found.kind}; expected a model (a file made by nolook fit)"
        )
    return found
