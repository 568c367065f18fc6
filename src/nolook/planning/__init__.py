"""The accuracy to expect of a release, estimated before any budget is spent."""

from __future__ import annotations

__all__: list[str] = []
