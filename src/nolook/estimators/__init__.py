"""Estimators in the manner of scikit-learn: validate, call an algorithm, keep the results."""

from __future__ import annotations

__all__: list[str] = []
