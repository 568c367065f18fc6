"""What every private estimator does around its mechanism: check, then spend, then run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from sklearn.base import BaseEstimator

from nolook._validation import check_delta, check_epsilon, check_random_state
from nolook.errors import ParameterError
from nolook.privacy import accounting
from nolook.privacy.guarantee import Budget, Event, PrivacyGuarantee
from nolook.privacy.ledger import Ledger, charge, require
from nolook.tables import Table

__all__ = [
    "PrivateEstimator",
    "Progress",
    "check_budget",
    "gaussian_guarantee",
    "progress_steps",
    "spending",
]

# Below, the noise of a moment matrix could leave the range of the exact samplers.
_SMALLEST_MU = 2.0**-20

#: Called with a step's name, how many steps are done and how many there are.
Progress: TypeAlias = Callable[[str, int, int], None]


class PrivateEstimator(BaseEstimator):  # type: ignore[misc]
    """Parameters and tags of an estimator with nothing to set but its budget.

    Parameters
    ----------
    epsilon, delta : float
    random_state : int or None
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        random_state: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 -- scikit-learn's own untyped class
        """Say what scikit-learn may expect: noise makes two fits differ."""
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        return tags


def check_budget(epsilon: object, delta: object) -> Budget:
    """Check the two parameters every estimator with Gaussian noise has."""
    return Budget(check_epsilon(epsilon), check_delta(delta))


def gaussian_guarantee(
    budget: Budget,
    events: Callable[[float], Sequence[Event]],
    random_state: object,
) -> tuple[float, PrivacyGuarantee]:
    """Spend a whole budget on Gaussian releases.

    Parameters
    ----------
    budget : Budget
    events : callable
        Maps the mu-GDP parameter of the whole to the events that will be released.
    random_state : int or None
        Anything but None makes the guarantee not private.

    Returns
    -------
    mu : float
    guarantee : PrivacyGuarantee
        Computed from the events.

    Raises
    ------
    ParameterError
        If the budget is too small for any noise.
    """
    private = check_random_state(random_state) is None
    # A hair less, as room for the rounding of its split into several releases.
    mu = accounting.gaussian_mu(budget) * (1.0 - 2.0**-40)
    if mu < _SMALLEST_MU:
        raise ParameterError(
            f"epsilon is {budget.epsilon!r} with delta {budget.delta!r}; expected a larger budget "
            "(its noise would exceed any table)"
        )
    guarantee = accounting.guarantee(
        tuple(events(mu)), budget, relation="add-remove", private=private
    )
    return mu, guarantee


@contextmanager
def spending(
    ledger: Ledger | None,
    guarantee: PrivacyGuarantee,
    description: str,
    table: Table,
    step: Callable[[str], None],
) -> Iterator[None]:
    """Charge a release before the block makes it.

    Too little budget is refused before the data are read; missing values, which are an error
    outside the guarantee, are found before anything is spent.

    Parameters
    ----------
    ledger : Ledger or None
    guarantee : PrivacyGuarantee
    description : str
        For the ledger.
    table : Table
    step : callable
        Is told of the pass that looks for missing values.
    """
    require(ledger, guarantee)
    step("missing values")
    table.check_complete()
    with charge(ledger, guarantee, description):
        yield


def progress_steps(progress: Progress | None, total: int) -> Callable[[str], None]:
    """Turn a progress callable into one that is told of each step as it starts."""
    done = 0

    def step(name: str) -> None:
        nonlocal done
        if progress is not None:
            progress(name, done, total)
        done += 1

    return step
