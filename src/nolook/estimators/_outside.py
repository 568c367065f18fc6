"""Warnings about steps of scikit-learn around a private fit that its guarantee does not cover.

The caller is found on the call stack, so nothing about rows is remembered and no warning is wrong.
What happens elsewhere, a step fitted beforehand or rows scored later, cannot be seen.
"""

from __future__ import annotations

import sys
import weakref
from contextlib import suppress
from traceback import walk_stack
from types import CodeType, FrameType
from typing import Any

from sklearn.utils import get_tags

from nolook.errors import OutsideGuarantee
from nolook.estimators.releasing import of_library, warn_user

_SILENCE = "silence: warnings.simplefilter('ignore', nolook.OutsideGuarantee)"

#: The rows an estimator was last fitted to, while both live; never in a file.
_FITTED: weakref.WeakKeyDictionary[Any, weakref.ref[Any]] = weakref.WeakKeyDictionary()

#: Where scikit-learn fits what it is given more than once, or chooses by scores of rows.
_SEVERAL = tuple(
    f"sklearn.{module}"
    for module in ("model_selection", "calibration", "ensemble", "feature_selection._rfe", "multi")
)

#: The lines of the user's code, while it lives, where searches were told of: their many fits,
#: around which scikit-learn forgets what was said before, are told of once. A notebook's next cell
#: is other code, whatever it is called.
_SAID: weakref.WeakKeyDictionary[CodeType, set[int]] = weakref.WeakKeyDictionary()


def warn_of_caller() -> None:
    """Warn if scikit-learn fits repeatedly, or a pipeline with other steps fits, on the stack."""
    search: FrameType | None = None
    pipelines: list[object] = []
    for frame, _ in walk_stack(sys._getframe(1)):
        module = frame.f_globals.get("__name__", "")
        if module == "nolook.estimators.releasing":
            return  # a part of a release, which was told of already
        if module.startswith(_SEVERAL):
            search = frame
        if module == "sklearn.pipeline" and frame.f_locals.get("self") not in pipelines:
            pipelines.append(frame.f_locals.get("self"))
    said, line = (set(), 0) if search is None else _place(search)
    if line in said:
        return
    for pipeline in pipelines:
        _warn_of_steps(pipeline)
    if search is not None:
        _warn(
            "scikit-learn may fit a private model several times: each fit spends its budget again, "
            "and scores of held-out rows are not private; use nolook.cross_validate, which "
            "validates within one budget, or a single fit"
        )
        # Not before: where warnings are errors each fit raises.
        said.add(line)


def _place(search: FrameType) -> tuple[set[int], int]:
    """Return the lines told of in the code that a search was called from, and the line of that."""
    caller = next((each for each, _ in walk_stack(search) if not of_library(each)), search)
    return _SAID.setdefault(caller.f_code, set()), caller.f_lineno


def note_rows(estimator: Any, X: object) -> None:  # noqa: ANN401
    """Note which object an estimator was fitted to, if it can be told from others later."""
    _FITTED.pop(estimator, None)
    with suppress(TypeError):  # lists, for example
        _FITTED[estimator] = weakref.ref(X)


def warn_of_score(estimator: Any, X: object) -> None:  # noqa: ANN401
    """Warn if rows to be scored are the object that the estimator was fitted to."""
    known = _FITTED.get(estimator)
    if X is not None and known is not None and known() is X:
        _warn(
            "score() on the rows of the fit is not private and not charged; use public rows (or "
            "r2_ or auc_, part of some fits, or nolook.cross_validate)"
        )


def _warn_of_steps(pipeline: object) -> None:
    """Warn of steps before a private one that learn from rows without privacy."""
    steps = [step for _, step in getattr(pipeline, "steps", ())]
    last = max((place for place, step in enumerate(steps) if _private(step)), default=0)
    for step in steps[:last]:
        if _learns(step) and not _private(step):
            _warn(
                f"{type(step).__name__} is fitted to the rows without privacy before a private "
                "model, whose guarantee does not cover what that step learns (leave it out; "
                "private models standardise by themselves; nolook.PrivatePipeline selects "
                "columns)"
            )


def _private(step: object) -> bool:
    return any(kind.__module__.startswith("nolook.") for kind in type(step).__mro__)


def _learns(step: Any) -> bool:  # noqa: ANN401
    """Tell whether a step keeps something of the rows that it is fitted to, as its tags say."""
    if step is None or isinstance(step, str):
        return False
    return not hasattr(step, "__sklearn_tags__") or bool(get_tags(step).requires_fit)


def _warn(message: str) -> None:
    warn_user(f"{message} ({_SILENCE})", OutsideGuarantee)
