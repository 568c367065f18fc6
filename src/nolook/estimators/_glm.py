"""Attributes common to linear, logistic and count regression."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from attrs import asdict
from numpy.typing import ArrayLike

from nolook.algorithms.glm.frame import NoisyFrame
from nolook.algorithms.glm.inference import Coefficients
from nolook.algorithms.intervals import Measure
from nolook.algorithms.whitening import Spread
from nolook.errors import ParameterError
from nolook.estimators._docstrings import complete_docstring
from nolook.estimators._parameters import fitted
from nolook.estimators.base import PrivateModel
from nolook.estimators.releasing import Progress
from nolook.privacy.ledger import AnyLedger
from nolook.tables import Rows, Table
from nolook.tables.words import Categories


class GeneralisedLinearModel(PrivateModel):
    """A model of weighted rows.

    Attributes
    ----------
    clipped_share_ : ndarray of shape (n_features_in_ + 1,)
        Share of the rows clipped in each column, the target last: the noisy share plus one standard
        deviation of its noise. Classes are never clipped.
    level_sets_ : tuple of tuple of str
        Columns that are all levels of one category, recognised by their names and the noisy
        moments: their coefficients are differences from the mean of the set.
    weight_norm_ : float
        Longer rows (1, x), x whitened, have less weight; infinite if the target was not detected.
    spread_ : Spread or None
        The private centre and whitening map: a row x of standardised columns becomes ``spread_.map
        @ (x - spread_.center)``, with equal variance in all directions that noise does not hide.
        None if the target was not detected, or if columns have curves.
    """

    spread_: Spread | None = fitted(None)

    #: Coefficients and measures of fit, as they follow from a release.
    _model: ClassVar[Callable[..., tuple[Coefficients, Mapping[str, Measure | None]]]]

    def fit(
        self,
        X: Table | ArrayLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        categories: Categories | None = None,
        ledger: AnyLedger = None,
        progress: Progress | None = None,
    ) -> Self:
        """Charge the ledger, read the table, and keep what is released.

        Parameters
        ----------
        sample_weight : array of shape (n_samples,), optional
            Survey weights, as private as the rows: numbers of at least 0. They are clipped at a
            bound that is found privately; a row without one is left out.
        categories : mapping, optional
            From a frame's columns to their levels, as for :func:`nolook.read_table`; `predict`
            takes frames with these columns.
        """
        if sample_weight is not None or categories is not None:
            if isinstance(X, Table):
                raise ParameterError(
                    "sample_weight or categories is given with a Table; expected None (read_table "
                    "takes weights and categories)"
                )
            X = Rows(X, sample_weight, categories)  # type: ignore[assignment]
        return self._fit(X, y, ledger, progress)

    fit.__doc__ = complete_docstring(fit, PrivateModel.fit)

    _imputes_centres = True

    def _store(self, released: Any) -> None:  # noqa: ANN401
        known, measures = self._model(released)
        self._store_scaling(released.scaling)
        self.detected_ = released.detected
        self._keep_coefficients(known, released)
        self._keep_measures(measures)

    def _keep_coefficients(self, known: Coefficients, frame: NoisyFrame) -> None:
        for name, value in asdict(known, recurse=False).items():
            setattr(self, f"{name}_", value)
        if np.isnan(known.intercept_interval).any():
            self.intercept_interval_ = None
        self.weight_norm_ = frame.norm
        if not any(frame.curves):
            self.spread_ = frame.spread.among(frame.kept)

    def _hide(self) -> None:
        """Keep a model that shrinks towards the mean, and say nothing of its coefficients."""
        self.coef_interval_ = self.intercept_interval_ = None
