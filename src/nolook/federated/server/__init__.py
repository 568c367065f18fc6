"""A server: what it keeps on its disk, what it answers, and to whom."""

from __future__ import annotations

__all__: list[str] = []
