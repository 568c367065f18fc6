"""Every release as a JSON file, and back; anyone may see these.

Numbers are written so that they come back bit for bit.
"""

from __future__ import annotations

import json
import os
from pkgutil import resolve_name
from typing import Any

from nolook._validation import check_path
from nolook._version import __version__
from nolook.errors import ModelFileError, ParameterError
from nolook.estimators.catalogue import METHODS, name_of
from nolook.formats.files import one_line, write_json
from nolook.formats.strict import Broken, convert, expect, plain, read_object

__all__ = ["from_dict", "load", "save", "to_dict"]

_EXAMPLE = "people.model.json"
_HEAD = {"format": "nolook", "version": 1}

# The record of each kind of release, loaded when one of that kind is read or written; of a model
# that of its method.
_MODELS = (
    *("linear model", "logistic model", "count model"),
    *("additive model", "additive logistic model", "additive count model"),
)
_RECORDS = dict.fromkeys(_MODELS, "_models:model_record") | {
    "pipeline": "_models:Pipeline",
    "selection": "_models:Selection",
    "distribution": "findings_file:DistributionFile",
    "quantiles": "findings_file:QuantilesFile",
    "ROC curve": "findings_file:CurveFile",
    "calibration": "findings_file:CalibrationFile",
    "evaluation": "findings_file:EvaluationFile",
    "cross-validation": "findings_file:FoldsFile",
    "tabulation": "tabulation_file:TabulationFile",
    "description": "tabulation_file:DescriptionFile",
    "group comparison": "comparison_file:ComparisonFile",
    "survival curve": "comparison_file:SurvivalFile",
}


def save(model: Any, path: str | os.PathLike[str]) -> None:  # noqa: ANN401 -- any release
    """Write a release to a JSON file.

    The file is written completely or not at all; an existing file is replaced.

    Parameters
    ----------
    model : fitted estimator, Quantiles, Evaluation or CrossValidation
        A model such as :class:`nolook.LinearRegression`, a :class:`nolook.PrivatePipeline`, a
        selector, an :class:`nolook.ECDF`, a :class:`nolook.ROCCurve` or any other release but a
        scaler. The file of a cross-validation does not contain its models; save each separately.
    path : path-like
        Where to write.

    Raises
    ------
    ParameterError
        If `model` is not a fitted estimator of nolook, or a parameter is not a plain value.
    NolookError
        If the file cannot be written.
    """
    write_json(check_path(path, _EXAMPLE), to_dict(model))


def to_dict(release: Any) -> dict[str, Any]:  # noqa: ANN401 -- whatever a user saves
    """Return the release in a file; refuse anything else."""
    kind = getattr(release, "kind", "")
    if kind not in _RECORDS or not hasattr(release, "privacy"):
        known = ", ".join(entry.kind for entry in METHODS.values())
        raise ParameterError(
            f"model is of type {type(release).__name__}; expected a fitted {known} or another "
            "release of nolook (call fit first)"
        )
    try:
        record = _record(kind, name_of(release))
        document: dict[str, Any] = plain(record.of(release))
        # Nothing is written that could not be read.
        convert(json.loads(json.dumps(document, allow_nan=False)), record).release()
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"model is of type {type(release).__name__}, which cannot be saved: {error}; "
            "parameters must be plain values of the types that its class declares"
        ) from None
    return {**_HEAD, "nolook_version": __version__, **document}


def load(path: str | os.PathLike[str]) -> Any:  # noqa: ANN401 -- any release
    """Read a release that :func:`save` or the command line wrote.

    Parameters
    ----------
    path : path-like
        A JSON file.

    Returns
    -------
    fitted estimator, Quantiles, Evaluation or CrossValidation
        An object of the saved class, with its parameters except `random_state`. An evaluation has
        only the description of its model, not the model.

    Raises
    ------
    ModelFileError
        If the file does not exist, is damaged, contains impossible values, or has an unknown format
        version.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> import nolook
    >>> ecdf = nolook.ECDF(epsilon=1.0).fit(np.arange(1000.0))
    >>> with TemporaryDirectory() as folder:
    ...     save(ecdf, f"{folder}/numbers.distribution.json")
    ...     found = load(f"{folder}/numbers.distribution.json")
    >>> bool(found.quantile(0.5) == ecdf.quantile(0.5))
    True
    """
    place = check_path(path, _EXAMPLE)
    try:
        return from_dict(read_object(place))
    except (Broken, ParameterError) as error:
        wrong = one_line(str(error).rpartition("; ")[2])  # not a value that it quotes
    raise ModelFileError(f"{one_line(place)} is not the file of a release: {wrong}")


def from_dict(document: dict[str, Any]) -> Any:  # noqa: ANN401
    """Return the release of :func:`to_dict`, or say what is broken."""
    version, kind = document.pop("nolook_version", None), document.get("kind")
    head = repr({name: document.pop(name, None) for name in _HEAD})
    known = head == repr(_HEAD) and type(version) is str
    expect(known, '"format": "nolook" with version 1, and nolook_version')
    expect(kind in list(_RECORDS), f"a kind that is one of {', '.join(map(repr, _RECORDS))}")
    return convert(document, _record(kind, document.get("method"))).release()


def _record(kind: Any, method: object) -> Any:  # noqa: ANN401
    found = resolve_name(f"nolook.formats.{_RECORDS[kind]}")
    return found(method) if kind in _MODELS else found
