"""Checks of parameters that need no scikit-learn, which takes long to load."""

from __future__ import annotations

from contextlib import suppress
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from nolook._arrays import Vector
from nolook._language import parameter_name
from nolook._validation import check_choice, check_delta, check_epsilon
from nolook.algorithms.grids import DoublesGrid, Grid, LinearGrid, LogGrid
from nolook.errors import ParameterError
from nolook.privacy.guarantee import Budget, Relation
from nolook.tables import Table, table_from_arrays


def check_budget(epsilon: object, delta: object, *, pure: bool = False) -> Budget:
    """Check a budget; `pure` allows a delta of 0."""
    return Budget(check_epsilon(epsilon), check_delta(delta, allow_zero=pure))


def check_relation(relation: object) -> Relation:
    """Return the relation; refuse any other name."""
    return cast("Relation", check_choice("relation", relation, ("add-remove", "replace")))


def check_shares(p: ArrayLike, name: str = "p") -> Vector:
    """Return shares from 0 to 1 as an array; refuse anything else."""
    with suppress(TypeError, ValueError, OverflowError):
        shares = np.atleast_1d(np.asarray(p, dtype=np.float64))
        if shares.ndim == 1 and ((shares >= 0.0) & (shares <= 1.0)).all():
            return shares
    raise ParameterError(
        f"{parameter_name(name)} is not from 0 to 1; expected shares (for example 0.5)"
    )


def as_table(X: Table | ArrayLike) -> Table:
    """Return a table, or one of the columns of an array or frame."""
    return X if isinstance(X, Table) else table_from_arrays(X)


def check_grid(grid: object, *, whole: bool = False) -> Grid:
    """Return the grid, that of all doubles or whole numbers for None; refuse anything else."""
    if grid is None:
        return DoublesGrid(whole)
    if not isinstance(grid, LinearGrid | LogGrid):
        raise ParameterError(
            f"grid is a value of type {type(grid).__name__}; expected a LinearGrid, a LogGrid or "
            "None (for example nolook.LinearGrid(0, 120, 1))"
        )
    return grid
