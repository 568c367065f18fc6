"""A release as a file: read strictly, written whole."""

from __future__ import annotations

__all__: list[str] = []
