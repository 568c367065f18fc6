"""Amin, Joseph, Ribero and Vassilvitskii: Easy Differentially Private Linear Regression (2023)."""

from __future__ import annotations

from papers.amin2023.adassp import OracleAdaSSPRegressor
from papers.amin2023.deep_point import deep_point
from papers.amin2023.dpsgd import DPSGDRegressor
from papers.amin2023.models import distances, log_volumes, model_depths
from papers.amin2023.tukey import PublishedTukeyRegressor, RawTukeyRegressor

__all__ = [
    "DPSGDRegressor",
    "OracleAdaSSPRegressor",
    "PublishedTukeyRegressor",
    "RawTukeyRegressor",
    "deep_point",
    "distances",
    "log_volumes",
    "model_depths",
]
