"""Reports on their way: sealed, so that only their own server can read them.

TLS may end before the server, at a proxy that both servers share; whoever is there and reads both
halves of a report has its value. So each half is encrypted to its server's public key, which the
batch's file names, by HPKE (RFC 9180, X25519, HKDF-SHA256 and AES-128-GCM) of the `cryptography`
library. A sealed report belongs to one batch and one role, and is 48 bytes longer.
"""

from __future__ import annotations

from functools import lru_cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from nolook.errors import ParameterError
from nolook.federated.batch import Batch
from nolook.federated.failures import ReportError
from nolook.federated.reports import report_bytes
from nolook.privacy.noise import ByteSource

__all__ = ["KEY_BYTES", "Unsealer", "new_private_key", "public_key", "seal", "sealed_bytes"]

#: Of a private key, and of a public one.
KEY_BYTES = 32

_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)
_OVERHEAD = 48  # an ephemeral public key and a tag
_LABEL = b"nolook report: sealed"


def new_private_key(source: ByteSource) -> bytes:
    """Return the 32 bytes of a server's private key."""
    return source.words(KEY_BYTES // 8).astype("<u8").tobytes()


def public_key(private: bytes) -> str:
    """Return the hexadecimal digits by which a batch names a private key's public one."""
    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw().hex()


def sealed_bytes(batch: Batch) -> int:
    """Return the length of every sealed report of a batch."""
    return report_bytes(batch) + _OVERHEAD


def seal(batch: Batch, role: int, report: bytes) -> bytes:
    """Encrypt a report to the server of a role.

    Raises a ParameterError if the batch names something that is no key.
    """
    try:
        return _SUITE.encrypt(report, _public(batch.keys[role]), _info(batch, role))
    except ValueError:  # a few strings of 32 bytes are no keys
        raise ParameterError(
            f"the batch's key of role {role} is no public key; expected what `nolook federated "
            "key` printed there"
        ) from None


class Unsealer:
    """Decrypts what was sealed for one server's role in a batch.

    Raises a ParameterError if the batch does not name the private key's public one.
    """

    def __init__(self, batch: Batch, role: int, private: bytes) -> None:
        if public_key(private) != batch.keys[role]:
            raise ParameterError(
                f"{batch.name} has another key for role {role} than this server; expected the one "
                "that `nolook federated key` printed here (make the batch with that)"
            )
        self._key = X25519PrivateKey.from_private_bytes(private)
        self._info = _info(batch, role)

    def open(self, sealed: bytes) -> bytes:
        """Return the report in what was sealed; a ReportError says that there is none."""
        try:
            return _SUITE.decrypt(sealed, self._key, self._info)
        except (InvalidTag, ValueError):
            raise ReportError(
                "the report was not sealed for this batch and server, or was damaged on its way; "
                "expected what `nolook federated submit` sends"
            ) from None


@lru_cache(maxsize=64)
def _public(digits: str) -> X25519PublicKey:
    return X25519PublicKey.from_public_bytes(bytes.fromhex(digits))


@lru_cache(maxsize=64)
def _info(batch: Batch, role: int) -> bytes:
    return _LABEL + bytes((role,)) + batch.digest
