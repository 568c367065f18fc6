"""Generalised linear models: one frame, and what each family of outcomes adds to it."""

from __future__ import annotations

__all__: list[str] = []
