"""What a release can be expected to tell, worked out before anything is spent."""

from __future__ import annotations

__all__: list[str] = []
