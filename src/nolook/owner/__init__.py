"""For the data owner only: drafts of schemas and exact checks, nothing of which is private."""

from __future__ import annotations

__all__: list[str] = []
