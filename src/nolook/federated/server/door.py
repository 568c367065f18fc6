"""Where reports come in: opened and checked before anything is stored, whatever was sent."""

from __future__ import annotations

from nolook.federated.batch import Batch
from nolook.federated.failures import RefusedError, ReportError
from nolook.federated.reports import ID_BYTES, check
from nolook.federated.sealing import Unsealer, sealed_bytes
from nolook.federated.server.store import Arrival
from nolook.federated.tokens import Token

__all__ = ["Door"]


class Door:
    """The door of one batch at the server of a role; `private` is its key."""

    def __init__(self, batch: Batch, role: int, private: bytes) -> None:
        self.batch = batch
        self._role = role
        self._unsealer = Unsealer(batch, role, private)
        #: Bytes of what is sent.
        self.largest = sealed_bytes(batch)

    def report_id(self, address: str) -> bytes:
        """Return the id in an address."""
        if len(address) != 2 * ID_BYTES or not set(address) <= set("0123456789abcdef"):
            raise RefusedError(
                f"the address does not end with a report's id; expected {2 * ID_BYTES} hex digits",
                400,
            )
        return bytes.fromhex(address)

    def arrival(self, body: bytes, report_id: bytes, token: Token) -> Arrival:
        """Return the report that was sent under an id, or raise a ReportError."""
        if len(body) > self.largest:
            raise ReportError(f"the report has more than {self.largest} bytes", 413)
        report = self._unsealer.open(body)
        if check(self.batch, self._role, report) != report_id:
            raise ReportError("the report has another id than its address")
        return Arrival(report_id, report, token.digest, token.most)
