"""The errors nolook raises, each with a one-line message and an exit status; and its warnings.

::

    Exception
    └── NolookError                 1  every error nolook raises on purpose
        ├── ParameterError          2  a parameter; also a ValueError
        ├── TableError              2  a table; also a ValueError
        ├── ModelFileError          2  a file of a release; also a ValueError
        ├── LedgerError             2  a ledger's file
        │   └── BudgetExceededError 3  a release costs more than is left
        ├── PrivateFitFailed        4  the outcome of a private test; the budget is spent
        │   └── TooFewRows          4  a private bound on the rows is too small
        └── TargetNotVisible        5  nothing stood out from the noise; the budget is spent
    UserWarning
    ├── OutsideGuarantee               a step of scikit-learn that no guarantee covers
    └── WeakPrivacyWarning             epsilon above 8, or a large delta

The numbers are the exit statuses of the command line.
"""

from __future__ import annotations

__all__ = [
    "BudgetExceededError",
    "LedgerError",
    "ModelFileError",
    "NolookError",
    "OutsideGuarantee",
    "ParameterError",
    "PrivateFitFailed",
    "TableError",
    "TargetNotVisible",
    "TooFewRows",
    "WeakPrivacyWarning",
]


class NolookError(Exception):
    """Base class of all errors that nolook raises on purpose.

    Attributes
    ----------
    exit_status : int
        Exit status of the command line after this error.
    """

    exit_status: int = 1


class ParameterError(NolookError, ValueError):
    """A parameter is not valid."""

    exit_status = 2


class TableError(NolookError, ValueError):
    """A table cannot be read: its format, schema or columns do not fit."""

    exit_status = 2


class ModelFileError(NolookError, ValueError):
    """A model file is damaged, was edited by hand or has an unknown version."""

    exit_status = 2


class LedgerError(NolookError):
    """A ledger file cannot be created, opened or charged."""

    exit_status = 2


class BudgetExceededError(LedgerError):
    """A release would cost more than its ledger has left."""

    exit_status = 3


class PrivateFitFailed(NolookError):  # noqa: N818 -- an outcome of a private test, not a misuse
    """A private test failed, and the release stopped; the budget is spent."""

    exit_status = 4


class TooFewRows(PrivateFitFailed):
    """A private bound on the number of rows is below what the method needs."""


class TargetNotVisible(NolookError):  # noqa: N818 -- an outcome, as above
    """A model is a constant or hardly more: nothing stood out from the noise of its target.

    The command line ends with it after writing the model; in Python it is `detected_`.
    """

    exit_status = 5


class OutsideGuarantee(UserWarning):
    """A step around a private release is not covered by its guarantee.

    Warned of where nolook can detect it: a pipeline step that learns from the rows without privacy,
    a search or cross-validation by scikit-learn, a score on the rows of the fit. It never depends
    on the content of the rows. ``warnings.simplefilter("ignore", nolook.OutsideGuarantee)``
    silences it, for example where the rows are public.
    """


class WeakPrivacyWarning(UserWarning):
    """A guarantee is too weak to rely on: epsilon above 8, or delta above one divided by the rows.

    The release is made all the same. ``warnings.simplefilter("ignore", WeakPrivacyWarning)``
    silences the warning; reports keep showing it.
    """
