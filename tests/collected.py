"""A statistic that keeps what it is fed."""

from __future__ import annotations

from nolook.statistics.grid_models import RowBlock
from nolook.tables.folding import Batches


class Collected:
    """Every batch; in the order of the parts, where one thread reads."""

    def __init__(self):
        self.batches = []

    def update(self, *batch):
        self.batches.append(batch)
        return self

    def merge(self, other):
        self.batches += other.batches
        return self


def blocks_of(blocks):
    """Return a design's blocks of its table."""
    return [RowBlock(*each) for each in blocks.fold(Collected()).batches]


def fed(statistic, batches):
    """Return a statistic that was fed some batches."""
    whole = [each if isinstance(each, tuple) else (each,) for each in batches]
    return Batches(whole).fold(statistic)
