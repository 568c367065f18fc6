"""Tables of Spark: its workers add rows up where they are."""

from __future__ import annotations

__all__: list[str] = []
