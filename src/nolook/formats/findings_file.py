"""Private quantiles, ROC curves, calibrations and evaluations as JSON files, and back.

Each says what was released, what it cost, how the table was read, and what follows from it: a
reader has that without computing anything, and it must agree with what was released. Files of
version 0.1 held only what follows.
"""

from __future__ import annotations

import json
from operator import methodcaller
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from msgspec import UNSET, Meta, UnsetType

from nolook.algorithms.grids import LinearGrid, LogGrid
from nolook.estimators._scores import Scored
from nolook.estimators.calibration import HosmerLemeshow
from nolook.estimators.evaluation import Evaluation, JudgedModel
from nolook.estimators.quantiles import Quantiles
from nolook.estimators.roc import ROCCurve
from nolook.formats._calibration_content import Calibration, calibration_content
from nolook.formats._curve_content import Curve, curve_content
from nolook.formats.distribution_file import Grid, grid_content
from nolook.formats.files import write_release
from nolook.formats.parts import (
    Names,
    Recipe,
    Release,
    guarantee_content,
    recipe_content,
    rows_content,
    stated_guarantee,
)
from nolook.formats.strict import Broken, convert, refuse_others

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = [
    "CalibrationFile",
    "EvaluationFile",
    "QuantilesFile",
    "RocFile",
    "Scored",
    "write_calibration",
    "write_evaluation",
    "write_quantiles",
    "write_roc",
]

_Share = Annotated[float, Meta(ge=0, le=1)]


class QuantilesFile(Release, frozen=True):
    """Quantiles of some columns."""

    columns: Names
    grids: dict[str, Grid | None]
    shares: Annotated[list[_Share], Meta(min_length=1)]
    quantiles: list[list[float]]
    standard_errors: list[list[float]]
    recipe: Recipe

    def __post_init__(self) -> None:
        super().__post_init__()
        if set(self.grids) != set(self.columns) or len(self.grids) != len(self.columns):
            raise Broken("expected grids of just the columns, which are distinct")
        for table in (self.quantiles, self.standard_errors):
            if [len(row) for row in table] != [len(self.shares)] * len(self.columns):
                raise Broken("expected a number for each column and share")
        self.recipe.check_gives(self.columns)

    def estimator(self) -> Quantiles:
        """Return the quantiles."""
        return Quantiles(
            tuple(self.columns),
            np.array(self.shares),
            np.array(self.quantiles),
            np.array(self.standard_errors),
            self.guarantee(),
            self.recipe.options(),
            {name: grid.grid() for name, grid in self.grids.items() if grid is not None},
        )


class _About(Release, frozen=True):
    """Which columns were compared, and how they were read."""

    label: str
    positive: str
    recipe: Recipe


class _AboutScore(_About, frozen=True):
    """The same of a score that somebody computed."""

    score: str
    caution: str

    def scored(self) -> Scored:
        """Return what was compared."""
        return Scored(self.score, self.label, self.positive)


class RocFile(_AboutScore, frozen=True):
    """A ROC curve."""

    curve: Curve

    @classmethod
    def read(cls, document: dict[str, Any]) -> ROCCurve:
        """Return the fitted curve."""
        file = convert(_nested(document, curve=Curve), cls)
        curve = file.curve.estimator(file.guarantee(), file.recipe.options())
        curve.scored_, curve.asked_ = file.scored(), file.curve.asked()
        _check(roc_content(curve, curve.scored_, curve.asked_), document)
        return curve


class CalibrationFile(_AboutScore, frozen=True):
    """A calibration."""

    calibration: Calibration
    n_rows: float | UnsetType = UNSET
    n_rows_error: float | UnsetType = UNSET

    @classmethod
    def read(cls, document: dict[str, Any]) -> HosmerLemeshow:
        """Return the fitted test."""
        file = convert(_nested(document, calibration=Calibration), cls)
        test = file.calibration.estimator(file.guarantee(), file.recipe.options())
        test.scored_ = file.scored()
        _check(calibration_file_content(test, test.scored_), document)
        return test


class EvaluationFile(_About, frozen=True):
    """What was found of a model: its method and its own guarantee are all that is said of it."""

    model: str
    method: str
    model_privacy: dict[str, Any] | None
    other_rows: bool
    curve: Curve
    calibration: Calibration | None
    n_rows: Annotated[float, Meta(ge=1)]
    n_rows_error: Annotated[float, Meta(ge=0)]
    cautions: list[str]

    @classmethod
    def read(cls, document: dict[str, Any]) -> Evaluation:
        """Return the evaluation."""
        file = convert(document, cls)
        kept = file.guarantee(), file.recipe.options()
        own = file.model_privacy
        judged = JudgedModel(file.method, None if own is None else stated_guarantee(own))
        found = Evaluation(
            file.curve.estimator(*kept),
            None if file.calibration is None else file.calibration.estimator(*kept),
            file.n_rows,
            file.n_rows_error,
            kept[0],
            file.other_rows,
            tuple(file.cautions),
            judged,
            Scored(file.model, file.label, file.positive),
        )
        for part in (found.roc, found.calibration):
            if part is not None:
                part.scored_ = found.scored
        found.roc.asked_ = file.curve.asked()
        _check(evaluation_content(found, found.scored, found.roc.asked_), document)
        return found


def _nested(document: dict[str, Any], **parts: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return a document with the keys of a part in an object of their own."""
    ((name, kind),) = parts.items()
    own = set(kind.__struct_fields__) & document.keys()
    rest = {key: value for key, value in document.items() if key not in own}
    return {**rest, name: {key: document[key] for key in own}}


def _check(content: Mapping[str, Any], document: dict[str, Any]) -> None:
    """Refuse a document that says anything else than what its own numbers say."""
    refuse_others(document, json.loads(json.dumps(content, default=methodcaller("tolist"))))


def write_quantiles(
    found: Quantiles,
    path: Path,
    *,
    grids: Mapping[str, LinearGrid | LogGrid],
    recipe: dict[str, Any],
) -> None:
    """Write quantiles."""
    document = {
        "columns": found.names,
        "grids": {name: grid_content(grids.get(name)) for name in found.names},
        "shares": found.shares,
        "quantiles": found.values,
        "standard_errors": found.errors,
        "recipe": recipe_content(recipe),
        **guarantee_content(found.privacy),
    }
    write_release(path, "nolook-quantiles", 1, document)


def write_roc(
    curve: ROCCurve, path: Path, *, scored: Scored, thresholds: Sequence[float] = ()
) -> None:
    """Write a ROC curve, only where it changes, and how rows are classified at some thresholds.

    Null stands for an infinite threshold, and for what is not known.
    """
    write_release(path, "nolook-roc", 2, roc_content(curve, scored, thresholds))


def roc_content(curve: ROCCurve, scored: Scored, thresholds: Sequence[float]) -> dict[str, Any]:
    """Return everything a file says of a ROC curve."""
    return {
        **scored.content(),
        **curve_content(curve, thresholds),
        "caution": curve.caution,
        "recipe": recipe_content(curve.recipe_),
        **guarantee_content(curve.privacy_),
    }


def write_calibration(test: HosmerLemeshow, path: Path, *, scored: Scored) -> None:
    """Write the groups of a calibration and the test."""
    write_release(path, "nolook-calibration", 2, calibration_file_content(test, scored))


def calibration_file_content(test: HosmerLemeshow, scored: Scored) -> dict[str, Any]:
    """Return everything a file says of a calibration."""
    return {
        **scored.content(),
        **calibration_content(test),
        **rows_content(test),
        "caution": test.caution,
        "recipe": recipe_content(test.recipe_),
        **guarantee_content(test.privacy_),
    }


def write_evaluation(
    found: Evaluation, path: Path, *, scored: Scored, thresholds: Sequence[float] = ()
) -> None:
    """Write what was found of a model, whose file `scored` names as the score.

    Null stands for the calibration of a model that gives no probabilities.
    """
    write_release(path, "nolook-evaluation", 2, evaluation_content(found, scored, thresholds))


def evaluation_content(
    found: Evaluation, scored: Scored, thresholds: Sequence[float]
) -> dict[str, Any]:
    """Return everything a file says of an evaluation."""
    judged = JudgedModel.of(found.model)
    test = found.calibration
    return {
        "model": scored.score,
        "method": judged.method,
        "model_privacy": None if judged.privacy is None else judged.privacy.to_dict(),
        "label": scored.target,
        "positive": scored.positive,
        "other_rows": found.other_rows,
        "curve": curve_content(found.roc, thresholds),
        "calibration": None if test is None else calibration_content(test),
        "n_rows": found.n_rows,
        "n_rows_error": found.n_rows_error,
        "cautions": found.cautions,
        "recipe": recipe_content(found.roc.recipe_),
        **guarantee_content(found.privacy),
    }
