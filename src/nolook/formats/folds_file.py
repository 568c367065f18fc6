"""A cross-validation as a JSON file, and back; its models have files of their own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta

from nolook.algorithms.cross_validation import Estimate
from nolook.estimators.folds import CrossValidation
from nolook.formats.files import write_release
from nolook.formats.parts import Recipe, Release, guarantee_content, recipe_content
from nolook.formats.strict import Broken, Content, convert, refuse_others

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FoldsFile", "write_folds"]


class _Score(Content, frozen=True):
    """A score with its noise; the interval follows."""

    value: Annotated[float, Meta(le=1)]
    error: Annotated[float, Meta(ge=0)]
    interval: tuple[float, float]

    def estimate(self) -> Estimate:
        """Return the score."""
        return Estimate(self.value, self.error)


class _Fold(Content, frozen=True):
    """Whether there is a model, and what follows of it from the release."""

    fitted: bool
    score: _Score | None

    def __post_init__(self) -> None:
        if self.score is not None and not self.fitted:
            raise Broken("expected no score of a fold without a model")


class FoldsFile(Release, frozen=True):
    """How well models did on rows they had not seen."""

    measure: Literal["R2", "AUC"]
    method: str
    target: str
    folds: Annotated[list[_Fold], Meta(min_length=2)]
    mean: _Score | None
    n_rows: Annotated[float, Meta(ge=1)] | None
    n_rows_error: Annotated[float, Meta(ge=0)] | None
    recipe: Recipe

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.n_rows is None) != (self.n_rows_error is None):
            raise Broken("expected n_rows and n_rows_error, or neither")

    @classmethod
    def read(cls, document: dict[str, Any]) -> CrossValidation:
        """Return the cross-validation, without its models."""
        file = convert(document, cls)
        scores = [fold.score for fold in file.folds]
        found = CrossValidation(
            file.measure,
            tuple(fold.fitted for fold in file.folds),
            tuple(None if score is None else score.estimate() for score in scores),
            file.n_rows,
            file.n_rows_error,
            (),
            (),
            file.guarantee(),
            file.method,
            file.target,
            file.recipe.options(),
        )
        refuse_others(document, json.loads(json.dumps(_content(found))))
        return found


def write_folds(found: CrossValidation, path: Path) -> None:
    """Write what was found of each fold, and the mean."""
    write_release(path, "nolook-cross-validation", 1, _content(found))


def _content(found: CrossValidation) -> dict[str, Any]:
    """Return everything a file says of a cross-validation."""
    folds = zip(found.fitted, found.estimates, strict=True)
    return {
        "measure": found.measure,
        "method": found.method,
        "target": found.target,
        "folds": [{"fitted": fitted, "score": _score(score)} for fitted, score in folds],
        "mean": _score(found.mean),
        "n_rows": found.n_rows,
        "n_rows_error": found.n_rows_error,
        "recipe": recipe_content(found.recipe),
        **guarantee_content(found.privacy),
    }


def _score(found: Estimate | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {"value": found.value, "error": found.error, "interval": list(found.interval)}
