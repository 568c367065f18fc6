"""``python -m papers.barczewski2024``: the paper's figures."""

from __future__ import annotations

from papers.barczewski2024.pages import PAPER
from papers.command import main

__all__: list[str] = []

main(PAPER)
