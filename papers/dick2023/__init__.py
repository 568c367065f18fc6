"""Dick, Gillenwater and Joseph (2023): private feature selection before private regression.

What the paper compares with; its own selector is :class:`nolook.KendallSelector`.
"""

from __future__ import annotations

from papers.dick2023.boosted_adassp import UnscaledBoostedAdaSSPRegressor
from papers.dick2023.kendall import PublishedKendallSelector
from papers.dick2023.sublasso import PublishedLassoSelector, RawLassoSelector

__all__ = [
    "PublishedKendallSelector",
    "PublishedLassoSelector",
    "RawLassoSelector",
    "UnscaledBoostedAdaSSPRegressor",
]
