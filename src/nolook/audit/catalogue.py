"""All cases: a new mechanism or estimator joins by adding one to a module beside this one."""

from __future__ import annotations

from nolook.audit import counts, estimators, keyed, selections, sums, tukey
from nolook.audit.case import Case

__all__ = ["catalogue"]


def catalogue(parameter: float = 1.0) -> dict[str, Case]:
    """Return every case by its name.

    Parameters
    ----------
    parameter : float, default=1.0
        The epsilon of mechanisms that promise one, and the mu of Gaussian ones. Whole estimators
        have fixed budgets.

    Returns
    -------
    dict of str to Case
    """
    mechanisms = (module.cases(parameter) for module in (counts, keyed, selections, tukey, sums))
    whole = (*(case for cases in mechanisms for case in cases), *estimators.cases())
    return {case.name: case for case in whole}
