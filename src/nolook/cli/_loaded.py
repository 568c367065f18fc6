"""Releases that a command reads from files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nolook.errors import ParameterError
from nolook.formats.files import one_line


def model_of(path: Path) -> Any:  # noqa: ANN401 -- a regression or a classifier
    """Return the model in a file; refuse another release."""
    from nolook.estimators.base import PrivateRegressor
    from nolook.estimators.logistic import LogisticRegression
    from nolook.formats.model_file import load
    from nolook.report.results import findings_of

    found = load(path)
    if isinstance(found, PrivateRegressor | LogisticRegression):
        return found
    kind = findings_of(found).kind
    raise ParameterError(
        f"{one_line(path)} is a {kind}; expected a model (a file made by nolook fit)"
    )
