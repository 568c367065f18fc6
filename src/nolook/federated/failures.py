"""Answers of a server that cannot do what it is asked, and errors that end its work."""

from __future__ import annotations

from nolook.errors import BudgetExceededError, NolookError

__all__ = ["DiskFullError", "RefusedError", "ReportError", "StoreError"]

_PAYMENT = 402  # the ledger has too little budget left


class RefusedError(NolookError):
    """A request that is not granted, and its HTTP status; it quotes nothing an owner sent."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status
        self.exit_status = BudgetExceededError.exit_status if status == _PAYMENT else 2


class StoreError(NolookError):
    """A server's files are damaged, in use or cannot be written; the message names the file."""

    exit_status = 2


class DiskFullError(StoreError):
    """A server's disk is full: what was asked can be asked again when there is room."""


class ReportError(RefusedError, ValueError):
    """A report is not one of this batch for this server, or was damaged on its way."""

    def __init__(self, message: str) -> None:
        super().__init__(message, 400)
