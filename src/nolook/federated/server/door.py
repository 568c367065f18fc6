"""Where reports come in: opened and checked before anything is stored, whatever was sent."""

from __future__ import annotations

from nolook.errors import ParameterError
from nolook.federated.batch import Batch
from nolook.federated.by_format import check, id_bytes, report_bytes
from nolook.federated.failures import RefusedError
from nolook.federated.point_batch import PointBatch
from nolook.federated.sealing import Opener, sealed_bytes
from nolook.federated.server.store import Arrival
from nolook.federated.tokens import Token
from nolook.federated.wire import ReportError

__all__ = ["Door"]


class Door:
    """The door of one batch at the server of a role; `private` is its key, for format 2."""

    def __init__(self, batch: Batch, role: int, private: bytes | None) -> None:
        self.batch = batch
        self._role = role
        self._opener = None
        #: Bytes of what is sent.
        self.largest = report_bytes(batch)
        if isinstance(batch, PointBatch):
            if private is None:
                raise ParameterError(
                    f"--private-key is missing, which opens the reports of {batch.name}; expected "
                    "a file that `nolook federated key` made"
                )
            self._opener = Opener(batch, role, private)
            self.largest = sealed_bytes(batch)
        self._digits = 2 * id_bytes(batch)

    def report_id(self, address: str) -> bytes:
        """Return the id in an address."""
        if len(address) != self._digits or not set(address) <= set("0123456789abcdef"):
            raise RefusedError(
                f"the address does not end with a report's id; expected {self._digits} hex digits",
                400,
            )
        return bytes.fromhex(address)

    def arrival(self, body: bytes, report_id: bytes, token: Token) -> Arrival:
        """Return the report that was sent under an id, or raise a ReportError."""
        report = body
        if self._opener is not None:
            if len(body) > self.largest:
                raise ReportError(f"the report has more than {self.largest} bytes", 413)
            report = self._opener.open(body)
        if check(self.batch, self._role, report) != report_id:
            raise ReportError("the report has another id than its address")
        return Arrival(report_id, report, token.digest, token.most)
