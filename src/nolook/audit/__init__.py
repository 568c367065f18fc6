"""What shows that the releases keep their promise: worst-case tables, draws, bounds from below."""

from __future__ import annotations

__all__: list[str] = []
