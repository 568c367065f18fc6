"""The kinds of releases that two servers make together. Imports nothing numeric."""

from __future__ import annotations

from typing import Literal, TypeAlias

from attrs import frozen

__all__ = ["KINDS", "Kind", "Release"]

Kind: TypeAlias = Literal["ecdf", "roc", "hosmer-lemeshow", "counts"]


@frozen
class Release:
    """The release of a kind of batch."""

    #: Names of the classes of rows; with two, the top bit of a cell is the class.
    classes: tuple[str, ...]
    #: The end of a result's file name, before ".json".
    ending: str
    in_words: str


_BOTH = "negative", "positive"
KINDS = {
    "ecdf": Release(("count",), "distribution", "the distribution"),
    "roc": Release(_BOTH, "roc", "the ROC curve"),
    "hosmer-lemeshow": Release(_BOTH, "calibration", "the calibration"),
    "counts": Release(("count",), "counts", "the counts"),
}
