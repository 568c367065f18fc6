"""Who may do what: bearer tokens, of which a server keeps only the SHA-256.

A file of tokens has one line for each: a role and the digest in hexadecimal.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from pathlib import Path

from nolook import _files
from nolook._validation import check_choice
from nolook.errors import ParameterError
from nolook.federated.disk import os_errors_as_store_errors
from nolook.privacy.noise import SystemEntropy

__all__ = ["ROLES", "Tokens", "make_token", "read_token"]

#: Owners send reports, analysts ask, peers are the two servers.
ROLES = ("owner", "analyst", "peer")

_WORDS = 4
_TOKEN = re.compile(r"[0-9a-f]{64}")
_LARGEST_FILE = 2**20


class Tokens:
    """The tokens that a server knows, from their file."""

    def __init__(self, path: Path) -> None:
        self._known: list[tuple[str, bytes]] = []
        for line in _text(path).splitlines():
            role, _, digest = line.partition(" ")
            if role not in ROLES or not _TOKEN.fullmatch(digest):
                raise ParameterError(
                    f"the file of tokens {str(path)!r} has a line without a token; expected what "
                    "`nolook federated token` writes"
                )
            self._known.append((role, bytes.fromhex(digest)))

    def roles(self, token: str) -> set[str]:
        """Return a bearer's roles, none for an unknown token; how long it takes tells nothing."""
        given = hashlib.sha256(token.encode("utf-8", errors="replace")).digest()
        found = [(role, hmac.compare_digest(digest, given)) for role, digest in self._known]
        return {role for role, same in found if same}


def make_token(role: str, path: Path) -> str:
    """Return a new token, kept nowhere, and add its digest to a file that only its owner reads."""
    check_choice("role", role, ROLES)
    token = SystemEntropy().words(_WORDS).tobytes().hex()
    line = f"{role} {hashlib.sha256(token.encode()).hexdigest()}\n"
    with os_errors_as_store_errors(path):
        _files.append(path, line.encode())
    return token


def read_token(path: Path) -> str:
    """Return the token that a file holds, and nothing else."""
    token = _text(path).strip()
    if not _TOKEN.fullmatch(token):
        raise ParameterError(
            f"{str(path)!r} holds no token; expected what `nolook federated token` printed"
        )
    return token


def _text(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return stream.read(_LARGEST_FILE).decode("ascii")
    except (OSError, ValueError):
        raise ParameterError(
            f"{str(path)!r} cannot be read; expected a file that `nolook federated token` made"
        ) from None
