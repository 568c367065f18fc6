"""Secure sums by Flower's SecAgg+; see `secagg.py` for what they promise."""

from __future__ import annotations

from nolook_flower.secagg import FlowerSum, aggregator_app, owner_app, simulate

__all__ = ["FlowerSum", "aggregator_app", "owner_app", "simulate"]
