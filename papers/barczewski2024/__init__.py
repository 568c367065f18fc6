"""Barczewski, Mawass and Ramon: Differentially Private Empirical CDFs (2024)."""

from __future__ import annotations

from papers.barczewski2024.hosmer_lemeshow import chi_squared, hosmer_lemeshow
from papers.barczewski2024.roc import roc_rates
from papers.barczewski2024.tree import node_variance, tree_counts
from papers.barczewski2024.tree_smoothing import smooth

__all__ = ["chi_squared", "hosmer_lemeshow", "node_variance", "roc_rates", "smooth", "tree_counts"]
