"""Audits of what releases promise: worst-case tables, draws, lower bounds on the privacy loss."""

from __future__ import annotations

__all__: list[str] = []
