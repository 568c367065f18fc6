"""The command line as pages of this machine, for analysts who do not type."""

from __future__ import annotations

__all__: list[str] = []
