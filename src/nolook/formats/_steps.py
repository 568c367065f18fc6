"""Long lists of counts in a file: only where they change, and the noise in them."""

from __future__ import annotations

import math
from typing import Annotated, Any, TypeAlias

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from nolook.algorithms.count_noise import ForestNoise
from nolook.algorithms.distribution import PrivateDistribution
from nolook.algorithms.forest import forest_of
from nolook.formats.strict import Broken, Content

__all__ = ["Counted", "Steps", "counted_content", "noise_content", "steps_content"]

_Variance = Annotated[float, Meta(ge=0)]
_Place = Annotated[int, Meta(ge=0)]

Vector: TypeAlias = NDArray[np.float64]


class Steps(Content, frozen=True):
    """Numbers that stay the same for a while: 0 at first, then these values from these places."""

    places: list[_Place]
    values: list[float]

    def __post_init__(self) -> None:
        if len(self.places) != len(self.values) or (np.diff(self.places) < 1).any():
            raise Broken("expected a value for each of places, which increase")

    def numbers(self, length: int) -> Vector:
        """Return so many numbers."""
        if self.places and self.places[-1] >= length:
            raise Broken("expected places within the grid")
        reach = np.diff([0, *self.places, length])
        return np.repeat(np.array([0.0, *self.values]), reach)


def steps_content(numbers: Vector) -> dict[str, Any]:
    """Return what a file says of numbers."""
    places = np.flatnonzero(np.diff(numbers, prepend=0.0))
    return {"places": places, "values": numbers[places]}


class _Noise(Content, frozen=True):
    """The noise of a forest's blocks."""

    rows_variance: _Variance
    lengths: list[int]
    block_variance: _Variance

    def noise(self, points: int) -> ForestNoise:
        """Return the noise of the counts up to each of this number of thresholds."""
        forest = forest_of(points, self.lengths)
        return ForestNoise(forest, self.block_variance, self.rows_variance)


class Counted(Content, frozen=True):
    """Private counts up to thresholds."""

    counts: Steps
    noise: _Noise

    def distribution(self, points: Vector) -> PrivateDistribution:
        """Return the distribution on these thresholds."""
        counts = self.counts.numbers(len(points))
        if not counts[-1] >= 1.0:
            raise Broken("expected counts that end with at least 1")
        return PrivateDistribution(points, counts, float(counts[-1]), self.noise.noise(len(points)))


def counted_content(found: PrivateDistribution) -> dict[str, Any]:
    """Return what a file says of a distribution on thresholds that it has elsewhere."""
    noise = {**noise_content(found.noise), "rows_variance": found.noise.rows_variance}
    if not math.isclose(found.rows, found.counts[-1]):
        raise ValueError("the last count is the number of rows")
    return {"counts": steps_content(found.counts), "noise": noise}


def noise_content(noise: ForestNoise) -> dict[str, Any]:
    """Return what a file says of noise, but for that of the number of rows."""
    return {"lengths": noise.forest.lengths, "block_variance": noise.block_variance}
