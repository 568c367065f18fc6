"""The product of every row with one vector, each a function of its row alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["row_products"]


def row_products(columns: NDArray[np.float64], vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """Multiply each row with a vector, one column after the other.

    A BLAS product adds up in an order that depends on the number of rows and on its threads, so the
    last bit of a row's product would depend on the rows around it. As in BLAS, what overflows is
    infinite or NaN without a warning.
    """
    total = np.zeros(columns.shape[1])
    product = np.empty_like(total)
    with np.errstate(over="ignore", invalid="ignore"):
        for column, factor in zip(columns, vector, strict=True):
            np.multiply(column, factor, out=product)
            total += product
    return total
