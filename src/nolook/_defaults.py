"""Numbers that the command line shows before anything numeric is loaded."""

from __future__ import annotations

#: Delta of models and selections where none is given; distributions need none.
DEFAULT_DELTA = 1e-6
#: So many rows of a unit may count in full.
MOST_ROWS_PER_UNIT = 2**10

#: Level of all intervals, and half their widths in standard deviations of the normal law.
LEVEL, QUANTILE = 0.95, 1.959963984540054

#: Shares at which quantiles tell the shape of a distribution.
SHAPE = (0.01, *(place / 20 for place in range(1, 20)), 0.99)
