"""Names of the arrays that go from one function to the next."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[np.float64]
#: A row of numbers, NaN where one is not known.
Numbers: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]
#: A lower end and an upper end, or many of them.
Interval: TypeAlias = np.ndarray[tuple[Literal[2]], np.dtype[np.float64]]
Intervals: TypeAlias = np.ndarray[tuple[int, Literal[2]], np.dtype[np.float64]]
Matrix: TypeAlias = NDArray[np.float64]
#: Of any number of dimensions.
Array: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
Places: TypeAlias = NDArray[np.intp]
Integers: TypeAlias = NDArray[np.int64]
Words: TypeAlias = NDArray[np.uint64]
Bytes: TypeAlias = NDArray[np.uint8]
