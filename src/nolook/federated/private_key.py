"""A server's private key in a file that only its owner can read: it opens owners' reports."""

from __future__ import annotations

import re
from pathlib import Path

from nolook import _files
from nolook.errors import ParameterError
from nolook.federated.disk import os_errors_as_store_errors
from nolook.federated.sealing import new_private_key, public_key
from nolook.privacy.noise import SystemEntropy

__all__ = ["make_private_key", "read_private_key"]

_LINE = re.compile(rb"nolook private key ([0-9a-f]{64})\n")


def make_private_key(path: Path) -> str:
    """Write a new private key; return the digits of the public one. No file is ever replaced."""
    private = new_private_key(SystemEntropy())
    with os_errors_as_store_errors(path):
        try:
            _files.create(path, b"nolook private key " + private.hex().encode() + b"\n")
        except FileExistsError:
            raise ParameterError(
                f"{str(path)!r} exists; expected a new file (a batch whose key is lost takes no "
                "more reports)"
            ) from None
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
            f"{str(path)!r} holds no private key; expected a file that `nolook federated key` made"
        )
    return bytes.fromhex(found[1].decode("ascii"))
