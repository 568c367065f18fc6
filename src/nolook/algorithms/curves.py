"""Smooth functions of a column, from a noisy histogram of it. All of it is post-processing.

A column's curve is a line and deviations from it: piecewise linear functions on a few knots,
orthogonal to 1 and to the column under the histogram, each of mean square 1, in the order of
their roughness (Demmler and Reinsch 1975). So their centre and scale are known.
"""

from __future__ import annotations

import math

import numpy as np
from attrs import frozen
from scipy.linalg import eigh
from scipy.special import ndtr

from nolook._arrays import Matrix, Vector
from nolook.kernels.curves import Curves
from nolook.kernels.moments import UNIT

__all__ = ["Curve", "cell_edges", "curve_of", "kernel_curves"]

_CELLS, _KNOTS = 64, 12
_FEWEST_KNOTS = 4
_NOISE = 16.0  # deviations of a cell's noise: two of a sum over all cells
_TAIL = 0.01  # share of the mass beyond the outermost knots
_SURE = 4.0  # deviations of its noise beyond which cells next to each other surely hold rows
# Scales about the centre in which cells are about as wide; beyond they grow.
_EVEN = 0.8
# Places in a cell for means over it.
_PLACES = 8
# A function is cut at so many of its deviations; of a knot with hardly any mass it may be large.
_LARGEST = 20.0
_TINY = 1e-6


@frozen(eq=False)
class Curve:
    """Deviations from a line: functions of a standardised column, in whole units of 1/UNIT."""

    knots: Vector  # increasing, shape (knots,)
    shapes: Matrix  # values at the knots, smoothest first, shape (functions, knots)
    roughness: Vector  # in units of the smoothest one's, shape (functions,)
    rows: Matrix  # places in scales, and the share below each: all of what stands out from noise

    def at(self, places: Vector) -> Matrix:
        """Return the functions of standardised values, shape (functions, places)."""
        knots, shapes = self.knots / UNIT, self.shapes / UNIT
        return np.array([np.interp(places, knots, shape) for shape in shapes])


def cell_edges(limit: float) -> Vector:
    """Return the edges between the cells of a column that is clipped to `limit` scales."""
    far = math.asinh(limit / _EVEN)
    return np.asarray(_EVEN * np.sinh(np.linspace(-far, far, _CELLS + 1)))


def curve_of(counts: Vector, sigma: float, edges: Vector, most: int) -> Curve | None:
    """Return up to `most` deviations by noisy counts between edges.

    None of too few knots, or where all but two cells hold no more than noise: of two values.
    """
    below, both = _below(counts, sigma, edges), np.sort(counts)[-2:].sum()
    knots = np.rint(UNIT * _knots(below, edges)) / UNIT
    if len(knots) < _FEWEST_KNOTS or counts.sum() - both <= min(_NOISE * sigma, both):
        return None
    cells = (np.arange(_PLACES * counts.size) + 0.5) / _PLACES
    places = np.interp(cells, np.arange(edges.size), edges)
    weights, each = np.repeat(np.diff(below) / _PLACES, _PLACES), np.eye(len(knots))
    hats = np.array([np.interp(places, knots, hat) for hat in each])
    products = (hats * weights) @ hats.T + _TINY * each
    straight = np.stack([hats @ weights, hats @ (weights * places)])
    free = np.linalg.svd(straight)[2][2:].T
    bends = np.diff(each, 2, axis=0) @ free
    rough, found = eigh(bends.T @ bends, free.T @ products @ free)
    shapes = (free @ found[:, :most]).T.clip(-_LARGEST, _LARGEST)
    rough = np.maximum(rough[:most] / max(rough[0], _TINY), 1.0)
    low, high = _seen(counts, sigma)
    below[: low + 1], below[high:] = 0.0, 1.0
    known = np.union1d(knots, edges[[low, high]])
    rows = np.stack([known, np.interp(known, edges, below)])
    return Curve(UNIT * knots, np.rint(shapes * UNIT), rough, rows)


def kernel_curves(curves: tuple[Curve | None, ...]) -> Curves | None:
    """Return columns' curves as one table, or None if all are lines."""
    some = [(place, curve) for place, curve in enumerate(curves) if curve is not None]
    if not some:
        return None
    most = _KNOTS + 2
    first = np.append(0, np.cumsum([len(curve.shapes) for _, curve in some]))
    knots, values = np.full((len(some), most), np.inf), np.zeros((first[-1], most))
    for place, (_, curve) in enumerate(some):
        knots[place, : curve.knots.size] = curve.knots
        values[first[place] : first[place + 1], : curve.knots.size] = curve.shapes
    return Curves(np.array([place for place, _ in some]), first, knots, values)


def _seen(counts: Vector, sigma: float) -> tuple[int, int]:
    """Return the outermost edges of cells that stand out, alone or with those next to them."""
    below, edge = np.append(0.0, counts.cumsum()), np.arange(counts.size + 1)
    noise = _SURE * sigma * np.sqrt(abs(edge[:, None] - edge))
    last, first = np.tril(below[:, None] - below > noise).nonzero()
    low, high = sorted((last.min(initial=counts.size) - 1, first.max(initial=0)))
    return low, high + 1


def _below(counts: Vector, sigma: float, edges: Vector) -> Vector:
    """Shrink counts towards a normal law as far as noise makes them differ; return shares."""
    normal = max(counts.sum(), 1.0) * np.diff(ndtr(edges))
    away = counts - normal
    share = max(0.0, 1.0 - counts.size * sigma**2 / max(away @ away, _TINY))
    mass = np.maximum(normal + share * away, 0.0) + _TINY
    mass /= mass.sum()
    return np.append(0.0, mass.cumsum())


def _knots(below: Vector, edges: Vector) -> Vector:
    """Return places of equal mass between them, and one in either tail.

    None is nearer to the last than a cell's width.
    """
    shares = np.concatenate([[_TAIL], (np.arange(_KNOTS) + 0.5) / _KNOTS, [1.0 - _TAIL]])
    places = np.interp(shares, below, edges)
    knots: Vector = places[:1]
    for place in places[1:]:
        if place - knots[-1] >= np.diff(edges)[np.searchsorted(edges[1:-1], place, "right")]:
            knots = np.append(knots, place)
    return knots
