"""Numerical kernels: arrays in, arrays out; no privacy parameter, no randomness, no files."""

from __future__ import annotations

__all__: list[str] = []
