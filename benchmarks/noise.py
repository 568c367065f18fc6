"""Draws a second of each sampler on one core, and how many times those of OpenDP that is.

Run with `python -m benchmarks.noise`. Both libraries draw from the operating system's entropy.
"""

from __future__ import annotations

import numpy as np
import opendp.prelude as opendp

from benchmarks.harness import main, seconds
from nolook.privacy.noise import (
    SystemEntropy,
    discrete_laplace,
    geometric,
    report_noisy_max_gumbel,
    rounded_gaussian,
    uniform_integers,
)

OURS = 1_000_000
THEIRS = 20_000


def rate(run, n):
    """Draws a second, the best of three runs."""
    return n / min(seconds(lambda: run(n)) for _ in range(3))


def opendp_rates(scale):
    """Draws a second of OpenDP's discrete Laplace and discrete Gaussian noise."""
    domain = opendp.vector_domain(opendp.atom_domain(T=int))
    laplace = opendp.m.make_laplace(domain, opendp.l1_distance(T=int), scale=scale)
    gaussian = opendp.m.make_gaussian(domain, opendp.l2_distance(T=float), scale=scale)
    return [rate(lambda n, run=run: run([0] * n), THEIRS) for run in (laplace, gaussian)]


def report():
    """Yield the lines of the table."""
    opendp.enable_features("contrib")
    source = SystemEntropy()
    yield f"{'sampler':<20}{'scale':>8}{'draws a second':>16}{'times OpenDP':>14}"
    for scale in (0.5, 3.7, 1e6, 1e12):
        laplace, gaussian = opendp_rates(scale)
        for sampler, peer in (
            (geometric, None),
            (discrete_laplace, laplace),
            (rounded_gaussian, gaussian),
        ):
            ours = rate(lambda n, draw=sampler, s=scale: draw(s, n, source), OURS)
            ratio = f"{ours / peer:.0f}" if peer else "-"
            yield f"{sampler.__name__:<20}{scale:>8g}{ours:>16.2e}{ratio:>14}"
    scores = np.arange(OURS) % 1000
    ours = rate(lambda n: report_noisy_max_gumbel(scores[:n], 50.0, source), OURS)
    yield f"{'noisy max, a score':<20}{50.0:>8g}{ours:>16.2e}{'-':>14}"
    ours = rate(lambda n: uniform_integers(1000, n, source), OURS)
    yield f"{'uniform_integers':<20}{'-':>8}{ours:>16.2e}{'-':>14}"


if __name__ == "__main__":
    main(report, __doc__)
