"""How many reports a token may send in a second: more are asked to come again later."""

from __future__ import annotations

import time
from collections.abc import Callable

from nolook.federated.tokens import Token

__all__ = ["Rates"]


class Rates:
    """What is left of the second's reports of each token that has a rate.

    A server of several processes gives each of them its part of every rate.
    """

    def __init__(self, processes: int = 1, clock: Callable[[], float] = time.monotonic) -> None:
        self._processes = processes
        self._clock = clock
        self._left: dict[bytes, tuple[float, float]] = {}

    def allow(self, token: Token) -> bool:
        """Take one report off what is left; False if nothing is."""
        if token.rate is None:
            return True
        now, rate = self._clock(), max(1.0, token.rate / self._processes)
        left, then = self._left.get(token.digest, (rate, now))
        left = min(rate, left + (now - then) * rate)
        self._left[token.digest] = (max(left - 1.0, 0.0) if left >= 1.0 else left, now)
        return left >= 1.0
