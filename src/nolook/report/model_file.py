"""A release as a JSON file, and back; read strictly, since a file may be damaged or edited.

The file holds what was released and nothing else: anyone may see it. Numbers are written so that
they come back bit for bit.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nolook._validation import check_path
from nolook._version import __version__
from nolook.errors import ModelFileError
from nolook.estimators.ecdf import ECDF
from nolook.estimators.pipeline import PrivatePipeline
from nolook.report._model_content import model_content, model_from
from nolook.report._pipeline_content import pipeline_content, pipeline_from
from nolook.report._strict import Broken, parse, read, text
from nolook.report.distribution_file import distribution_content, distribution_from
from nolook.report.files import one_line, write_json

if TYPE_CHECKING:
    from nolook.estimators.base import PrivateRegressor

__all__ = ["load", "save"]

_EXAMPLE = "people.model.json"

# A kind of file: its format and schema version.
_MODEL, _PIPELINE = ("nolook-model", 2), ("nolook-model", 3)
_DISTRIBUTION = ("nolook-distribution", 1)
_READERS: dict[tuple[str, int], Callable[[object], PrivateRegressor | ECDF]] = {
    _MODEL: model_from,
    _PIPELINE: pipeline_from,
    _DISTRIBUTION: distribution_from,
}


def save(model: PrivateRegressor | ECDF, path: str | os.PathLike[str]) -> None:
    """Write a fitted model or distribution to a JSON file.

    The file appears whole or not at all; an older one of the same name is replaced.

    Parameters
    ----------
    model : fitted estimator
        Such as :class:`nolook.LinearRegression`, a :class:`nolook.PrivatePipeline` or a
        :class:`nolook.ECDF`.
    path : path-like
        Where to write.

    Raises
    ------
    ParameterError
        If `model` is not an estimator of nolook that was fitted, or a parameter is no plain
        value.
    NolookError
        If the file cannot be written.
    """
    place = check_path(path, _EXAMPLE)
    if isinstance(model, PrivatePipeline):
        kind, content = _PIPELINE, pipeline_content(model)
    elif isinstance(model, ECDF):
        kind, content = _DISTRIBUTION, distribution_content(model)
    else:
        kind, content = _MODEL, model_content(model)
    head = {
        "format": kind[0],
        "schema_version": kind[1],
        "nolook_version": __version__,
    }
    write_json(place, head | content)


def load(path: str | os.PathLike[str]) -> PrivateRegressor | ECDF:
    """Read a model or distribution that :func:`save` or the command line wrote.

    Parameters
    ----------
    path : path-like
        A JSON file.

    Returns
    -------
    fitted estimator
        Of the class that was saved, with its parameters; `random_state` is not kept.

    Raises
    ------
    ModelFileError
        If there is no such file, or it is damaged, was edited into something impossible, or was
        written in a format this version does not know.
    """
    place = check_path(path, _EXAMPLE)
    try:
        document = parse(read(place))
        return _reader(document)(document)
    except Broken as broken:
        raise ModelFileError(f"{one_line(place)} is not a model file: {one_line(broken)}") from None


def _reader(document: dict[str, Any]) -> Callable[[object], PrivateRegressor | ECDF]:
    """Take the head off a document; return what reads the rest."""
    form, version = document.pop("format", None), document.pop("schema_version", None)
    known = [of for name, of in _READERS if name == form]
    if not known:
        names = " or ".join(f'"{name}"' for name in dict.fromkeys(name for name, _ in _READERS))
        raise Broken(f'expected "format": {names}')
    if type(version) is not int or version not in known:
        versions = " or ".join(map(str, known))
        raise Broken(f"expected schema_version {versions}; another one needs another nolook")
    if "nolook_version" not in document:
        raise Broken("the key 'nolook_version' is missing")
    text(document.pop("nolook_version"), "nolook_version")
    return _READERS[form, version]
