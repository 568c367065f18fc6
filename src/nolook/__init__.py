"""Differentially private linear models of tables nobody may look at.

Public names are loaded when they are first used, so that ``import nolook`` and
``nolook --help`` import nothing numeric.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nolook._version import __version__

__all__ = [
    "ECDF",
    "AdaSSPRegressor",
    "BoostedAdaSSPRegressor",
    "Budget",
    "BudgetExceededError",
    "CalibrationCurve",
    "DPSGDRegressor",
    "HosmerLemeshow",
    "KendallSelector",
    "LassoSelector",
    "Ledger",
    "LedgerError",
    "LinearGrid",
    "LinearRegression",
    "LogGrid",
    "ModelFileError",
    "NolookError",
    "ParameterError",
    "PrivacyGuarantee",
    "PrivateFitFailed",
    "PrivatePipeline",
    "QuantileScaler",
    "Quantiles",
    "ROCCurve",
    "SISSelector",
    "Table",
    "TableError",
    "TooFewRows",
    "TukeyRegressor",
    "__version__",
    "load",
    "make_private_pipeline",
    "quantiles",
    "read_table",
    "save",
]

if TYPE_CHECKING:
    from nolook.algorithms.grids import LinearGrid, LogGrid
    from nolook.errors import (
        BudgetExceededError,
        LedgerError,
        ModelFileError,
        NolookError,
        ParameterError,
        PrivateFitFailed,
        TableError,
        TooFewRows,
    )
    from nolook.estimators.adassp import AdaSSPRegressor
    from nolook.estimators.boosted import BoostedAdaSSPRegressor
    from nolook.estimators.calibration import CalibrationCurve, HosmerLemeshow
    from nolook.estimators.dpsgd import DPSGDRegressor
    from nolook.estimators.ecdf import ECDF
    from nolook.estimators.kendall import KendallSelector
    from nolook.estimators.lasso import LassoSelector
    from nolook.estimators.linear import LinearRegression
    from nolook.estimators.pipeline import PrivatePipeline, make_private_pipeline
    from nolook.estimators.quantiles import Quantiles, quantiles
    from nolook.estimators.roc import ROCCurve
    from nolook.estimators.scaler import QuantileScaler
    from nolook.estimators.sis import SISSelector
    from nolook.estimators.tukey import TukeyRegressor
    from nolook.formats.model_file import load, save
    from nolook.privacy.guarantee import Budget, PrivacyGuarantee
    from nolook.privacy.ledger import Ledger
    from nolook.tables import Table, read_table
else:
    # Where each public name lives; the imports above say the same to type checkers.
    _HOMES = {
        "AdaSSPRegressor": "nolook.estimators.adassp",
        "BoostedAdaSSPRegressor": "nolook.estimators.boosted",
        "Budget": "nolook.privacy.guarantee",
        "BudgetExceededError": "nolook.errors",
        "CalibrationCurve": "nolook.estimators.calibration",
        "DPSGDRegressor": "nolook.estimators.dpsgd",
        "ECDF": "nolook.estimators.ecdf",
        "HosmerLemeshow": "nolook.estimators.calibration",
        "KendallSelector": "nolook.estimators.kendall",
        "LassoSelector": "nolook.estimators.lasso",
        "Ledger": "nolook.privacy.ledger",
        "LedgerError": "nolook.errors",
        "LinearGrid": "nolook.algorithms.grids",
        "LinearRegression": "nolook.estimators.linear",
        "ModelFileError": "nolook.errors",
        "LogGrid": "nolook.algorithms.grids",
        "NolookError": "nolook.errors",
        "ParameterError": "nolook.errors",
        "PrivacyGuarantee": "nolook.privacy.guarantee",
        "PrivateFitFailed": "nolook.errors",
        "PrivatePipeline": "nolook.estimators.pipeline",
        "QuantileScaler": "nolook.estimators.scaler",
        "Quantiles": "nolook.estimators.quantiles",
        "ROCCurve": "nolook.estimators.roc",
        "SISSelector": "nolook.estimators.sis",
        "Table": "nolook.tables",
        "TableError": "nolook.errors",
        "TooFewRows": "nolook.errors",
        "TukeyRegressor": "nolook.estimators.tukey",
        "load": "nolook.formats.model_file",
        "make_private_pipeline": "nolook.estimators.pipeline",
        "quantiles": "nolook.estimators.quantiles",
        "read_table": "nolook.tables",
        "save": "nolook.formats.model_file",
    }

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module 'nolook' has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value  # the next look-up is an ordinary one
        return value

    def __dir__() -> list[str]:
        return sorted(__all__)
