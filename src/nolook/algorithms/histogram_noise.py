"""The noise on every bin of a histogram, and what sums of it hardly ever pass."""

from __future__ import annotations

import numpy as np
from attrs import frozen

from nolook._arrays import Places, Vector

__all__ = ["BinNoise"]

#: Where a Chernoff bound is looked for, in units of where the Laplace law has no moments any more.
_PLACES = np.linspace(0.001, 0.999, 999)[:, np.newaxis]


@frozen
class BinNoise:
    """Independent noise of mean 0 on every bin.

    Parameters
    ----------
    deviation : float
        Of one bin, in rows; positive.
    laplace : bool, default=False
        Whether the law is Laplace's and not normal.
    """

    deviation: float
    laplace: bool = False

    def surely(self, bins: Places, sure: float) -> Vector:
        """Return a bound: sums over n bins pass it as rarely as a normal number `sure` deviations.

        For Laplace noise by the Chernoff bound that gives exactly that for a normal number: one bin
        is often further away than many deviations, which many bins together are not.
        """
        if not self.laplace:
            return self.deviation * sure * np.sqrt(bins)
        bound = (sure**2 / 2.0 - bins * np.log1p(-(_PLACES**2))) / _PLACES
        return np.asarray(bound.min(axis=0) * (self.deviation / np.sqrt(2.0)))

    def farthest(self, counts: Vector, sure: float, longest: int) -> int | None:
        """Return the last bin of the farthest run that stands out, the shortest where one starts.

        Of up to `longest` bins together, which may stand out where none of them does. None if
        nothing does.
        """
        below = np.append(0.0, np.cumsum(counts))
        # A run that ends beyond the last bin stands out only if a shorter one does.
        ends = np.arange(counts.size)[:, np.newaxis] + np.arange(longest) + 1
        sums = below[np.minimum(ends, counts.size)] - below[:-1, np.newaxis]
        shown = sums > self.surely(np.arange(longest) + 1, sure)
        first = np.flatnonzero(shown.any(axis=1))
        return int(first[-1] + shown[first[-1]].argmax()) if first.size else None
