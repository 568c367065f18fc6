"""The private distribution of one column."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import evolve
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state as random_numbers
from sklearn.utils.validation import check_is_fitted

from nolook._arrays import Vector
from nolook.algorithms.distribution import PrivateDistribution
from nolook.algorithms.ecdf import ecdf_release
from nolook.algorithms.grids import LinearGrid, LogGrid
from nolook.errors import ParameterError
from nolook.estimators._checks import check_budget, check_grid, check_relation, check_shares
from nolook.estimators._finding import PrivateFinding
from nolook.estimators._tables import values_table
from nolook.privacy.release import Plan
from nolook.tables import Table

__all__ = ["ECDF"]


class ECDF(PrivateFinding):
    """The distribution of a column, released once and then read at no further cost.

    Estimates ``F(t) = #{i : x_i <= t} / n`` at all thresholds t of a public grid.

    Values are counted in the cells between the thresholds, in blocks of cells, in blocks of blocks
    and so on, and all these counts are released with noise. The counts up to each threshold and the
    number of rows are their least-squares estimates, changed as little as possible so that they
    never decrease; the error grows only with the logarithm of the number of thresholds. Proof:
    ``algorithms/ecdf.md``.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, `delta`)-differentially private when one row is added or
    removed (or replaced, with ``relation="replace"``; the number of rows is then public). If the
    table names a unit, that holds for one unit with all its rows (and the number of units).

    Parameters
    ----------
    grid : LinearGrid, LogGrid or None, default=None
        Public thresholds. Values outside count in the end cells. None needs no range: steps are
        1/1024 of a value between 7.6e-6 and 7e13, positive or negative, and coarser beyond; whole
        numbers for a column declared to hold integers. A known range makes the noise smaller.
    delta : float, default=0.0
        Probability of a larger loss. At 0 the noise is Laplace; above 0 it is Gaussian, which is
        smaller for fine grids.
    relation : {"add-remove", "replace"}, default="add-remove"
        Which tables are neighbours. "replace" refuses a Table that may leave rows out (read it with
        ``missing="zero"``), and several full rows of a unit, because the number of rows used would
        not be public. A missing value in an array then counts as 0.

    Attributes
    ----------
    distribution_ : PrivateDistribution
        The thresholds and the private counts.

    See Also
    --------
    quantiles : Quantiles of several columns.
    describe : Means, quartiles and levels of all columns.
    ROCCurve : Distributions of a score in two classes.

    Examples
    --------
    >>> import numpy as np
    >>> ages = np.random.default_rng(0).integers(20, 60, 50_000)
    >>> ecdf = ECDF(epsilon=1.0, grid=LinearGrid(0, 120, 1)).fit(ages)
    >>> bool(abs(ecdf.cdf(39) - 0.5) < 0.05)
    True
    """

    grid: LinearGrid | LogGrid | None = None
    delta: float = 0.0
    relation: str = "add-remove"

    kind = _ledger_label = "distribution"

    @property
    def questions(self) -> tuple[str, ...]:
        """Names of the methods that read more from it."""
        asked = ("cdf", "quantile", "interval", "histogram", "pdf", "trimmed_mean", "rvs")
        return asked if self.grid is None else (*asked, "mean")

    def plan(self) -> Plan[tuple[PrivateDistribution, ...]]:
        """Check the parameters; return what a fit will release and cost."""
        budget = check_budget(self.epsilon, self.delta, pure=True)
        relation = check_relation(self.relation)
        release = ecdf_release(budget, relation, [check_grid(self.grid)])
        return Plan.of(release, budget, self.random_state, relation=relation)

    def _rows(self, X: object, y: object) -> Table:  # noqa: ARG002 -- scikit-learn's signature
        return values_table(self, X)

    def _store(self, released: tuple[PrivateDistribution, ...]) -> None:
        (found,) = released
        self.distribution_ = evolve(found, sampled=self.privacy_.unit.max_rows)
        self.rows_ = self.distribution_.counted

    def cdf(self, t: ArrayLike, *, return_std: bool = False) -> Any:  # noqa: ANN401
        """Return F(t), the share of values up to each t, rounded down to a threshold.

        Parameters
        ----------
        t : array_like
        return_std : bool, default=False
            Also return the standard error.

        Returns
        -------
        ndarray of the shape of `t`, or two of them
        """
        fitted = self._fitted()
        return (fitted.cdf(t), fitted.cdf_error(t)) if return_std else fitted.cdf(t)

    def quantile(self, p: ArrayLike, *, return_interval: bool = False) -> Any:  # noqa: ANN401
        """Return the first threshold t with ``F(t) >= p``.

        Parameters
        ----------
        p : array_like
            From 0 to 1.
        return_interval : bool, default=False
            Also return 95 % intervals by noise and sampling, which begin at the threshold before;
            an end that may lie beyond the grid is infinite.

        Returns
        -------
        ndarray of the shape of `p`, or with it one that has a last axis for both ends
        """
        check_shares(np.ravel(p))
        fitted = self._fitted()
        return (fitted.ppf(p), fitted.ppf_interval(p)) if return_interval else fitted.ppf(p)

    #: scipy's name for :meth:`quantile`.
    ppf = quantile

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return the quantiles that enclose the middle share of the values.

        Parameters
        ----------
        confidence : float
            This share, from 0 to 1.

        Returns
        -------
        low, high : float
        """
        tail = (1.0 - float(confidence)) / 2
        low, high = map(float, self.quantile([tail, 1.0 - tail]))
        return low, high

    def histogram(self, edges: ArrayLike) -> tuple[Vector, Vector]:
        """Return the share of values between public edges, and its standard error.

        Parameters
        ----------
        edges : array_like, shape (bins + 1,)
            Increasing, and not taken from the data. A bin holds the values above its left edge, up
            to and including its right one; thresholds of the grid are exact, and the error of a bin
            includes the share of a cell that an edge divides.

        Returns
        -------
        masses, errors : ndarray of shape (bins,)
        """
        places = np.asarray(edges, dtype=float)
        if places.ndim != 1 or len(places) < 2 or not (np.diff(places) > 0).all():
            raise ParameterError(
                "edges is not an increasing sequence of at least two numbers (for example "
                "[0, 10, 20])"
            )
        return self._fitted().masses(places)

    def pdf(self, t: ArrayLike, *, return_std: bool = False) -> Any:  # noqa: ANN401
        """Return the density ``(F(b) - F(a)) / (b - a)``, for the cell from a to b that holds t.

        Parameters
        ----------
        t : array_like
        return_std : bool, default=False
            Also return the standard error.

        Returns
        -------
        ndarray of the shape of `t`, or two of them
            0 outside the grid.
        """
        density, error = self._fitted().pdf(t)
        return (density, error) if return_std else density

    def mean(self, *, return_std: bool = False) -> Any:  # noqa: ANN401
        """Return the mean ``sum_k t_k (F(t_k) - F(t_k-1))``, values rounded up to thresholds.

        Needs a `grid`: the noise of the end cells is multiplied by its width.

        Parameters
        ----------
        return_std : bool, default=False
            Also return the standard error.

        Returns
        -------
        float, or two of them
        """
        if self.grid is None:
            raise ParameterError(
                "mean() needs a public range: without one, noise at its ends decides it (use "
                "trimmed_mean(), or fit with grid=LinearGrid(LOW, HIGH, STEP))"
            )
        return self.trimmed_mean(0.0, return_std=return_std)

    def trimmed_mean(self, proportion: float = 0.05, *, return_std: bool = False) -> Any:  # noqa: ANN401
        """Return the mean without the smallest and the largest values.

        Parameters
        ----------
        proportion : float, default=0.05
            The share of values left out at each end, from 0 to below 1/2.
        return_std : bool, default=False
            Also return the standard error.

        Returns
        -------
        float, or two of them
        """
        if not 0.0 <= proportion < 0.5:
            raise ParameterError(
                f"proportion is {proportion!r}; expected a number from 0 to below 0.5 (0.05)"
            )
        mean, error = self._fitted().trimmed_mean(float(proportion))
        return (mean, error) if return_std else mean

    def rvs(self, size: int = 1, random_state: int | None = None) -> Vector:
        """Draw values from the private distribution.

        Parameters
        ----------
        size : int, default=1
        random_state : int or None, default=None
            Seed of these draws; it does not affect privacy.

        Returns
        -------
        ndarray of shape (size,)
        """
        return self._fitted().ppf(1.0 - random_numbers(random_state).random_sample(size))

    def _columns(self) -> dict[str, Any]:
        found = self.distribution_
        points = found.points[np.diff(found.counts, prepend=0.0) != 0.0]
        shares, errors = self.cdf(points, return_std=True)
        return {"value": points, "share": shares, "standard_error": errors}

    def _fitted(self) -> PrivateDistribution:
        check_is_fitted(self)
        return self.distribution_
