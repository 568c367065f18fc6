"""The kinds of releases that two servers make together. Imports nothing numeric."""

from __future__ import annotations

from typing import Literal, TypeAlias

from attrs import frozen

__all__ = ["KINDS", "BatchKind", "Kind"]

Kind: TypeAlias = Literal["ecdf", "roc", "hosmer-lemeshow", "counts"]


@frozen
class BatchKind:
    """A kind of batch: its classes and its release."""

    #: Names of the classes of rows; with two, the top bit of a cell is the class.
    classes: tuple[str, ...]
    #: The end of a result's file name, before ".json".
    ending: str
    in_words: str


_BOTH = "negative", "positive"
KINDS = {
    "ecdf": BatchKind(("count",), "distribution", "the distribution"),
    "roc": BatchKind(_BOTH, "roc", "the ROC curve"),
    "hosmer-lemeshow": BatchKind(_BOTH, "calibration", "the calibration"),
    "counts": BatchKind(("count",), "counts", "the counts"),
}
