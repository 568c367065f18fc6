"""``python -m papers.amin2023 [figure ...]``: the paper's tables and figures."""

from __future__ import annotations

from papers.amin2023.pages import PAPER
from papers.command import main

__all__: list[str] = []

main(PAPER)
