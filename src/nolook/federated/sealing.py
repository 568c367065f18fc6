"""Reports on their way: sealed, so that only their own server can read them, and its key.

TLS may end before the server, at a proxy that both servers share; anyone who reads both halves of a
report there has its value. So each half is encrypted to its server's public key, which the batch's
file names, by HPKE (RFC 9180, X25519, HKDF-SHA256 and AES-128-GCM) of the `cryptography` library. A
sealed report belongs to one batch and one role, and is 48 bytes longer. Only its owner can read the
file of a private key.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from nolook import _files
from nolook.errors import ParameterError
from nolook.federated.batch import Batch
from nolook.federated.disk import os_errors_as_store_errors
from nolook.federated.failures import ReportError
from nolook.federated.reports import report_bytes
from nolook.privacy.noise import ByteSource, SystemEntropy

__all__ = [
    "KEY_BYTES",
    "Unsealer",
    "make_private_key",
    "new_private_key",
    "public_key",
    "read_private_key",
    "seal",
    "sealed_bytes",
]

#: Of a private key, and of a public one.
KEY_BYTES = 32

_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)
_OVERHEAD = 48  # an ephemeral public key and a tag
_LABEL = b"nolook report: sealed"
_LINE = re.compile(rb"nolook private key ([0-9a-f]{64})\n")


def new_private_key(source: ByteSource) -> bytes:
    """Return the 32 bytes of a server's private key."""
    return source.words(KEY_BYTES // 8).astype("<u8").tobytes()


def public_key(private: bytes) -> str:
    """Return the hexadecimal digits by which a batch names a private key's public one."""
    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw().hex()


def make_private_key(path: Path) -> str:
    """Write a new private key; return the digits of the public one. No file is ever replaced."""
    private = new_private_key(SystemEntropy())
    with os_errors_as_store_errors(path):
        try:
            _files.create(path, b"nolook private key " + private.hex().encode() + b"\n")
        except FileExistsError:
            raise ParameterError(f"{str(path)!r} exists; give a new file") from None
    return public_key(private)


def read_private_key(path: Path) -> bytes:
    """Return the private key that a file holds."""
    try:
        with path.open("rb") as stream:
            found = _LINE.fullmatch(stream.read(200))
    except (OSError, ValueError):
        found = None
    if found is None:
        raise ParameterError(
            f"{str(path)!r} is not a private key; use the one that `nolook federated setup` made"
        )
    return bytes.fromhex(found[1].decode("ascii"))


def sealed_bytes(batch: Batch) -> int:
    """Return the length of every sealed report of a batch."""
    return report_bytes(batch) + _OVERHEAD


def seal(batch: Batch, role: int, report: bytes) -> bytes:
    """Encrypt a report to the server of a role.

    Raises a ParameterError if the batch's key is not a public key.
    """
    try:
        return _SUITE.encrypt(report, _public(batch.keys[role]), _info(batch, role))
    except ValueError:  # a few strings of 32 bytes are no keys
        raise ParameterError(
            f"the batch's key of role {role} is not a public key; use the public.json that `nolook "
            "federated setup` wrote there"
        ) from None


class Unsealer:
    """Decrypts what was sealed for the server that has a private key in a batch."""

    def __init__(self, batch: Batch, private: bytes) -> None:
        own = public_key(private)
        if own not in batch.keys:
            raise ParameterError(
                f"{batch.name} does not name this server's key (make the batch with the "
                "public.json that `nolook federated setup` wrote here)"
            )
        self.batch = batch
        self.role = batch.keys.index(own)
        self._key = X25519PrivateKey.from_private_bytes(private)
        self._info = _info(batch, self.role)

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
