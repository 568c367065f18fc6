"""Swope, Khanna, Doldo, Roy and Raff: Feature Selection from DP Correlations (2024)."""

from __future__ import annotations

from papers.swope2024.classes import published_law
from papers.swope2024.screening import PublishedSISSelector, published_scores

__all__ = ["PublishedSISSelector", "published_law", "published_scores"]
