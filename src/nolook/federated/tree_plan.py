"""How the epsilon of a batch is split: curves with the noise of binary trees, under replacement."""

from __future__ import annotations

from dataclasses import dataclass

from nolook.algorithms.ecdf import SMALLEST_SHARE
from nolook.algorithms.hosmer_lemeshow import BORDERS_SHARE
from nolook.privacy.budgets import split, too_small
from nolook.privacy.guarantee import PureEvent
from nolook.statistics.cell_counts import cell_counts_sensitivity

__all__ = ["TreePlan", "tree_plan"]

_ROWS_SHARE = 0.05  # of epsilon, for the number of positive rows
# Below, the noise of a group's sum could exceed what the sampler draws.
_SMALLEST_OF_GROUPS = 2.0**-17


@dataclass(frozen=True, slots=True)
class TreePlan:
    """What the answers to a batch cost: fixed without any report."""

    tree: PureEvent  # the counts up to each threshold, of all curves
    rows: PureEvent | None = None  # the number of positive rows, for an ROC curve
    sums: PureEvent | None = None  # the sums of each group, for a calibration

    def events(self) -> tuple[PureEvent, ...]:
        """State everything that will be released."""
        return tuple(each for each in (self.rows, self.tree, self.sums) if each is not None)

    @property
    def group_epsilon(self) -> float:
        """What the sums of one group cost when a row is added or removed."""
        if self.sums is None:
            raise TypeError("only a calibration has groups")
        return self.sums.epsilon / cell_counts_sensitivity("replace")


def tree_plan(kind: str, epsilon: float) -> TreePlan:
    """Split an epsilon for a kind of batch; a ParameterError if it is too small for any noise."""
    one_curve = "counts up to each threshold"
    if kind == "ecdf":
        plan = TreePlan(PureEvent(one_curve, *split(epsilon)))
    elif kind == "roc":
        if epsilon * _ROWS_SHARE < SMALLEST_SHARE:
            raise too_small(epsilon)
        rows, curves = split(epsilon, _ROWS_SHARE)
        plan = TreePlan(
            PureEvent("counts of each class up to each threshold", curves),
            PureEvent("number of rows of the positive class", rows),
        )
    else:
        if epsilon < _SMALLEST_OF_GROUPS:
            raise too_small(epsilon)
        borders, sums = split(epsilon, BORDERS_SHARE)
        plan = TreePlan(
            PureEvent(one_curve, *split(borders)), sums=PureEvent("sums of each group", sums)
        )
    if plan.tree.epsilon < SMALLEST_SHARE:
        raise too_small(epsilon)
    return plan
