"""
Try
===

x
"""

from __future__ import annotations

print("hello")
