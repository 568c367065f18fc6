"""What one of the two servers does: it adds up shares, and noise of its own.

Sums are modulo 2^64, and the sums of both servers add up to the counts. Each server answers with
its sums plus all the noise that the release needs, so one honest server is enough. The proof is
`shares.md`. Reports are rows of uint8 (`wire.py`); places are those of thresholds, from 0.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nolook.algorithms.hosmer_lemeshow import split_of_groups
from nolook.errors import ParameterError
from nolook.federated.batch import Batch
from nolook.federated.dcf import evaluate_sum, full_domain_sum
from nolook.federated.tree_plan import TreePlan, tree_plan
from nolook.federated.wire import unpack
from nolook.privacy import accounting
from nolook.privacy.guarantee import Budget, PrivacyGuarantee
from nolook.privacy.mechanisms.keyed_tree import (
    keyed_laplace,
    keyed_tree_laplace,
    keyed_tree_laplace_at,
)
from nolook.privacy.noise import SAMPLER_VERSION, derived_key
from nolook.statistics.cell_counts import cell_counts_sensitivity
from nolook.statistics.group_sums import (
    GROUP_COUNTS_SENSITIVITY,
    GROUP_UNIT,
    excess_sensitivities,
)

if TYPE_CHECKING:
    from nolook.privacy.guarantee import Relation

__all__ = [
    "curve_sums",
    "group_borders",
    "group_shares",
    "guarantee",
    "noisy_curves",
    "noisy_groups",
    "noisy_points",
    "point_sums",
    "release_key",
    "rows_epsilon",
    "tree_budget",
]

# Reports whose keys are unpacked together: about 25 MB.
_BLOCK = 2**14

Bytes = NDArray[np.uint8]
Shares = NDArray[np.uint64]


def guarantee(batch: Batch) -> PrivacyGuarantee:
    """State what all answers to a batch cost together.

    Guarantee
    ---------
    (epsilon, 0)-DP under replacement of a row, computationally, to whoever sees all answers and
    all that the other server has.

    Raises
    ------
    ParameterError
        If epsilon is too small for any noise.
    """
    events = _plan(batch).events()
    return accounting.guarantee(events, Budget(batch.epsilon), relation="replace", private=True)


def tree_budget(batch: Batch) -> tuple[float, Relation]:
    """Return what each tree of a batch costs, and under which relation."""
    tree = _plan(batch).tree.epsilon
    if batch.kind == "roc":
        # A replaced row leaves one class and enters the same or the other one.
        return tree / cell_counts_sensitivity("replace"), "add-remove"
    return tree, "replace"


def rows_epsilon(batch: Batch) -> float:
    """Return what the number of positive rows costs, for a batch of kind "roc"."""
    rows = _plan(batch).rows
    if rows is None:
        raise TypeError("only an ROC curve has a number of positive rows")
    return rows.epsilon


def group_shares(
    batch: Batch, borders: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the shares of epsilon of each group's counts and of each group's excess.

    The borders are groups + 1 numbers from 0 to 1; the batch is of kind "hosmer-lemeshow".
    """
    return split_of_groups(_plan(batch).group_epsilon, borders)


def release_key(secret: bytes, batch: Batch, reports: bytes, borders: bytes = b"") -> bytes:
    """Return the 32-byte key of a server's noise for one release: another if anything is different.

    The secret is 32 random bytes that this server alone has; `reports` is the digest of all reports
    that are counted, as this server has them; `borders` the places asked for, for sums of groups.
    """
    # All but the last have fixed lengths, so no two cases have the same statement.
    version = SAMPLER_VERSION.to_bytes(4, "little")
    return derived_key(secret, b"nolook federated" + version + batch.digest + reports + borders)


def curve_sums(batch: Batch, role: int, reports: Bytes) -> Shares:
    """Add up one server's shares of every curve at every threshold, shape (curves, 2**levels).

    Sums over parts of the checked reports may be added, modulo 2^64.
    """
    size = 1 << batch.levels
    return _sums(batch, reports, size, lambda keys: full_domain_sum(role, keys, batch.levels))


def point_sums(batch: Batch, role: int, reports: Bytes, places: Shares) -> Shares:
    """Add up one server's shares of every curve at some places, shape (curves, places)."""
    _check_places(batch, places)
    size = len(places)
    return _sums(batch, reports, size, lambda keys: evaluate_sum(role, keys, batch.levels, places))


def noisy_curves(batch: Batch, sums: Shares, key: bytes) -> dict[str, Shares]:
    """Return a server's answer about whole curves.

    Guarantee
    ---------
    With what :func:`noisy_points` and :func:`noisy_groups` answer under keys of the same secret,
    that of :func:`guarantee`.

    Parameters
    ----------
    batch : Batch
    sums : ndarray of uint64, shape (curves, 2**levels)
        What :func:`curve_sums` gives for all reports.
    key : bytes
        :func:`release_key`.

    Returns
    -------
    dict of str to ndarray of uint64
        Of shape (2**levels,), in rows modulo 2^64: "count"; for "roc" instead "positive" and
        "negative", and "rows", of shape (1,), the number of positive ones.
    """
    epsilon, relation = tree_budget(batch)
    noisy = {
        name: keyed_tree_laplace(counts, epsilon, relation, _own(key, name, epsilon))
        for name, counts in _counts(batch, sums).items()
    }
    if batch.kind == "roc":
        epsilon = rows_epsilon(batch)
        noisy["rows"] = keyed_laplace(sums[0, -1:], 1, epsilon, _own(key, "rows", epsilon))
    return noisy


def noisy_points(batch: Batch, sums: Shares, places: Shares, key: bytes) -> dict[str, Shares]:
    """Return a server's answer about counts up to some thresholds: as in the whole curve.

    Guarantee
    ---------
    That of :func:`noisy_curves`, for all places that are ever asked for together.

    Parameters
    ----------
    batch, key
        As for :func:`noisy_curves`.
    sums : ndarray of uint64, shape (curves, m)
        What :func:`point_sums` gives for all reports.
    places : ndarray of uint64, shape (m,)

    Returns
    -------
    dict of str to ndarray of uint64, shape (m,)
        In rows modulo 2^64: "count", or for "roc" "positive" and "negative".

    Raises
    ------
    ParameterError
        If there is no such threshold.
    """
    _check_places(batch, places)
    epsilon, relation = tree_budget(batch)
    return {
        name: keyed_tree_laplace_at(
            counts, places, batch.levels, epsilon, relation, _own(key, name, epsilon)
        )
        for name, counts in _counts(batch, sums).items()
    }


def noisy_groups(batch: Batch, sums: Shares, places: Shares, key: bytes) -> dict[str, Shares]:
    """Return a server's answer about groups of probabilities.

    Guarantee
    ---------
    That of :func:`noisy_curves`, for one choice of places.

    Parameters
    ----------
    batch : Batch
        Of kind "hosmer-lemeshow".
    sums : ndarray of uint64, shape (3, 2**levels)
        What :func:`curve_sums` gives for all reports.
    places : ndarray of uint64, shape (groups,)
        Of the groups' right borders, the last one that of 1.
    key : bytes
        :func:`release_key`, with the places.

    Returns
    -------
    dict of str to ndarray of uint64, shape (groups,)
        Modulo 2^64: "positives" and "negatives" in rows, "excess" in steps of 1/GROUP_UNIT.

    Raises
    ------
    ParameterError
        If the places are not borders of groups.
    """
    borders = group_borders(batch, places)
    upto = sums[:, places]
    upto[:, 1:] -= sums[:, places[:-1]]
    positives, negatives, probabilities = upto
    left = (borders[:-1] * GROUP_UNIT).astype(np.uint64)
    excess = probabilities - left * (positives + negatives)
    widths = excess_sensitivities(borders).tolist()
    budgets = zip(widths, *group_shares(batch, borders), strict=True)
    noisy = np.empty((3, len(widths)), dtype=np.uint64)
    for i, (width, epsilon, rest) in enumerate(budgets):
        counts_key, excess_key = _own(key, f"counts {i}", epsilon), _own(key, f"excess {i}", rest)
        both = np.array([positives[i], negatives[i]])
        noisy[:2, i] = keyed_laplace(both, GROUP_COUNTS_SENSITIVITY, epsilon, counts_key)
        noisy[2, i] = keyed_laplace(excess[i : i + 1], width, rest, excess_key)[0]
    return dict(zip(("positives", "negatives", "excess"), noisy, strict=True))


def group_borders(batch: Batch, places: Shares) -> NDArray[np.float64]:
    """Return the groups + 1 borders of probabilities, from 0 to 1, that places stand for.

    Raises a ParameterError if the places do not increase, or the last is not that of 1.
    """
    if batch.kind != "hosmer-lemeshow":
        raise ParameterError(f"{batch.name} is of kind {batch.kind}, which has no groups")
    _check_places(batch, places)
    points = batch.points()
    if len(places) == 0 or (places[1:] <= places[:-1]).any() or int(places[-1]) != len(points) - 1:
        raise ParameterError(
            f"the borders of groups do not increase up to place {len(points) - 1}; expected places "
            "of thresholds that do"
        )
    return np.concatenate([[0.0], points[places]])


def _plan(batch: Batch) -> TreePlan:
    return tree_plan(batch.kind, batch.epsilon)


def _sums(batch: Batch, reports: Bytes, size: int, evaluated: Callable[[Bytes], Shares]) -> Shares:
    """Add up the shares of payload * 1[cell <= t] = payload - payload * 1[t < cell]."""
    total = np.zeros((len(batch.curves), size), dtype=np.uint64)
    for start in range(0, len(reports), _BLOCK):
        _, payloads, keys = unpack(batch, reports[start : start + _BLOCK])
        total += payloads.sum(axis=0)[:, np.newaxis]
        for curve in range(len(total)):
            total[curve] -= evaluated(keys[:, curve])
    return total


def _counts(batch: Batch, sums: Shares) -> dict[str, Shares]:
    """Return the counts that get a tree of noise each."""
    if batch.kind == "hosmer-lemeshow":
        return {"count": sums[0] + sums[1]}
    return dict(zip(batch.curves, sums, strict=True))


def _own(key: bytes, name: str, epsilon: float) -> bytes:
    """Return a key for one array of noise; no two scales share their random numbers either."""
    return derived_key(key, struct.pack("<d", epsilon) + name.encode("ascii"))


def _check_places(batch: Batch, places: Shares) -> None:
    last = len(batch.points()) - 1
    if len(places) and int(places.max()) > last:
        raise ParameterError(
            f"places go beyond the last threshold, {last}; expected integers from 0 to {last}"
        )
