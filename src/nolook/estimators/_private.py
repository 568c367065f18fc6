"""What every private estimator does around its mechanism: check, then spend, then run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from nolook._validation import check_delta, check_epsilon, check_random_state
from nolook.privacy import accounting
from nolook.privacy.guarantee import Budget, Event, PrivacyGuarantee

__all__ = ["Progress", "check_budget", "gaussian_guarantee", "progress_steps"]

#: Called with a step's name, how many steps are done and how many there are.
Progress: TypeAlias = Callable[[str, int, int], None]


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
    """
    private = check_random_state(random_state) is None
    # A hair less, as room for the rounding of its split into several releases.
    mu = accounting.gaussian_mu(budget) * (1.0 - 2.0**-40)
    guarantee = accounting.guarantee(
        tuple(events(mu)), budget, relation="add-remove", private=private
    )
    return mu, guarantee


def progress_steps(progress: Progress | None, total: int) -> Callable[[str], None]:
    """Turn a progress callable into one that is told of each step as it starts."""
    done = 0

    def step(name: str) -> None:
        nonlocal done
        if progress is not None:
            progress(name, done, total)
        done += 1

    return step
