"""Amin, Joseph, Ribero and Vassilvitskii: Easy Differentially Private Linear Regression (2023)."""

from __future__ import annotations

from papers.amin2023.adassp import OracleAdaSSPRegressor
from papers.amin2023.dpsgd import DPSGDRegressor
from papers.amin2023.tukey import PublishedTukeyRegressor, RawTukeyRegressor

__all__ = [
    "DPSGDRegressor",
    "OracleAdaSSPRegressor",
    "PublishedTukeyRegressor",
    "RawTukeyRegressor",
]
