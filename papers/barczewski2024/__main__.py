"""``python -m papers.barczewski2024 [figure ...]``: the paper's tables and figures."""

from __future__ import annotations

from papers.barczewski2024.pages import PAPER
from papers.command import main

__all__: list[str] = []

if __name__ == "__main__":
    main(PAPER)
