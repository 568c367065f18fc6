"""Exact, mergeable statistics of a table, each with its sensitivity as a named function."""

from __future__ import annotations

__all__: list[str] = []
