"""Random numbers for simulations after a release.

These numbers protect nothing: they are drawn from a fixed seed, so that the same release always
leads to the same model and the same intervals. Noise for privacy comes from ``privacy.noise`` only.
"""

from __future__ import annotations

import numpy as np

__all__ = ["simulation_generator"]


def simulation_generator() -> np.random.Generator:
    """Return a generator that always starts from the same state."""
    return np.random.Generator(np.random.PCG64(20_240_229))
