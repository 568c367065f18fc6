"""The mechanisms that release something; each has its proof in a `.md` of the same name."""

from __future__ import annotations

__all__: list[str] = []
