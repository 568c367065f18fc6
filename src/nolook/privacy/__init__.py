"""The audited room: guarantees, accounting, the ledger, exact noise and the mechanisms."""

from __future__ import annotations

__all__: list[str] = []
