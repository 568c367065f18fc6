"""A release as JSON, as HTML and as text for a terminal."""

from __future__ import annotations

__all__: list[str] = []
