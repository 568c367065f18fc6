"""The releases common to all regressions: scales, spread, a bound on rows, and their Gram matrix.

A row is x = (1, z), z its columns standardised, clipped and whitened. It becomes u = f x with
f = min(1, B / |x|), and adds ``u f (y - m(theta'x))`` to the gradient: the mean m is that of the
whole row, and its weight is f^2. So whatever B is, the solution is the model of the population
where that model is true, and ``u u'`` is what the gradient's curvature is made of.

==============  =========================================================================
name here       meaning
==============  =========================================================================
``mu``          mu-GDP parameter of the whole, split by :meth:`Frame.shares`
``n~``          ``scaling.rows.value``, the released number of rows
``limit``       L, the number of scales features are clipped to
``norm``        B, bound on the norm of a row
``unit``        U, grid units in a scale
``size``        d, the number of features in the design plus one
==============  =========================================================================
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np
from attrs import evolve, field, frozen

from nolook._arrays import Flags, Matrix
from nolook.algorithms.curves import Curve
from nolook.algorithms.glm.additive import LEAST_WHOLE, Beginning
from nolook.algorithms.glm.designs import (
    Blocks,
    WeightedDesign,
    choose_unit,
    copy_room,
    limit_for,
    release_gram,
    release_spread,
    whitened_bound,
)
from nolook.algorithms.glm.families import LINEAR, Family
from nolook.algorithms.scaling import ScaleSearch, Scaling
from nolook.algorithms.whitening import Spread
from nolook.kernels.moments import UNIT
from nolook.privacy.budgets import row_share
from nolook.privacy.guarantee import GaussianEvent
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import GaussianRelease, OnStep
from nolook.tables import Table

__all__ = ["Frame", "NoisyFrame", "exposure_range"]

# Exposures are cut at this share of the usual one.
_LEAST_EXPOSURE = 1.0 / 64.0


@frozen(eq=False, kw_only=True)
class NoisyFrame:
    """The figures every regression releases of a table, in standardised units."""

    scaling: Scaling  # of all columns, the target last
    kept: Flags  # features in the design; the others have coefficient 0
    spread: Spread  # what rows are whitened by
    norm: float  # B; rows (1, x) have the weight f^2, f = min(1, B / |(1, x)|)
    gram: Matrix  # noisy sum of u u', the constant first, shape (d, d)
    gram_sigma: float  # deviation of the noise on its diagonal; smaller by sqrt(2) elsewhere
    curves: tuple[Curve | None, ...] = ()  # of those kept; none at all where all are lines
    squares: float = 1.0  # sum of squared survey weights over that of weights

    @property
    def units(self) -> tuple[float, float]:
        """Level and unit of a model's scores: those of the target."""
        return float(self.scaling.center[-1]), float(self.scaling.scale[-1])


@frozen
class Frame(GaussianRelease):
    """The common part of a regression's release.

    A family states in `COMMON` and `OWN` what each part costs, and releases its own in `run`, after
    `_begun`.

    Parameters
    ----------
    mu : float
        GDP parameter of the whole.
    straight : tuple of str or None
        Features that have lines only, where others may have curves; None if all have lines.
    exposure : str or None
        Feature that means are in proportion to; it has no slope of its own.
    """

    straight: tuple[str, ...] | None = field(default=None, kw_only=True)
    exposure: str | None = field(default=None, kw_only=True)

    #: Shares of mu^2 of the common parts. The scales' part counts the rows, too.
    COMMON: ClassVar[dict[str, float]]
    #: Shares of a family's own parts, and what these are called.
    OWN: ClassVar[dict[str, tuple[float, str]]]
    FAMILY: ClassVar[Family] = LINEAR
    #: Whether the target may be mostly one value.
    RARE_TARGET: ClassVar[bool] = False
    #: Rows may be longer than B, times as many as cost as much as the Gram matrix's noise.
    BEYOND: ClassVar[float] = 1.0
    #: ... but at most this share of all.
    MOST_BEYOND: ClassVar[float] = 0.75
    #: Progress steps of a family's own parts, at most.
    OWN_STEPS: ClassVar[int]

    @property
    def progress_steps(self) -> int:
        """Largest number of progress steps of `run`."""
        steps = len(self.COMMON) - 1 + (0 if self.straight is None else 3) + self.OWN_STEPS
        return self._scales().progress_steps + steps

    def events(self) -> tuple[GaussianEvent, ...]:
        """State everything that will be released; n draws of mu each are one of sqrt(n) mu."""
        return (*self._scales().events(), *self._parts())

    def _parts(self) -> tuple[GaussianEvent, ...]:
        """State what is released after the scales."""
        names = {
            "spread": "second moments of the features",
            "norms": "histogram of the whitened rows' norms",
            "gram": "second moments of the whitened features",
            **{part: name for part, (_, name) in self.OWN.items()},
        }
        if self.straight is not None:
            names["gradients"] = f"histograms for curves, their choice, {names['gradients']}"
        parts = (part for part in self.shares() if part in names)
        return tuple(GaussianEvent(names[part], self._mu(part)) for part in parts)

    def for_weights(self, part: float) -> Self:
        """Return the release of rows with survey weights, at a part of its mu."""
        return evolve(self, mu=row_share(part * self.mu, 1))

    def _scales(self) -> ScaleSearch:
        return ScaleSearch(self._mu("scales"), not self.FAMILY.bounded, self.RARE_TARGET)

    def shares(self) -> dict[str, float]:
        """Return the shares of mu^2 of all parts."""
        return self.COMMON | {part: share for part, (share, _) in self.OWN.items()}

    def _mu(self, part: str, draws: int = 1) -> float:
        return self.mu * math.sqrt(self.shares().get(part, 0.0) / draws)

    def _begun(
        self, table: Table, source: ByteSource, progress: OnStep
    ) -> tuple[NoisyFrame, Blocks]:
        """Release the common part; return it and the rows that all else is made of."""
        scaling, kept, blocks = self._designed(table, source, progress)
        progress("moments")
        design, weighting = blocks.design, table.unit.weighting
        gram, sigma = release_gram(blocks, self._mu("gram"), source)
        found = NoisyFrame(
            scaling=scaling,
            kept=kept,
            spread=design.spread,
            norm=design.norm,
            gram=gram,
            gram_sigma=sigma,
            curves=design.scaling.curves,
            squares=1.0 if weighting is None else weighting.squares,
        )
        return found, blocks

    def _designed(
        self, table: Table, source: ByteSource, progress: OnStep
    ) -> tuple[Scaling, Flags, Blocks]:
        """Release scales, spread and norms; return the scaling, what has slopes, and the rows."""
        scaling = self._scales().run(table, source, progress)
        table = table.filled(scaling.center)
        scaling = evolve(scaling, limit=limit_for(scaling.rows.value, self.mu))
        kept = scaling.detected[:-1] & scaling.detected[-1]
        exposed = np.array([name == self.exposure for name in table.feature_names], np.bool_)
        kept &= ~exposed
        placed, used = self._placed(scaling.select(kept)), table.select(kept)
        rows, exposure = table.select(kept | exposed), dict[str, Any]()
        if exposed.any():
            place = int(exposed.argmax())
            own = int(kept[:place].sum())
            exposure = {"exposed": own, "exposures": exposure_range(scaling, place)}
        spread = Spread.standard(placed.features.size)
        if "spread" in self.COMMON:
            progress("spread")
            spread = release_spread(used, placed, self._mu("spread"), source)
        begin = Beginning(self.FAMILY, rows, exposure, spread, self._mu("gradients"), source)
        if self.straight is not None and scaling.rows.value * self.mu >= LEAST_WHOLE:
            searched = ~np.isin(used.feature_names, self.straight)
            room = (scaling.rows.value * self._mu("gram")) ** (2.0 / 3.0)
            placed = begin.curved(placed, used, searched, room, progress)
        progress("norms")
        spread = spread.widened(placed.features.size)  # deviations from lines are not whitened
        # The noise grows with the square of B.
        size = len(spread.center) + 1
        few = self.BEYOND * size * math.sqrt(2 * size) / self._mu("gram")
        few = min(few, self.MOST_BEYOND * scaling.rows.value)
        bound = whitened_bound(used, placed, spread, few, self._mu("norms"), source)
        unit = choose_unit(math.sqrt(UNIT**2 + bound) / UNIT)
        squared = (UNIT**2 + bound) // (UNIT // unit) ** 2
        design = WeightedDesign(placed, squared, unit, spread, begin.theta, begin.rest, **exposure)
        blocks = Blocks(rows, design, copy_room(scaling, design.size, table.unit))
        return scaling, kept, blocks

    def _steps_mu(self, design: WeightedDesign) -> float:
        """Return the mu of all gradients together, but those that curves were chosen by."""
        return math.sqrt(design.rest) * self._mu("gradients")

    def _placed(self, scaling: Scaling) -> Scaling:
        """Return the scaling by which targets are standardised."""
        return scaling


def exposure_range(scaling: Scaling, place: int) -> tuple[float, float, float]:
    """Return the usual exposure, and between which two they are cut; all above 0."""
    center, high = float(scaling.center[place]), float(scaling.high[place])
    if not (scaling.detected[place] and center > 0.0):
        return 1.0, 1.0, 1.0
    return center, center * _LEAST_EXPOSURE, max(center, high)
