"""One module per published algorithm, its functions named after the paper's steps."""

from __future__ import annotations

__all__: list[str] = []
