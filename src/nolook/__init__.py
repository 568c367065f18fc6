"""Differentially private linear models of tables nobody may look at.

Public names are loaded when they are first used, so that ``import nolook`` and
``nolook --help`` import nothing numeric. ``__init__.pyi`` tells type checkers the same names.
"""

from __future__ import annotations

from importlib import import_module

# The public names, by the modules that define them.
_NAMES = {
    "_version": ("__version__",),
    "algorithms.grids": ("LinearGrid", "LogGrid"),
    "errors": (
        "BudgetExceededError",
        "LedgerError",
        "ModelFileError",
        "NolookError",
        "ParameterError",
        "PrivateFitFailed",
        "TableError",
        "TooFewRows",
    ),
    "estimators.adassp": ("AdaSSPRegressor",),
    "estimators.boosted": ("BoostedAdaSSPRegressor",),
    "estimators.calibration": ("CalibrationCurve", "HosmerLemeshow"),
    "estimators.dpsgd": ("DPSGDRegressor",),
    "estimators.ecdf": ("ECDF",),
    "estimators.kendall": ("KendallSelector",),
    "estimators.lasso": ("LassoSelector",),
    "estimators.linear": ("LinearRegression",),
    "estimators.pipeline": ("PrivatePipeline", "make_private_pipeline"),
    "estimators.quantiles": ("Quantiles", "quantiles"),
    "estimators.roc": ("ROCCurve",),
    "estimators.scaler": ("QuantileScaler",),
    "estimators.sis": ("SISSelector",),
    "estimators.tukey": ("TukeyRegressor",),
    "formats.model_file": ("load", "save"),
    "privacy.guarantee": ("Budget", "PrivacyGuarantee"),
    "privacy.ledger": ("Ledger",),
    "tables": ("Table", "read_table"),
}
_HOMES = {name: f"nolook.{home}" for home, names in _NAMES.items() for name in names}

__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'nolook' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
