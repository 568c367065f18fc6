"""What `examples/federated.py` starts two servers with."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from certificates import Authority
from federated import SCORES, free_ports, nolook, server, token

__all__ = ["SCORES", "Authority", "free_ports", "nolook", "server", "token"]
