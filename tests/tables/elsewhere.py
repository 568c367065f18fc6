"""An engine without processes: parts of files are read after a journey as bytes."""

from __future__ import annotations

from contextlib import closing
from functools import partial

import nolook
from nolook.spark.cluster import Engine, PartResult, next_pieces, packed, state_of, unpacked
from nolook.spark.moving import Pieces
from nolook.tables.table import Table


class Elsewhere(Engine):
    """A `fault` changes what comes back, `reorder` the order in which pieces reach their place."""

    engine = "Elsewhere"
    PLACES = 7

    def __init__(self, opened, fault=lambda answers: answers, reorder=reversed):
        super().__init__()
        self.reorder = lambda pieces: list(reorder(pieces))
        self.name, self.label, self.columns = opened.name, opened.label, opened.columns
        self.opened, self.fault, self.passes = opened, fault, 0

    def states(self, task, names):  # noqa: ARG002
        self.passes += 1
        parts = [packed(part) for part in self.opened.parts()]
        answers = [
            PartResult(i, nolook.__version__, state_of(task, unpacked(part), i))
            for i, part in enumerate(parts)
        ]
        return self.fault(answers[::-1]), len(parts)

    def states_by_unit(self, task, names, by_unit):  # noqa: ARG002
        self.passes += 1
        cutter = unpacked(packed(by_unit))
        pieces = [
            piece
            for part in self.opened.parts()
            for cut in iter(partial(next_pieces, cutter.pieces(part, self.PLACES)), None)
            for piece in cut
        ]
        found = {place: Pieces() for place in range(self.PLACES)}
        for place, piece in self.reorder(pieces):
            found[place].add(piece)
        answers = []
        for place, rows in found.items():
            with closing(rows):
                answers.append(PartResult(place, nolook.__version__, state_of(task, rows, place)))
        return self.fault(answers), self.PLACES


def elsewhere(table, fault=lambda answers: answers, reorder=reversed):
    """Return the table with its rows read elsewhere."""
    away = Elsewhere(table._source.original, fault, reorder)
    return Table(table.with_source(away)._source, table._design)
