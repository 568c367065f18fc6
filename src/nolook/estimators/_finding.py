"""Base class of all findings about values or scores."""

from __future__ import annotations

from typing import Any, Self

from nolook._numerics import undisturbed
from nolook.estimators.base import PrivateEstimator
from nolook.privacy.guarantee import PrivacyGuarantee


class PrivateFinding(PrivateEstimator):
    """A finding about values or scores: unlike models and selectors, it has no features."""

    epsilon: float = 1.0

    def keep_release(self, released: object, *, privacy: PrivacyGuarantee, **known: Any) -> Self:  # noqa: ANN401
        """Keep a release that was made and charged elsewhere, as `fit` keeps its own.

        This is post-processing: nothing is charged, and no data are read.

        Parameters
        ----------
        released : object
            What the release of :meth:`plan` returns.
        privacy : PrivacyGuarantee
            Its guarantee.
        **known
            What is known of it beforehand, by attribute: `read_options`, of scores also `scored`.

        Returns
        -------
        self
        """
        with self._all_or_nothing(), undisturbed():
            for name, value in known.items():
                setattr(self, f"{name}_", value)
            self._keep(released, privacy)
        return self
