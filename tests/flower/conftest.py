"""These tests run where Flower is: `make test-flower`. They are no part of `make test`."""

from __future__ import annotations

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("flwr") else ["test_*.py"]
