"""A confidential table as a stream of blocks of float64 columns.

``read_table`` opens a file or a frame and fixes, from declared types and parameters alone, which
numbers each row gives; ``Table.batches`` then streams those numbers repeatedly in bounded memory.
Nothing here computes a statistic of the data.
"""

from __future__ import annotations

from nolook.tables.read import Rows, read_table, table_from_arrays, table_from_values
from nolook.tables.table import Table

__all__ = ["Rows", "Table", "read_table", "table_from_arrays", "table_from_values"]
