"""What all pages tell of a release alike: what it promises, what it cost, how it was made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from nolook.estimators.catalogue import own_parameters, unproved_settings
from nolook.estimators.pipeline import regression_of, selection_of

if TYPE_CHECKING:
    from nolook.estimators._selector import PrivateSelector
    from nolook.estimators.base import PrivateRegressor
    from nolook.privacy.guarantee import PrivacyGuarantee

__all__ = ["Origin"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a release comes from.

    Parameters
    ----------
    guarantee : PrivacyGuarantee
    missing : str
        What became of missing values.
    steps : tuple of (str, PrivacyGuarantee)
        What it was made of, in order; the budgets of the steps add up.
    selector : fitted selector or None
        What chose columns.
    settings : tuple of str
        Those for which no guarantee is proved.
    """

    guarantee: PrivacyGuarantee
    missing: str
    steps: tuple[tuple[str, PrivacyGuarantee], ...]
    selector: PrivateSelector | None = None
    settings: tuple[str, ...] = ()

    @classmethod
    def of_model(cls, model: PrivateRegressor) -> Self:
        """Return the origin of a fitted model."""
        selector, part = selection_of(model), regression_of(model)
        steps = [("regression", part.privacy_)]
        settings = unproved_settings(own_parameters(part))
        if selector is not None:
            steps.insert(0, ("selection", selector.privacy_))
            settings = unproved_settings(own_parameters(selector)) + settings
        return cls(model.privacy_, model.recipe_["missing"], tuple(steps), selector, settings)

    @classmethod
    def of_selection(cls, selector: PrivateSelector) -> Self:
        """Return the origin of a selection of columns."""
        privacy = selector.privacy_
        settings = unproved_settings(own_parameters(selector))
        steps = (("selection", privacy),)
        return cls(privacy, selector.recipe_["missing"], steps, selector, settings)

    def why_not_private(self) -> tuple[str, str]:
        """Say why a result has no guarantee, in a few words and in a sentence."""
        if self.settings:
            settings = " and ".join(self.settings)
            return (
                settings,
                f"It was made with {settings}, for which no guarantee for rows is proved.",
            )
        sentence = (
            "The noise was drawn from a known seed (random_state), so it can be drawn again and "
            "taken away."
        )
        return "a known seed", sentence
