"""Rows of bounded norm by public scales, as papers presume them; nolook finds scales itself."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from attrs import evolve, frozen

from nolook._arrays import Vector
from nolook.algorithms.bounded_design import BoundedDesign
from nolook.algorithms.scaling import Scaling
from nolook.privacy.guarantee import GaussianEvent
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import OnStep
from nolook.tables import Table

__all__ = ["PublicDesign", "public_scaling"]


def public_scaling(names: tuple[str, ...], scale: Vector | float, limit: float) -> Scaling:
    """Return a scaling that was not found in any table: centre 0, public positive scales."""
    scales = np.broadcast_to(np.asarray(scale, dtype=np.float64), (len(names),)).copy()
    return Scaling(names, np.zeros(len(names)), scales, np.ones(len(names), dtype=np.bool_), limit)


@frozen
class PublicDesign:
    """A design of public scales and a public norm. Releases nothing."""

    scale_x: float  # of every feature
    scale_y: float  # of the target
    norm: float  # B_x, at least 1
    unit: int  # grid of the rows, a power of two up to UNIT

    #: 0: it announces none.
    progress_steps: ClassVar[int] = 0

    def events(self) -> tuple[GaussianEvent, ...]:
        """Releases nothing."""
        return ()

    def run(self, table: Table, source: ByteSource, progress: OnStep) -> BoundedDesign:  # noqa: ARG002
        """Return the design for a table's columns; those of 0 and 1 by type stay in that range."""
        scale = np.full(table.n_columns, self.scale_x)
        scale[-1] = self.scale_y
        scaling = evolve(public_scaling(table.column_names, scale, math.inf), binary=table.binary)
        return BoundedDesign(scaling, math.floor((self.norm * self.unit) ** 2), self.unit)
