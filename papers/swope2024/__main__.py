"""``python -m papers.swope2024``: the paper's table and figures."""

from __future__ import annotations

from papers.command import main
from papers.swope2024.pages import PAPER

__all__: list[str] = []

main(PAPER)
