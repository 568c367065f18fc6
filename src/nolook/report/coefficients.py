"""The coefficients of a model as a report shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from nolook.estimators.base import PrivateRegressor
    from nolook.report.wording import Ends

__all__ = ["Coefficient", "coefficients"]


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One coefficient and its interval, if the method estimates one.

    `value` and `ends` are in units of the target per unit of the column; `effect` and
    `effect_ends` are the same times the column's scale, in units of the target.
    """

    name: str
    value: float
    ends: Ends | None
    effect: float
    effect_ends: Ends | None

    @property
    def clear(self) -> bool | None:
        """Whether the interval leaves out 0; None if there is none."""
        return None if self.ends is None else self.ends[0] > 0 or self.ends[1] < 0


def coefficients(model: PrivateRegressor) -> tuple[Coefficient, ...]:
    """List the coefficients of a fitted model in the order of its columns."""
    scale = model.scaling_.scale[:-1]
    ends: list[Ends | None] = [None] * len(scale)
    effect_ends = ends
    with np.errstate(over="ignore"):
        effects = np.nan_to_num(model.coef_ * scale)
        if model.coef_interval_ is not None:
            ends = _pairs(model.coef_interval_)
            effect_ends = _pairs(np.nan_to_num(model.coef_interval_ * scale[:, None]))
    columns = (model.scaling_.names[:-1], model.coef_.tolist(), ends, effects.tolist(), effect_ends)
    return tuple(Coefficient(*one) for one in zip(*columns, strict=True))


def _pairs(ends: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> list[Ends | None]:
    return [(low, high) for low, high in ends.tolist()]
