"""A batch: the public description that owners, servers and the analyst share.

Its content has everything that reports and answers depend on: what is released, the budget, the
least number of reports, a nonce, the servers' names and keys, the thresholds and the blocks whose
counts are released. The digest of the content is part of every report and every answer, so nothing
sent for one batch can serve another. A later nolook that computes other thresholds or other blocks
finds the difference there, and does not answer.
"""

from __future__ import annotations

import hashlib
import json
import re
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from attrs import asdict, define, evolve, field
from numpy.typing import NDArray

from nolook._unit import ROW, Unit
from nolook._validation import check_choice, check_count, check_delta, check_epsilon
from nolook.algorithms.forest import CountEvent, Forest, Noise, best_forest, count_event, forest_of
from nolook.algorithms.grids import GRID_KINDS, PROBABILITIES, DoublesGrid, LinearGrid, LogGrid
from nolook.errors import ParameterError
from nolook.federated.kinds import KINDS, Kind
from nolook.privacy import accounting
from nolook.privacy.guarantee import Budget, PrivacyGuarantee
from nolook.privacy.noise import SystemEntropy

if TYPE_CHECKING:
    from nolook.federated.point_functions import PointFunctions

__all__ = ["LARGEST_LEVELS", "VERSION", "Batch", "Servers"]

#: Something of the server of role 0 and of role 1.
Servers: TypeAlias = tuple[str, str]

#: Version of the content, and so of everything that contains its digest.
VERSION = 1
#: At most 2^17 cells, all classes together; the grid of all doubles has fewer.
LARGEST_LEVELS = 17

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_NONCE = re.compile(r"[0-9a-f]{32}")
_SERVER = re.compile(r"[!-~]{1,200}")
_KEY = re.compile(r"[0-9a-f]{64}")
_MOST_REPORTS = 2**31


def make_nonce() -> str:
    """Return 16 random bytes in hexadecimal digits: a batch has keys that no other batch has."""
    return SystemEntropy().words(2).astype("<u8").tobytes().hex()


def _minimum(count: int) -> int:
    return check_count(count, "minimum", _MOST_REPORTS)


def _delta(delta: object) -> float:
    return check_delta(delta, allow_zero=True)


@define(frozen=True, slots=False)
class Batch:
    """The public parameters of one release from many owners, whose reports are verified.

    Neighbours differ in one accepted report (replacement): the servers know the number of reports.
    """

    #: At most 64 letters a to z, digits and hyphens: part of addresses and file names.
    name: str
    kind: Kind
    #: Privacy loss of all that is ever answered, above 0.
    epsilon: float = field(converter=check_epsilon)
    #: None is the grid of all doubles, for "ecdf"; other kinds but "roc" have one of their own.
    grid: LinearGrid | LogGrid | None = None
    #: The least number of reports that is ever answered.
    minimum: int = field(default=100, converter=_minimum)
    #: Names of the servers of role 0 and 1, by which owners and analyst reach them.
    servers: Servers = field(kw_only=True)
    #: Their public keys (X25519), to which owners encrypt reports.
    keys: Servers = field(kw_only=True)
    #: Probability of a larger loss. Above 0 the noise is Gaussian, otherwise Laplace.
    delta: float = field(default=0.0, converter=_delta, kw_only=True)
    #: Names of the value and, with classes, of the target, and its positive and negative word.
    columns: tuple[str, ...] = field(default=(), kw_only=True)
    #: The column of an owner's table that names whom a report is of, such as a patient; or a row.
    unit: str | None = field(default=None, kw_only=True)
    #: For "counts" the declared levels of the column; two cells more hold other and missing values.
    labels: tuple[str, ...] = field(default=(), kw_only=True)
    #: Who signed the servers' certificates, in PEM; empty for authorities that the system trusts.
    authorities: tuple[str, ...] = field(default=("", ""), kw_only=True)
    nonce: str = field(factory=make_nonce, kw_only=True)
    #: Lengths of the blocks that are counted, down to 1; None for the best, which a file names.
    lengths: tuple[int, ...] | None = field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        check_choice("kind", self.kind, tuple(KINDS))
        if not _NAME.fullmatch(self.name):
            raise ParameterError(
                "name is not a short word of a to z, digits and hyphens (for example ages-2026)"
            )
        for pattern, (first, second) in ((_SERVER, self.servers), (_KEY, self.keys)):
            if first == second or not (pattern.fullmatch(first) and pattern.fullmatch(second)):
                raise ParameterError(
                    "servers and keys are not two different names without spaces and two different "
                    "keys of 64 hexadecimal digits, those of role 0 and of role 1"
                )
        if self.kind in {"hosmer-lemeshow", "counts"} and self.grid is not None:
            raise ParameterError(
                f"grid is given for {self.kind}; expected None (it has cells of its own)"
            )
        if (self.kind == "counts") != bool(self.labels) or len({*self.labels}) < len(self.labels):
            raise ParameterError(
                f"labels are {list(self.labels)} for {self.kind}; expected different levels of a "
                "column for counts, and none for other kinds"
            )
        if self._all_levels > LARGEST_LEVELS:
            most = LARGEST_LEVELS + 1 - len(self.classes)
            remedy = "give --grid, such as 0:1:0.01" if self.grid is None else "give a larger step"
            raise ParameterError(
                f"grid has {len(self.points())} thresholds; expected at most 2**{most} for "
                f"{self.kind} ({remedy})"
            )
        if self.delta and len(self.classes) > 1:
            raise ParameterError(
                f"delta is {self.delta!r} for {self.kind}; expected 0 (only kinds without a target "
                "have Gaussian noise)"
            )
        if self.columns and len(self.columns) != 3 * len(self.classes) - 2:
            raise ParameterError(
                f"columns are {list(self.columns)} for {self.kind}; expected the value's name and, "
                "where there is a target, its name, its positive word and its negative one"
            )
        if not _NONCE.fullmatch(self.nonce):
            raise ParameterError("nonce is not 32 random hexadecimal digits")
        self.guarantee()  # refuses a budget that is too small for any noise

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of what is counted in each block."""
        return KINDS[self.kind].classes

    @property
    def levels(self) -> int:
        """L, at least 1: the thresholds are the first of 2^L."""
        return max(1, (len(self.points()) - 1).bit_length())

    @property
    def _all_levels(self) -> int:
        return self.levels + len(self.classes) - 1

    @cached_property
    def forest(self) -> Forest:
        """The blocks that are counted, of each class."""
        if self.labels:
            return forest_of(len(self.points()), (1,))
        if self.lengths is not None:
            return forest_of(len(self.points()), self.lengths)
        noise: Noise = "gaussian" if self.delta else "laplace"
        # The number of reports is public, so what counts share with it is not noise.
        return best_forest(len(self.points()), noise, shares=True)

    @cached_property
    def functions(self) -> PointFunctions:
        """The point functions by which owners share their cells."""
        from nolook.federated.point_functions import PointFunctions  # not to show a batch

        return PointFunctions(self._all_levels, self.digest)

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the canonical content, 32 bytes."""
        text = json.dumps(self.content(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("ascii")).digest()

    def event(self) -> CountEvent:
        """State what all answers cost together, each server's noise separately."""
        return count_event(Budget(self.epsilon, self.delta), self.forest.levels)

    def guarantee(self) -> PrivacyGuarantee:
        """State what all answers cost together.

        Guarantee
        ---------
        (epsilon, delta)-DP under replacement of an accepted report, computationally, against anyone
        who sees all answers and everything the other server has.
        """
        budget = Budget(self.epsilon, self.delta)
        cost = accounting.guarantee([self.event()], budget, relation="replace", private=True)
        honest = (
            f"Two servers computed this together, {' and '.join(self.servers)}: it is private as "
            "long as one of them is honest."
        )
        assumed = "The promise is computational: AES-128, SHA-256 and X25519 must not be broken."
        unit = ROW if self.unit is None else Unit(self.unit, 1)
        return evolve(cost, table=self.name, unit=unit, basis=(honest, assumed))

    def in_words(self) -> tuple[str, ...]:
        """Describe the release and its promise to an owner, in sentences."""
        points = self.points()
        value, *target = self.columns or ("one number", "its class", "1", "0")
        one = "row" if self.unit is None else f"{Unit(self.unit, 1).protected} ({self.unit})"
        sender = one if self.unit is None else f"{one}, of one of its rows drawn at random"
        released = f"{KINDS[self.kind].in_words} of {value}"
        if len(self.classes) > 1:
            released += " and {} (positive: {}, negative: {})".format(*target)
        counted = f"There are {len(points):,} thresholds, from {points[0]:g} to {points[-1]:g}."
        if self.labels:
            counted = f"Counted are {', '.join(self.labels)}, any other value and missing ones."
        elif len(self.classes) == 1 and self.grid is None:
            counted = "Its thresholds fit any number."
        return (
            f"{self.name}: {released}; one report for each {sender}.",
            counted,
            f"It is released once, from at least {self.minimum:,} reports.",
            self.guarantee().in_words(),
        )

    def points(self) -> NDArray[np.float64]:
        """Return the thresholds, increasing, shape (points,); for counts the codes of levels."""
        if self.labels:
            return np.arange(len(self.labels) + 2.0)
        return _points(PROBABILITIES if self.kind == "hosmer-lemeshow" else self.grid)

    def content(self) -> dict[str, Any]:
        """Return the content of the batch's file, fit for JSON."""
        of = self.grid
        return asdict(self) | {
            "version": VERSION,
            "relation": "replace",
            "grid": None if of is None else [GRID_KINDS[type(of)], of.low, of.high, of.step],
            "points": hashlib.sha256(self.points().astype("<f8").tobytes()).hexdigest(),
            "lengths": self.forest.lengths,
        }

    def read_options(self) -> dict[str, Any]:
        """Return the settings the reports were read with, as a table's of one column."""
        value = (self.columns or (self.name,))[0]
        categories = {value: [*self.labels, None]} if self.labels else {}
        words = dict(zip(("positive", "negative"), self.columns[2:], strict=False))
        return {"features": [value], "categories": categories, "missing": "zero", **words}


@lru_cache(maxsize=8)
def _points(grid: LinearGrid | LogGrid | None) -> NDArray[np.float64]:
    points = (DoublesGrid() if grid is None else grid).points()
    points.flags.writeable = False
    return points
