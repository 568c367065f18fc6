"""A release as a page and in the terminal."""

from __future__ import annotations

__all__: list[str] = []
