"""A batch of format 2: its reports count one cell each, and are checked.

Everything that reports and answers depend on is in its content, and so in its digest: a nonce, the
servers' names and keys, the thresholds themselves and the blocks whose counts are released. A later
nolook that would lay another grid or other blocks finds that here, and does not answer.
"""

from __future__ import annotations

import hashlib
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from attrs import define, field

from nolook._validation import check_delta
from nolook.algorithms.ecdf import count_event
from nolook.algorithms.forest import Forest, Noise, best_forest, forest_of
from nolook.algorithms.node_counts import CountEvent
from nolook.errors import ParameterError
from nolook.federated.batch import Batch
from nolook.federated.vidpf import PointFunctions, even_stops
from nolook.privacy.guarantee import Budget
from nolook.privacy.noise import SystemEntropy

if TYPE_CHECKING:
    from nolook.privacy.noise import ByteSource

__all__ = ["FORMAT", "WHOLE_LEVELS", "PointBatch", "make_nonce"]

#: Of the content, and so of all that its digest names.
FORMAT = 2
#: Up to 2^this many thresholds; those of the grid of all doubles are fewer.
WHOLE_LEVELS = 17
#: Which rows a count is of, by what the top bit of their cells says.
_CLASSES = {
    "ecdf": ("count",),
    "roc": ("negative", "positive"),
    "hosmer-lemeshow": ("negative", "positive"),
}
_NONCE = re.compile(r"[0-9a-f]{32}")
_SERVER = re.compile(r"[!-~]{1,200}")
_KEY = re.compile(r"[0-9a-f]{64}")

#: Something of the server of role 0 and of role 1.
Servers: TypeAlias = tuple[str, str]


def make_nonce(source: ByteSource) -> str:
    """Return 16 random bytes in hexadecimal digits: a batch has keys that no other batch has."""
    return source.words(2).astype("<u8").tobytes().hex()


def _fresh_nonce() -> str:
    return make_nonce(SystemEntropy())


def _delta(delta: object) -> float:
    return check_delta(delta, allow_zero=True)


def _pair(given: object, pattern: re.Pattern[str], message: str) -> Servers:
    listed = tuple(given) if isinstance(given, tuple | list) else ()
    fits = all(isinstance(one, str) and pattern.fullmatch(one) for one in listed)
    if len(listed) != 2 or not fits or listed[0] == listed[1]:
        raise ParameterError(message)
    return listed[0], listed[1]


def _names(servers: object) -> Servers:
    return _pair(
        servers,
        _SERVER,
        "servers is not two different names without spaces; expected those of the server of role 0 "
        "and of role 1 (such as their addresses)",
    )


def _public_keys(keys: object) -> Servers:
    return _pair(
        keys,
        _KEY,
        "keys is not two different keys of 64 hexadecimal digits; expected what `nolook federated "
        "key` printed for the server of role 0 and of role 1",
    )


@define(frozen=True, slots=False)
class PointBatch(Batch):
    """The public parameters of one release from many owners, whose reports are verified.

    Neighbours differ in one accepted report (replacement): the servers know how many there are.
    """

    #: Names of the servers of role 0 and 1, which owners and analyst know them by.
    servers: Servers = field(converter=_names, kw_only=True)
    #: Their public keys (X25519), to which owners encrypt reports.
    keys: Servers = field(converter=_public_keys, kw_only=True)
    #: Probability of a larger loss. Above 0 the noise is Gaussian, otherwise Laplace.
    delta: float = field(default=0.0, converter=_delta, kw_only=True)
    nonce: str = field(factory=_fresh_nonce, kw_only=True)
    #: Lengths of the blocks that are counted, down to 1; None for the best, which a file names.
    lengths: tuple[int, ...] | None = field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.levels > WHOLE_LEVELS:
            raise ParameterError(
                f"grid has {len(self.points())} thresholds; expected at most 2**{WHOLE_LEVELS} "
                "(give a larger step)"
            )
        if self.delta and self.kind != "ecdf":
            raise ParameterError(
                f"delta is {self.delta!r} for {self.kind}; expected 0 (only an ecdf has Gaussian "
                "noise)"
            )
        if not _NONCE.fullmatch(self.nonce):
            raise ParameterError("nonce is not 32 hexadecimal digits; expected a random one")
        self.event()  # refuses a budget that is too small for any noise

    @property
    def whole(self) -> bool:
        """Whether the servers compute whole curves."""
        return True

    @property
    def classes(self) -> tuple[str, ...]:
        """What is counted in each block, by name."""
        return _CLASSES[self.kind]

    @cached_property
    def forest(self) -> Forest:
        """The blocks that are counted, of each class."""
        if self.lengths is not None:
            return forest_of(len(self.points()), self.lengths)
        noise: Noise = "gaussian" if self.delta else "laplace"
        # How many reports there are is public, so what counts share with that is no noise.
        return best_forest(len(self.points()), noise, shares=True)

    @cached_property
    def functions(self) -> PointFunctions:
        """What owners share their cells by: the top bit is the class if there are two."""
        levels = self.levels + len(self.classes) - 1
        return PointFunctions(levels, even_stops(levels), self.digest)

    @cached_property
    def _points_digest(self) -> str:
        return hashlib.sha256(self.points().astype("<f8").tobytes()).hexdigest()

    def event(self) -> CountEvent:
        """State what all answers cost together, each server's noise by itself."""
        return count_event(Budget(self.epsilon, self.delta), self.forest.levels)

    def content(self) -> dict[str, Any]:
        """Return what a file says about the batch, fit for JSON."""
        return super().content() | {
            "format": FORMAT,
            "delta": self.delta,
            "servers": list(self.servers),
            "keys": list(self.keys),
            "nonce": self.nonce,
            "points": self._points_digest,
            "lengths": list(self.forest.lengths),
        }
