"""Every release as a JSON file, and back; anyone may see these.

Numbers are written so that they come back bit for bit.
"""

from __future__ import annotations

import os
from typing import Any

from nolook._validation import check_path
from nolook._version import __version__
from nolook.errors import ModelFileError, ParameterError
from nolook.estimators._selector import PrivateSelector
from nolook.estimators.base import PrivateRegressor
from nolook.estimators.calibration import HosmerLemeshow
from nolook.estimators.catalogue import METHODS, name_of
from nolook.estimators.ecdf import ECDF
from nolook.estimators.evaluation import Evaluation
from nolook.estimators.folds import CrossValidation
from nolook.estimators.logistic import LogisticRegression
from nolook.estimators.pipeline import PrivatePipeline
from nolook.estimators.quantiles import Quantiles
from nolook.estimators.roc import ROCCurve
from nolook.formats._models import LinearModel, LogisticModel, Pipeline, Selection
from nolook.formats.files import one_line, write_json
from nolook.formats.findings_file import (
    CalibrationFile,
    CurveFile,
    DistributionFile,
    EvaluationFile,
    FoldsFile,
    QuantilesFile,
)
from nolook.formats.strict import Broken, convert, expect, plain, read_object

__all__ = ["load", "save"]

_EXAMPLE = "people.model.json"
_HEAD = {"format": "nolook", "version": 1}

# What a file says of each class of release, subclasses first.
_RECORDS: dict[type, Any] = {
    PrivatePipeline: Pipeline,
    PrivateRegressor: LinearModel,
    LogisticRegression: LogisticModel,
    PrivateSelector: Selection,
    ECDF: DistributionFile,
    Quantiles: QuantilesFile,
    ROCCurve: CurveFile,
    HosmerLemeshow: CalibrationFile,
    Evaluation: EvaluationFile,
    CrossValidation: FoldsFile,
}
_KINDS = {record.__struct_config__.tag: record for record in _RECORDS.values()}


def save(model: Any, path: str | os.PathLike[str]) -> None:  # noqa: ANN401 -- any release
    """Write a release to a JSON file.

    The file appears whole or not at all; an older one of the same name is replaced.

    Parameters
    ----------
    model : fitted estimator, Quantiles, Evaluation or CrossValidation
        A model such as :class:`nolook.LinearRegression`, a :class:`nolook.PrivatePipeline`, a
        selector, an :class:`nolook.ECDF`, a :class:`nolook.ROCCurve` or any other release but a
        scaler. A cross-validation's models are not in its file; each can be saved by itself.
    path : path-like
        Where to write.

    Raises
    ------
    ParameterError
        If `model` is not a fitted estimator of nolook, or a parameter is not a plain value.
    NolookError
        If the file cannot be written.
    """
    place = check_path(path, _EXAMPLE)
    record = next((one for kind, one in _RECORDS.items() if isinstance(model, kind)), None)
    fitted = hasattr(model, "privacy_") or hasattr(model, "privacy")
    if record is None or not fitted or (record is LinearModel and name_of(model) not in METHODS):
        known = ", ".join(entry.kind for entry in METHODS.values())
        raise ParameterError(
            f"model is of type {type(model).__name__}; expected a fitted {known} or another "
            "release of nolook (call fit first)"
        )
    head = {**_HEAD, "nolook_version": __version__}
    write_json(place, head | plain(record.of(model)))


def load(path: str | os.PathLike[str]) -> Any:  # noqa: ANN401 -- any release
    """Read a release that :func:`save` or the command line wrote.

    Parameters
    ----------
    path : path-like
        A JSON file.

    Returns
    -------
    fitted estimator, Quantiles, Evaluation or CrossValidation
        Of the class that was saved, with its parameters; `random_state` is not kept. An evaluation
        knows of its model only what the file says.

    Raises
    ------
    ModelFileError
        If there is no such file, or it is damaged, was edited into something impossible, or is of
        a format this version does not know.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> ecdf = ECDF(epsilon=1.0).fit(np.arange(1000.0))
    >>> with TemporaryDirectory() as folder:
    ...     save(ecdf, f"{folder}/numbers.distribution.json")
    ...     found = load(f"{folder}/numbers.distribution.json")
    >>> bool(found.quantile(0.5) == ecdf.quantile(0.5))
    True
    """
    place = check_path(path, _EXAMPLE)
    try:
        return _release(read_object(place))
    except (Broken, ParameterError) as error:
        wrong = one_line(str(error).rpartition("; ")[2])  # not a value that it quotes
    raise ModelFileError(f"{one_line(place)} is not the file of a release: {wrong}")


def _release(document: dict[str, Any]) -> Any:  # noqa: ANN401
    version, kind = document.pop("nolook_version", None), document.get("kind")
    head = repr({name: document.pop(name, None) for name in _HEAD})
    known = head == repr(_HEAD) and type(version) is str
    expect(known, '"format": "nolook" with version 1, and nolook_version')
    expect(kind in list(_KINDS), f"a kind that is one of {', '.join(map(repr, _KINDS))}")
    return convert(document, _KINDS[kind]).release()
