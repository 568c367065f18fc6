"""``python -m papers.dick2023 [figure ...]``: the paper's tables and figures."""

from __future__ import annotations

from papers.command import main
from papers.dick2023.pages import PAPER

__all__: list[str] = []

main(PAPER)
