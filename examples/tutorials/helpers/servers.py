"""What `examples/federated.py` starts two servers with."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from federated import SCORES, free_ports, nolook, server, token_words

__all__ = ["SCORES", "free_ports", "nolook", "server", "token_words"]
