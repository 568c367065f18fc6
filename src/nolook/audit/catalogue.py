"""All cases: those of a new mechanism or estimator go into a module next to this one."""

from __future__ import annotations

from nolook.audit import (
    classes,
    distributions,
    estimators,
    gaussian_sums,
    keyed_noise,
    node_counts,
    selections,
    tukey,
)
from nolook.audit.audit_case import Case

__all__ = ["catalogue"]


def catalogue(parameter: float = 1.0) -> dict[str, Case]:
    """Return every case by its name.

    The parameter is the epsilon of pure mechanisms and the mu of Gaussian ones; whole estimators
    have fixed budgets.
    """
    modules = (distributions, node_counts, keyed_noise, selections, tukey, gaussian_sums, classes)
    mechanisms = (module.cases(parameter) for module in modules)
    whole = (*(case for cases in mechanisms for case in cases), *estimators.cases())
    return {case.name: case for case in whole}
