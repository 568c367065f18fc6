"""Distributions of rows that never leave their owners.

Owners cut what they report in two, two servers add up what neither can read, and the analyst puts
the noisy halves together.
"""

from __future__ import annotations

__all__: list[str] = []
