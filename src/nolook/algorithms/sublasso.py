"""Private feature selection by votes of Lasso models on random blocks (SubLasso).

Every record draws a block; each block's Lasso model votes for its largest coefficients; the
features with most votes are drawn by the exponential mechanism, one after the other. The algorithm
is that of Kifer et al. (2012) as given by Dick et al. (2023, Algorithm 2), but for the blocks. The
proof is ``sublasso.md``.

============  ===========================================================================
name here     the paper's letter, or what it means
============  ===========================================================================
``k``         k: number of features, and of votes a block has
``m``         m: number of blocks
``penalty``   of the blocks' models, see :func:`nolook.kernels.block_lasso.lasso_models`
``votes``     V: for each feature the number of blocks that vote for it
============  ===========================================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nolook.algorithms.tukey import rows_bound
from nolook.errors import ParameterError
from nolook.kernels.block_lasso import arrange_blocks, block_votes
from nolook.privacy.guarantee import PureEvent
from nolook.privacy.mechanisms.exponential import exponential_choice
from nolook.privacy.noise import ByteSource, uniform_integers
from nolook.tables import Table

__all__ = [
    "MOST_MODELS",
    "VOTES_SENSITIVITY",
    "LassoPlan",
    "choose_blocks",
    "lasso_plan",
    "lasso_selection",
]

#: A record changes one block's votes, and by them each count by at most one.
VOTES_SENSITIVITY = 1
MOST_MODELS = 2**20

_ROWS_SHARE = 0.05  # of epsilon, for the bound on the number of rows
_ROOM = 1.0 - 2.0**-40  # for the rounding of the shares' sum
# Below, no table could sway a choice.
_SMALLEST_SHARE = 2.0**-40
# More epsilon for one choice would change nothing but the size of numbers.
_LARGEST_SHARE = 2.0**10

_ROWS_WANTED = 25  # rows a block
_NOISE_WANTED = 16  # blocks, in units of the noise of a count
_BLOCKS_WANTED = 100  # blocks, where there is hardly any noise


@dataclass(frozen=True, slots=True)
class LassoPlan:
    """How a budget is split, fixed without the data.

    Parameters
    ----------
    rows : PureEvent or None
        The bound on the number of rows, if the number of blocks depends on it.
    choices : tuple of PureEvent
        One for each feature to choose.
    """

    rows: PureEvent | None
    choices: tuple[PureEvent, ...]

    def events(self) -> tuple[PureEvent, ...]:
        """State everything that will be released."""
        return self.choices if self.rows is None else (self.rows, *self.choices)


def lasso_plan(k: int, epsilon: float, *, auto: bool) -> LassoPlan:
    """Split a budget over k choices.

    Parameters
    ----------
    k : int
    epsilon : float
    auto : bool
        Whether the number of blocks depends on a private bound on the number of rows.

    Returns
    -------
    LassoPlan

    Raises
    ------
    ParameterError
        If the budget is too small for any choice.
    """
    share = (1.0 - _ROWS_SHARE * auto) * epsilon / k * _ROOM
    if share < _SMALLEST_SHARE:
        raise ParameterError(
            f"epsilon is {epsilon!r} for {k} choices; expected more (each would be plain chance)"
        )
    rows = PureEvent("number of rows", _ROWS_SHARE * epsilon) if auto else None
    return LassoPlan(rows, tuple(PureEvent(f"feature {i + 1} of {k}", share) for i in range(k)))


def choose_blocks(bound: int, plan: LassoPlan) -> int:
    """Choose the number of blocks from the private bound on the number of rows.

    A block for every 25 rows; but no more than 100, or 16 times the noise of a count if that is
    more: beyond, larger blocks are a better use of rows.

    Parameters
    ----------
    bound : int
    plan : LassoPlan

    Returns
    -------
    int
    """
    noise = 2 * VOTES_SENSITIVITY / plan.choices[0].epsilon
    enough = max(math.ceil(_NOISE_WANTED * noise), _BLOCKS_WANTED)
    return min(max(bound // _ROWS_WANTED, 1), enough, MOST_MODELS)


def lasso_selection(
    table: Table,
    plan: LassoPlan,
    m: int | None,
    penalty: float,
    source: ByteSource,
    step: Callable[[str], None],
) -> tuple[list[int], int]:
    """Choose features.

    Parameters
    ----------
    table : Table
        With a target, and more features than choices.
    plan : LassoPlan
    m : int or None
        Number of blocks; None if the plan has a bound on the number of rows for it.
    penalty : float
    source : ByteSource
    step : callable
        Is told of each of ``len(plan.events()) + 1`` steps.

    Returns
    -------
    chosen : list of int
        Distinct features in the order of their choice.
    m : int
        The number of blocks.
    """
    if m is None:
        if plan.rows is None:
            raise ValueError("no number of blocks, and no way to find one")
        m = choose_blocks(rows_bound(table, plan.rows.epsilon, source, step), plan)
    step("models")
    votes = _count_votes(table, m, penalty, len(plan.choices), source)
    left = list(range(votes.size))
    chosen: list[int] = []
    for event in plan.choices:
        step(event.name)
        epsilon = min(event.epsilon, _LARGEST_SHARE)
        place = exponential_choice(votes[left], VOTES_SENSITIVITY, epsilon, source)
        chosen.append(left.pop(place))
    return chosen, m


def _count_votes(
    table: Table, m: int, penalty: float, k: int, source: ByteSource
) -> NDArray[np.int64]:
    """Let each record draw its block, and count the blocks' votes."""
    batches = [np.empty((table.n_columns, 0)), *table.batches()]
    blocks = [uniform_integers(m, batch.shape[1], source) for batch in batches]
    rows, starts = arrange_blocks(batches, blocks, m)
    del batches
    return block_votes(rows, starts, penalty, k)
