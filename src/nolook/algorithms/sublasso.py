"""Private feature selection by votes of Lasso models on random blocks (SubLasso).

Every row draws a block, or every unit with all its rows; each block's Lasso model votes for its
largest coefficients; the features with most votes are drawn, one after the other. The algorithm is
that of Kifer et al. (2012) as given by Dick et al. (2023, Algorithm 2), except for the blocks. The
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
from typing import ClassVar

import numpy as np
from attrs import frozen

from nolook.algorithms.per_unit_sampling import rows_in_blocks
from nolook.algorithms.selection_plan import Choices, Selected, Selection, peel
from nolook.kernels.block_lasso import arrange_blocks, block_votes
from nolook.privacy.guarantee import PureEvent
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import OnStep
from nolook.privacy.sampling import SAMPLING_UNIT
from nolook.tables import Table

__all__ = ["MOST_MODELS", "VOTES_SENSITIVITY", "LassoSelection", "choose_blocks", "lasso_selection"]

#: A row, or a unit in one block with all its rows, changes one block's votes, and so each count by
#: at most one.
VOTES_SENSITIVITY = 1
MOST_MODELS = 2**20

_ROWS_WANTED = 25  # rows a block
_NOISE_WANTED = 16  # blocks, in units of the noise of a count
_BLOCKS_WANTED = 100  # blocks, where there is hardly any noise


@frozen
class LassoSelection(Selection):
    """SubLasso: features that the Lasso models of many random blocks vote for.

    Guarantee: that of :class:`Selection`.

    Parameters
    ----------
    budget, k, rows, scales, features, chances
        As of :class:`Selection`.
    blocks : int or None
        m; None if it depends on the bound on the number of rows.
    penalty : float
    """

    blocks: int | None
    penalty: float

    in_blocks: ClassVar[bool] = True

    def choose(self, table: Table, bound: int, source: ByteSource, progress: OnStep) -> Selected:
        """Choose k features."""
        progress("features")
        k, features, chances = self.k, self.features, self.chances
        share = features.epsilon / (k if isinstance(features, PureEvent) else 1)
        m = self.blocks or choose_blocks(bound * chances // SAMPLING_UNIT, share)
        chosen = lasso_selection(table, k, features, m, self.penalty, source, chances)
        return Selected(tuple(chosen), m)


def choose_blocks(bound: int, share: float) -> int:
    """Choose the number of blocks from the private bound on the number of rows.

    `share` is the epsilon of one choice. A block for every 25 rows; but no more than 100, or 16
    times the noise of a count if that is more: beyond, rows are better used in larger blocks.
    """
    noise = 2 * VOTES_SENSITIVITY / share
    enough = max(math.ceil(_NOISE_WANTED * noise), _BLOCKS_WANTED)
    return min(max(bound // _ROWS_WANTED, 1), enough, MOST_MODELS)


def lasso_selection(
    table: Table,
    k: int,
    features: Choices,
    m: int,
    penalty: float,
    source: ByteSource,
    chances: int = SAMPLING_UNIT,
) -> list[int]:
    """Choose features, in the order of choice, at the cost `features`, by the rows that are kept.

    Each unit draws its block, and each block votes for k features.
    """
    batches, weights = [np.empty((table.n_columns, 0))], [np.empty((1, 0))]
    blocks = [np.empty(0, dtype=np.int64)]
    for batch, own, places in rows_in_blocks(table, m, source, chances):
        batches.append(batch)
        blocks.append(places)
        weights.append(np.ones((1, places.size)) if own is None else own[None].astype(np.float64))
    rows, starts = arrange_blocks(batches, blocks, m)
    del batches
    arranged, _ = arrange_blocks(weights, blocks, m)
    votes = block_votes(rows, starts, penalty, k, arranged[:, 0])
    chosen: list[int] = peel(features, votes, k, VOTES_SENSITIVITY, source).tolist()
    return chosen
