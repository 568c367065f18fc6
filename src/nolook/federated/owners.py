"""What owners send: their secret numbers, cut in two (Barczewski, Mawass and Ramon 2024, 4.2).

Neither half tells anything by itself. The proof is `shares.md`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nolook.errors import ParameterError
from nolook.federated.batch import Batch
from nolook.federated.dcf import generate
from nolook.federated.wire import ID_BYTES, encode
from nolook.privacy.noise import ByteSource
from nolook.statistics.group_sums import GROUP_UNIT

__all__ = ["make_reports"]

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]


def make_reports(
    batch: Batch, values: ArrayLike, targets: ArrayLike | None, source: ByteSource
) -> tuple[Bytes, Bytes, Bytes]:
    """Make the reports of some owners.

    Guarantee
    ---------
    The reports of one server say nothing of values and targets, computationally.

    Parameters
    ----------
    batch : Batch
    values : array_like, shape (n,)
        One number an owner. NaN counts above every threshold; as a probability it is 0.
    targets : array_like of bool, shape (n,), or None
        Whether each is positive; None for a batch of kind "ecdf".
    source : ByteSource
        :class:`nolook.privacy.noise.SystemEntropy`, except in tests.

    Returns
    -------
    ids : ndarray of uint8, shape (n, 16)
    first, second : ndarray of uint8, shape (n, report_bytes)
        What the servers of role 0 and 1 get.
    """
    numbers = _numbers(values)
    if batch.kind == "hosmer-lemeshow":
        numbers = np.nan_to_num(numbers, nan=0.0).clip(0.0, 1.0)
    payloads = _payloads(batch, numbers, targets)
    n, curves = payloads.shape
    # The last threshold stands for infinity.
    cells = np.searchsorted(batch.points()[:-1], numbers, side="left").astype(np.uint64)
    ids = source.words(ID_BYTES // 8 * n).view(np.uint8).reshape(n, ID_BYTES)
    share = source.words(n * curves).reshape(n, curves)
    pairs = generate(np.repeat(cells, curves), payloads.ravel(), batch.levels, source)
    first, second = (keys.reshape(n, curves, keys.shape[1]) for keys in pairs)
    return (
        ids,
        encode(batch, 0, ids, share, first),
        encode(batch, 1, ids, payloads - share, second),
    )


def _payloads(
    batch: Batch, numbers: NDArray[np.float64], targets: ArrayLike | None
) -> NDArray[np.uint64]:
    """Return each owner's secret number for each curve, shape (n, curves)."""
    if batch.kind == "ecdf":
        if targets is not None:
            raise ParameterError("targets is given for an ecdf; expected None (it has none)")
        return np.ones((len(numbers), 1), dtype=np.uint64)
    positive = np.asarray(targets)
    if positive.shape != numbers.shape or positive.dtype != np.bool_:
        raise ParameterError(
            f"targets has shape {positive.shape} and dtype {positive.dtype}; expected a boolean "
            f"for each of the {len(numbers)} values (whether it is positive)"
        )
    columns = [positive, ~positive]
    if batch.kind == "hosmer-lemeshow":
        columns.append(numbers * GROUP_UNIT)  # exact; the conversion below rounds down
    return np.stack([column.astype(np.uint64) for column in columns], axis=1)


def _numbers(values: ArrayLike) -> NDArray[np.float64]:
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        numbers = np.empty((0, 0))
    if numbers.ndim != 1:
        raise ParameterError(
            "values is not an array of numbers; expected one number for each owner"
        )
    return numbers
