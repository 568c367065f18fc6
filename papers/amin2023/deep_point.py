"""A point drawn by the Tukey mechanism among any set of models."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from nolook._validation import check_choice
from nolook.privacy.mechanisms.tukey_depth import tukey_release
from nolook.privacy.noise import byte_source
from papers.amin2023.models import mechanism_rule
from papers.amin2023.tukey import RAW_GRID
from papers.amin2023.tukey_em import LEMMAS, Lemma, published_tukey

__all__ = ["VERSIONS", "deep_point"]

Vector = NDArray[np.float64]

#: Versions of the mechanism: for rows, and as published with Lemma 3.6 or Lemma 9.5.
VERSIONS = ("rows", *LEMMAS)


def deep_point(
    models: Vector,
    epsilon: float,
    delta: float,
    version: str = "rows",
    random_state: int | None = None,
) -> Vector | None:
    """Draw a point deep among models, or return None if the private test fails.

    Guarantee
    ---------
    (`epsilon`, `delta`)-DP where one model is replaced, for ``version="rows"``. The published
    versions are not private (`README.md`).

    Parameters
    ----------
    models : ndarray of shape (m, d)
    epsilon, delta : float
    version : {"rows", "2022", "2023"}, default="rows"
    random_state : int, optional
        For reproduction; the result is then not private.

    Returns
    -------
    ndarray of shape (d,), or None

    Examples
    --------
    >>> models = np.random.default_rng(0).normal([3.0, -1.0], 1.0, (1000, 2))
    >>> np.round(deep_point(models, 2.0, 1e-5, random_state=0))
    array([ 3., -1.])
    """
    check_choice("version", version, VERSIONS)
    source, points = byte_source(random_state), RAW_GRID.round(models)
    if version == "rows":
        point = tukey_release(points, mechanism_rule(len(models), epsilon, delta), source)
    else:
        point = published_tukey(points, epsilon, delta, cast("Lemma", version), source)
    return None if point is None else RAW_GRID.values(point)
