"""Base class of all private feature selectors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
from attrs import field
from numpy.typing import ArrayLike
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from nolook._arrays import Flags, Vector
from nolook._validation import check_choice, check_fraction
from nolook.algorithms.selection_plan import Beside, Selected, Selection, selection_plan
from nolook.estimators._checks import check_budget
from nolook.estimators._chosen import check_selected, chosen_columns, known_k
from nolook.estimators._parameters import fitted
from nolook.estimators._tables import own_columns, prediction_rows, training_table
from nolook.estimators.base import PrivateEstimator
from nolook.privacy.guarantee import DEFAULT_DELTA
from nolook.privacy.release import Plan
from nolook.privacy.sampling import SAMPLING_UNIT
from nolook.tables import Table


class PrivateSelector(SelectorMixin, PrivateEstimator):  # type: ignore[misc]
    """Chooses k features privately.

    Parameters
    ----------
    k : int or "auto", default=5
        Number of features to select, fewer than there are. "auto" selects ``n epsilon / (120 ln(10
        d))`` of d features for a private lower bound n on the number of rows, at least 1 and at
        most the square root of d; see :class:`nolook.KendallSelector`.

    Attributes
    ----------
    support_ : ndarray of bool, shape (n_features_in_,)
        Which features were chosen.
    k_ : int
        How many were chosen.
    target_name_ : str
        Name of the target.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if the columns have names.
    """

    kind = "selection"
    _ordered: ClassVar[bool] = True
    target_name_: str = fitted()
    strengths_: Vector | None = fitted(None)
    #: What shares its budget, of which a pipeline tells its copy.
    _beside: Beside | None = fitted(None)

    k: int | str = 5
    epsilon: float = 1.0

    def _rows(self, X: object, y: object) -> Table:
        table = training_table(self, X, y)
        self.target_name_ = str(table.target_name)
        check_selected(self.k, self.n_features_in_)
        return table

    def _store(self, released: Selected) -> None:
        self.k_ = len(released.features)
        self.support_ = np.zeros(self.n_features_in_, dtype=bool)
        self.support_[list(released.features)] = True
        if self._ordered:
            self.order_ = np.array(released.features)
        self.rows_ = released.rows

    def needs_delta(self) -> bool:
        """Return whether every fit needs a delta."""
        return False

    def _get_support_mask(self) -> Flags:
        check_is_fitted(self)
        return np.asarray(self.support_)

    def transform(self, X: ArrayLike) -> Any:  # noqa: ANN401
        """Return the chosen columns of rows of your own, categories as 0/1 columns.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            As for :meth:`nolook.LinearRegression.predict`.

        Returns
        -------
        array or frame of shape (n_samples, k_)
        """
        rows = own_columns(self, X)
        if isinstance(rows, Table):
            return prediction_rows(self, X)[:, self.support_]
        return super().transform(rows)

    questions = ("get_support", "transform")

    def _columns(self) -> dict[str, Any]:
        names, ordered = chosen_columns(self)
        unknown = [np.nan] * len(names)
        places = range(1, len(names) + 1) if ordered else unknown
        strengths = unknown if self.strengths_ is None else self.strengths_
        return {"column": list(names), "place": places, "strength": strengths}

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 -- scikit-learn's own untyped class
        """Return scikit-learn's tags: the target is required."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class RowSelector(PrivateSelector):
    """A selector that needs its rows together, or a random part of them."""

    sample: float | str | None = field(default=None, kw_only=True)
    delta: float | None = field(default=0.0, kw_only=True)

    @property
    def _needs_local_rows(self) -> bool:  # type: ignore[override]
        return self.sample is None

    def _split(
        self, kind: Callable[..., Selection], *, bound: bool = False, pure: bool = False
    ) -> Plan[Selected]:
        """Split the budget, as `selection_plan` does; of rows, those of the sample are kept.

        What needs a delta needs it for scales.
        """
        scales = self.needs_delta()
        usual = DEFAULT_DELTA if scales else 0.0
        delta = usual if self.delta is None else self.delta
        budget = check_budget(self.epsilon, delta, pure=not scales)
        kept = SAMPLING_UNIT
        if isinstance(self.sample, str):
            check_choice("sample", self.sample, ("auto",))
            kept = 0
        elif self.sample is not None:
            kept = max(1, int(check_fraction(self.sample, "sample") * SAMPLING_UNIT))
        # What a sample adds to privacy is proved for pure choices.
        how = {"scales": scales, "pure": pure or kept != SAMPLING_UNIT, "bound": bound or not kept}
        make = partial(kind, chances=kept)
        release = selection_plan(make, known_k(self.k), budget, beside=self._beside, **how)
        return Plan.of(release, release.budget, self.random_state)
