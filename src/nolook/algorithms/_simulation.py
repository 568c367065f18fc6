"""Random numbers for simulations after a release.

These numbers protect nothing: they are drawn from a fixed seed, so that the same release always
leads to the same intervals. Noise for privacy comes from ``privacy.noise`` only.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

Generator: TypeAlias = np.random.Generator  # noqa: TID251 -- see above


def simulation_generator() -> Generator:
    """Return a generator that always starts from the same state."""
    return np.random.Generator(np.random.PCG64(20_240_229))  # noqa: TID251
