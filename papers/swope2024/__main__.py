"""``python -m papers.swope2024 [figure ...]``: the paper's tables and figures."""

from __future__ import annotations

from papers.command import main
from papers.swope2024.pages import PAPER

__all__: list[str] = []

if __name__ == "__main__":
    main(PAPER)
